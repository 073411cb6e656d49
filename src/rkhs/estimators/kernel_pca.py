"""Kernel principal component analysis, with pre-images and explained variance."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import torch
from sklearn.utils.metaestimators import available_if

from rkhs._core.arrays import to_tensor
from rkhs._core.checks import check_choice, check_count, check_number, naming
from rkhs._core.errors import InputError
from rkhs.engines import Engine, Journal, Threads
from rkhs.estimators.base import take
from rkhs.estimators.choice_report import open_ends, warn_of_edges
from rkhs.estimators.fitted_pca import FittedPCA
from rkhs.estimators.long_fits import long_fit
from rkhs.estimators.pca_features import add_rows, open_features, takes_more_rows
from rkhs.estimators.robust_pca import robust_components
from rkhs.estimators.storage import announce_dense, as_storage, check_blocked
from rkhs.features import Storage
from rkhs.features.base import resolve_thinned
from rkhs.grams import Blocked, Dense
from rkhs.kernels.base import Kernel
from rkhs.kernels.registry import as_kernel
from rkhs.kernels.vectors.dot_product import Linear
from rkhs.kernels.vectors.radial import Matern
from rkhs.losses import Loss, Squared, as_loss
from rkhs.models import CodeRegression, ComponentsModel
from rkhs.selection import ridge_path
from rkhs.spaces import Components, Space, WholeSpace
from rkhs.spaces.digits import check_row_digits

__all__ = ["KernelPCA"]

_REGS = tuple(10.0 ** (k / 2) for k in range(-16, 1))  # of reg="auto"


class KernelPCA(FittedPCA):
    """Principal components of the features ``phi(x)`` of a kernel.

    The codes are ``z_j(x) = <phi(x) - mean, u_j>`` with the leading eigenvectors ``u_j`` of the covariance of the
    features. A Lanczos iteration finds the largest eigenpairs, whatever their number.

    Parameters
    ----------
    n_components : int, float or None, default=2
        Number of components. A number in (0, 1): as many components as explain that share of the variance. None: all
        with positive variance.
    kernel : str, Kernel or callable, default="gaussian"
        Kernel of the inputs. With ``"precomputed"``, ``fit`` takes the Gram matrix (n, n) and every other method kernel
        values with the training items (m, n).
    columns : {"raw", "scaled"}, default="raw"
        ``"scaled"`` reads every column in units of its standard deviation, less its mean; ``inverse_transform``
        gives the units of the data back.
    center : bool, default=True
        Centre the features. Without it, the components are eigenvectors of the second moment.
    loss : str or Loss, default="squared"
        Maximise ``sum_i w_i loss(z(x_i))`` in place of the variance; this problem is not convex. ``Huber(kappa)`` is
        robust to outliers and ``EpsilonInsensitive(epsilon)`` is sparse, with parameters in units of the features. For
        a name such as ``"huber"``, kappa is the median norm of the codes of the squared loss, and epsilon half of it.
    preimage : {"ridge", "fixed_point", "nearest"}, default="ridge"
        How ``inverse_transform`` returns to vectors. ``"ridge"``: kernel ridge regression from codes to inputs;
        ``"nearest"``: the nearest training vector. ``"fixed_point"``: the vector whose feature is nearest to the
        projection, by a fixed point for the Gaussian kernel and by gradient descent for others.
    decoder_kernel : str, Kernel or "auto", default="auto"
        Kernel of the ridge regression, on codes. ``"auto"``: ``Matern(1.5, "median") + 0.1 Linear("mean_norm")``.
    reg : float or "auto", default=1e-5
        Regulariser of the ridge regression, relative to the variance of the inputs. ``"auto"`` takes the value of least
        leave-one-out error among 1e-8, 10^-7.5, ..., 1. It costs one eigendecomposition and needs dense storage.
    n_init, random_state : int and (int, RandomState or None), default=1 and None
        Starts of a loss that is not squared; the first is kernel PCA, the others are random.
    storage : {"dense", "blocked"}, Nystroem or RandomFeatures, default="dense"
        How the Gram matrix is kept. ``"dense"`` keeps it whole; ``"blocked"`` computes it again tile by tile, exactly
        and in O(n) memory. Landmarks and random features (:mod:`rkhs.features`) make the cost linear in n and read
        files block by block.
    engine : {None, "serial", "threads", "dask"} or Engine, default=None
        Who computes the blocks of rows if ``storage`` is not dense: one thread, several, or a Dask cluster. None:
        threads if there are several blocks. The model has the same bits with each of them.
    address : str or distributed.Client, default=None
        Scheduler for ``engine="dask"``, such as ``"tcp://host:8786"``. None starts workers on this machine.
    n_jobs : int, default=None
        Number of threads, or of workers to start. None: as many as torch uses, or one worker for each core; -1: every
        core.
    checkpoint : str, path or Checkpoint, default=None
        File that keeps what is computed. A fit that was interrupted goes on from it, with the same data and parameters,
        and ends with the same bits. The file is deleted in the end, unless it is a :class:`rkhs.engines.Checkpoint`; a
        file with other content is refused.
    psd : {"clip", "raise"}, default="clip"
        What to do with a Gram matrix that has negative eigenvalues: set them to zero and warn, or raise an error.
    device : {"cpu", "auto", "cuda", "mps"}, default="cpu"
    dtype : {"float64", "float32"}, default="float64"
        Precision of the computation. Results have the dtype of the training data.

    Attributes
    ----------
    codes_ : ndarray of shape (n, p)
        Codes of the training items.
    explained_variance_, explained_variance_ratio_ : ndarray of shape (p,)
        Variance of each component in the feature space, and its share of the total.
    eigenvalues_ : ndarray of shape (p,)
        Eigenvalues of the centred Gram matrix, ``n`` times the variances.
    dual_coef_ : ndarray of shape (n, p)
        Codes are ``k(x, X) dual_coef_ + intercept_``.
    intercept_ : ndarray of shape (p,)
        With landmarks or random features, the raw features of ``x`` stand in place of ``k(x, X)``.
    n_components_ : int
    reg_ : float
        Regulariser of the ridge regression, if there is one.
    at_edge_ : dict or None
        ``{"reg": "weakest"}`` or ``"strongest"`` if ``reg="auto"`` chose an end of its path and the error was still
        falling there. An ``EdgeWarning`` says it too.
    announced_bytes_ : int
        Memory in bytes that the fit was expected to take.
    kernel_ : Kernel
        The kernel with a number for every bandwidth.
    n_iter_ : int
        1 for the squared loss, which has a closed form.
    loss_, support_, objective_, stationarity_
        For other losses: the loss with numbers for its parameters; rows with a non-zero dual variable; minus the mean
        loss; a number that is zero at a stationary point.

    Raises
    ------
    InputError
        If a parameter is out of range or the data cannot be used. The message names the argument.

    Notes
    -----
    Fit costs ``O(n^2 (d + 10 p))``, and ``n^3 / 3`` more for the ridge pre-image. ``fit`` ignores ``y``.

    References
    ----------
    Scholkopf, Smola and Muller (1998); Mika et al. (1999) for pre-images; Laforgue et al. (2019), section 3.2.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from rkhs import KernelPCA
    >>> pca = KernelPCA(n_components=0.9).fit(load_iris().data)
    >>> pca.n_components_
    5
    >>> bool(pca.explained_variance_ratio_.sum() > 0.9)
    True
    """

    loss_: Loss
    support_: np.ndarray
    stationarity_: float
    at_edge_: dict[str, str] | None
    moments_: tuple[np.ndarray, np.ndarray, float] | None  # of the features of all rows, by partial_fit
    _engine: Engine | None  # of a fit that is under way
    _journal: Journal | None

    def __init__(
        self,
        n_components: Any = 2,
        *,
        kernel: Any = "gaussian",
        columns: str = "raw",
        center: bool = True,
        loss: Any = "squared",
        preimage: str = "ridge",
        decoder_kernel: Any = "auto",
        reg: float | str = 1e-5,
        n_init: int = 1,
        random_state: Any = None,
        storage: Any = "dense",
        engine: Any = None,
        address: Any = None,
        n_jobs: int | None = None,
        checkpoint: Any = None,
        psd: str = "clip",
        device: str = "cpu",
        dtype: str = "float64",
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.columns = columns
        self.center = center
        self.loss = loss
        self.preimage = preimage
        self.decoder_kernel = decoder_kernel
        self.reg = reg
        self.n_init = n_init
        self.random_state = random_state
        self.storage = storage
        self.engine, self.address = engine, address
        self.n_jobs, self.checkpoint = n_jobs, checkpoint
        self.psd = psd
        self.device = device
        self.dtype = dtype

    def fit(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> KernelPCA:
        """Find the components.

        Parameters
        ----------
        X : array (n, d), Gram matrix (n, n), or list of n objects
            With landmarks or random features also a memory map, or rows opened by :func:`rkhs.engines.as_rows`.
        y : ignored
        sample_weight : array of shape (n,), optional
            Not negative. Rows of weight zero are dropped. With landmarks or random features they have no influence and
            still get codes.

        Returns
        -------
        self
        """
        self._check_parameters()
        with long_fit(self, X, sample_weight):
            return self._fit(X, sample_weight)

    def _fit(self, X: Any, sample_weight: Any) -> KernelPCA:
        """Fit within what the engine and the checkpoint need."""
        self.moments_ = self.at_edge_ = None
        space = self._open(X, sample_weight)
        found = space.principal(self.n_components, center=self.center)
        found = self._with_loss(space, found)
        self.model_ = self._model(space, found)
        warn_of_edges(self)
        return self

    def _open(self, X: Any, sample_weight: Any) -> Space:
        """The space of the storage that was asked for, on the training items."""
        kernel = self._kernel_for(X)
        storage = as_storage(self.storage, "KernelPCA", ("dense", "blocked", "Nystroem", "RandomFeatures"))
        if isinstance(storage, Storage):
            return open_features(self, storage, kernel, X, sample_weight)
        items = self._read_training(X, kernel, at_least=1)
        self._n_training = len(items)
        self._kept_rows, weights, _ = self._read_weights(sample_weight, self._n_training)
        items = take(items, self._kept_rows, square=kernel.domain == "gram")
        n = len(items)
        if not isinstance(self.n_components, float) and self.n_components is not None:
            check_count(self.n_components, "n_components", at_most=n, why=" (the number of samples)")
        if storage == "blocked":
            check_blocked(self, kernel, n)
            resolved = resolve_thinned(kernel, items, weights)
            check_row_digits(resolved, items)
            return WholeSpace(self._blocked(resolved, items), resolved, items, weights)
        announce_dense(self, n, 2.6)
        resolved = kernel.resolve(items, weights)
        return WholeSpace(Dense(self._training_gram(resolved, items)), resolved, items, weights)

    def _with_loss(self, space: Space, found: Components) -> Components:
        """The components of the loss; those of the squared one are found."""
        loss = as_loss(self.loss)
        self.n_iter_ = 1
        if isinstance(loss, Squared):
            self._warn_of_rounding(space.size, found.coefficients, float(found.variances[0]) ** 0.5)
            return found
        assert isinstance(space, WholeSpace)
        result = robust_components(
            space, found, loss, center=self.center, n_init=self.n_init, random_state=self.random_state
        )
        self.loss_, self.support_ = result.loss, result.support.cpu().numpy()
        self.stationarity_ = result.stationarity
        self._record(result.solution)
        return result.found

    def _model(self, space: Space, found: Components) -> ComponentsModel:
        """What is kept of a space and its components."""
        diagonal = space.diagonal()
        codes = self._to_output(found.scores)
        model = ComponentsModel.of(space.kernel, space.map, found, codes, space.n, diagonal)
        if space.kernel.domain != "vectors" or self.preimage != "ridge":
            return model
        return replace(model, back=self._way_back(space, found, codes))

    def _way_back(self, space: Space, found: Components, codes: np.ndarray) -> CodeRegression:
        """Kernel ridge regression from the codes, as they are kept, to the inputs."""
        found = replace(found, scores=to_tensor(codes, **self._options))
        with naming("decoder_kernel"):
            kernel = space.resolve_on_codes(self._decoder_kernel(), found)
        targets, reg = space.targets(), self.reg
        if isinstance(reg, str):
            assert targets.coordinates is not None
            path = ridge_path(kernel._gram(found.scores), targets.coordinates, _REGS, space.weights)
            reg, self.at_edge_ = path.best(), open_ends(path.leave_one_out, 1.0, ends=("weakest", "strongest"))
        anchors, coefficients = space.regress(kernel, found, targets, float(reg))
        kept = codes if anchors is found.scores else anchors.cpu().numpy()
        return CodeRegression(kernel, kept, coefficients.cpu().numpy(), targets.output, float(reg))

    @available_if(takes_more_rows)
    def partial_fit(self, X: Any, y: Any = None) -> KernelPCA:
        """Add rows to the moments of the features; the components are those of all rows so far.

        Needs ``storage=Nystroem(m)`` or ``RandomFeatures(m)``. The first rows determine bandwidths and landmarks. If
        these are given, the result is exactly that of one fit. Only moments are kept: ``codes_`` are those of the last
        rows, and there is no ridge pre-image.

        Parameters
        ----------
        X : array (n, d), or list of n objects
        y : ignored

        Returns
        -------
        self
        """
        self._check_parameters()
        storage = as_storage(self.storage, "KernelPCA.partial_fit", ("Nystroem", "RandomFeatures"))
        assert isinstance(storage, Storage)
        self.model_ = add_rows(self, storage, X)
        self.n_iter_ = 1
        return self

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice(self.preimage, "preimage", ("ridge", "fixed_point", "nearest"))
        check_count(self.n_init, "n_init")
        if isinstance(self.reg, str):
            check_choice(self.reg, "reg", ("auto",))
            if not (isinstance(self.storage, str) and self.storage == "dense"):
                raise InputError(f"reg='auto' needs storage='dense'; pass a number with storage={self.storage!r}")
        else:
            check_number(self.reg, "reg", above=0.0)
        if isinstance(self.n_components, float) and not 0.0 < self.n_components < 1.0:
            raise InputError(
                f"n_components must be an integer >= 1, a share in (0, 1) or None; got {self.n_components!r}"
            )
        if self.n_components is not None and not isinstance(self.n_components, float):
            check_count(self.n_components, "n_components")

    def _blocked(self, kernel: Kernel, items: Any) -> Blocked:
        """The Gram matrix by tiles, computed by whom the parameters ask for."""
        engine = self._engine
        if engine is None and self._options["device"].type == "cpu":
            engine = Threads(torch.get_num_threads())
        return Blocked(kernel, items, engine=engine, journal=self._journal)

    def _decoder_kernel(self) -> Kernel:
        given = self.decoder_kernel
        if isinstance(given, str) and given == "auto":
            return Matern(1.5, "median") + 0.1 * Linear("mean_norm")
        kernel = as_kernel(given)
        if kernel.domain != "vectors":
            raise InputError(f"decoder_kernel must be a kernel on vectors; got {kernel!r}")
        return kernel
