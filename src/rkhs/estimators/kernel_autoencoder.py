"""The kernel autoencoder: KAE on vectors, K2AE on anything with a kernel, any depth."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import torch
from sklearn.utils.metaestimators import available_if

from rkhs._core.arrays import to_tensor
from rkhs._core.checks import check_gram, check_spread
from rkhs._core.errors import InputError, warn
from rkhs._core.threads import within_limit
from rkhs.estimators.autoencoder.base import BaseAutoencoder
from rkhs.estimators.autoencoder.defaults import facts_of, resolve_storage
from rkhs.estimators.autoencoder.fit import fit
from rkhs.estimators.autoencoder.settings import Settings, default_kernel, read_settings
from rkhs.estimators.fitted import Fitted
from rkhs.estimators.given_matrices import adapted_to, read_items
from rkhs.estimators.options.arguments import TABLES
from rkhs.estimators.options.combinations import kind_of_storage
from rkhs.estimators.reader import read_checked, times_of
from rkhs.estimators.training import Training
from rkhs.kernels import Kernel, as_kernel
from rkhs.problems.encoders import MAX_ENCODER_ROWS
from rkhs.spaces.rounding import refuse_equal

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from rkhs._core.arrays import Items
    from rkhs.estimators.options.arguments import AutoencoderSolverLike, EngineLike
    from rkhs.estimators.reader import Reader
    from rkhs.models import AutoencoderModel
    from rkhs.spaces.features import Storage


_GROWTH = 1.5  # growth of the number of rows at which partial_fit refits


def _takes_more_rows(model: KernelAutoencoder) -> bool:
    """Whether ``partial_fit`` is available; the AttributeError names what is missing."""
    automatic = isinstance(model.kernel, str) and model.kernel == "auto"
    if not automatic and as_kernel(model.kernel).domain != "vectors":
        raise AttributeError(
            f"partial_fit of KernelAutoencoder needs a kernel that reads rows of numbers; got {model.kernel!r}. Use fit"
        )
    return True


@dataclass(eq=False, repr=False)
class KernelAutoencoder(BaseAutoencoder):
    """Autoencoder whose layers are functions of vector-valued reproducing kernel Hilbert spaces.

    It minimises ``sum_i w_i 1/2 ||t_i - f_L(...f_1(x_i))||^2 + sum_l reg_l / 2 ||f_l||^2`` over the layers
    ``f_1, ..., f_L``. The sample weights ``w_i`` sum to one. The targets ``t_i`` are the centred, scaled inputs, or the
    features ``phi(x_i)`` of a kernel. With features, anything that has a kernel can be encoded (K2AE). Names in the
    papers: KAE, Kernel AE, De-noising Kernel AE (``noise``), epsilon-KAE and Huber-KAE (``loss``).

    The parameters up to ``verbose`` are the basic ones. Those after it are advanced: their defaults serve nearly all
    data.

    Parameters
    ----------
    n_components : int or tuple of int, default=2
        Dimension of the codes. A tuple gives the dimension of every hidden layer: ``(10, 2, 10)`` has four layers.
    kernel : str, Kernel, callable or "auto", default="auto"
        Kernel of the inputs. ``"auto"`` is ``Gaussian("4*median") + Linear("mean_norm", "mean")``; with a free linear
        part the linear terms of both default kernels are left out where vectors are rebuilt, and heavy tails may ask
        for others (see Notes). With ``"precomputed"``, ``fit`` takes the Gram matrix (n, n), every other method kernel
        values with the training items (m, n).
    decoder_kernel : Kernel, str, tuple or "auto", default="auto"
        Kernel of the codes: one, or one for each of the layers 2 to L. ``"auto"`` is ``0.8 Matern(1.5, 2**-0.5) +
        0.2 Matern(0.5, 2**-0.5) + 0.1 Linear()`` for two layers and ``Matern(1.5, 2**-0.5) + 0.1 Linear()`` for more.
        Bandwidths must be numbers.
    output_kernel : None, "same", str or Kernel, default=None
        What is rebuilt. None: the vectors, rows of a sparse matrix among them (for Gram and object inputs: the features
        of ``kernel``). A kernel: its features ``phi(x)``; ``"same"`` means those of ``kernel``.
    loss : str or Loss, default="squared"
        Loss of the reconstruction: ``"huber"``, ``"epsilon_insensitive"``, ``"squared_epsilon_insensitive"`` or an
        object such as ``Huber(0.5)``, in units of the centred, scaled targets. The loss of a name gets its parameter
        from the residuals of a first fit. With landmarks it needs ``solver="lbfgs"``, ``constraint="none"`` and
        a :meth:`~rkhs.losses.Loss.majorizer`, as these have.
    reg : "auto", float or sequence of float, default=None
        Regulariser: one number for all layers, or one for each layer, encoder first. It is relative to the variance of
        the targets if ``scale=True``. ``"auto"`` compares several values on items that are held out; None does this
        where it pays and takes fixed values elsewhere (see Notes).
    columns : {"raw", "scaled", "integral", "filled", "ranked"}, default="raw"
        ``"scaled"`` reads every column in units of its standard deviation, less its mean; ``inverse_transform`` gives
        the units of the data back. ``"integral"`` is for curves that carry their times: sums over columns become
        integrals over time. ``"filled"`` reads tables with texts and gaps: :class:`~rkhs.features.FilledTable`;
        ``"ranked"`` too, with ``numbers="ranks"``.
    refine : bool, default=True
        Improve the codes of new items by quasi-Newton steps; the codes of training items do not change. Encoding then
        costs some ``p + 20`` decodings. It applies without ``targets`` or operator on the codes, with several hidden
        layers to the codes of the first one, with a constraint with landmarks only; Gram inputs need a constant
        diagonal.
    storage : "auto", "dense", Nystroem or RandomFeatures, default="auto"
        ``"dense"`` keeps Gram matrices whole; features (:mod:`rkhs.features`) make time and memory linear in n and read
        memory maps and files without holding all rows. ``"auto"`` is dense below 1,000 rows and landmarks beyond, where
        these have all that the dense model has (see Notes). With ``linear_part="kernel"`` features have no constraint,
        and codes that are not refined.
    random_state : int, RandomState or None, default=None
        Seed of the random starts.
    verbose : int or "auto", default="auto"
        Above 0: show progress on standard error; "auto": after ten seconds, in a terminal or notebook.
    linear_part : {"auto", "kernel", "free"}, default="auto"
        ``"free"``: encoder and decoder have an unpenalised linear part besides their kernel parts, so the model
        includes PCA; dense storage needs the squared loss and no constraint for it. ``"kernel"``:
        linear parts are those of the kernels and are penalised. ``"auto"``: free for vectors if both kernels are
        ``"auto"``, for features on landmarks if ``decoder_kernel`` is, and if no other parameter forbids it.
    operators : sequence of (array or None), default=None
        Positive semi-definite matrices ``A_l`` of shape (p_l, p_l) of the kernels ``k_l A_l``, one for each layer. None
        is the identity. The last one acts on the outputs and needs vectors there.
    center, scale : bool, default=True
        Subtract the mean of the targets; divide them by the root of their total variance. ``transform`` and
        ``inverse_transform`` take care of both. The model of the paper has neither.
    code_metric : float, default=0.75
        Metric of the codes, from 0 to 1. With 1, distances between codes are about those between what they decode to;
        with 0 they are those inside the model, which mean little. Reconstructions do not change.
    constraint : {"none", "sphere", "ball", "whiten", "soft"} or CodeSet, default="none"
        Keeps training codes of the first hidden layer on the unit sphere, in the unit ball, or uncorrelated with unit
        second moments; ``"soft"`` draws them to the sphere, as ``SoftSphere(1.0)`` of :mod:`rkhs.constraints`; your own
        is a ``CodeSet``. Needs ``solver="lbfgs"``; with landmarks, codes of new items lie on the sphere and in the ball
        too.
    noise : Augmentation, default=None
        Denoising: encode noisy copies of each row and rebuild the row itself. An object of :mod:`rkhs.augment`, such as
        ``GaussianNoise(0.1, copies=5)``. Vectors only.
    solver : {"lbfgs", "adam", "gradient_descent", "alternating"} or Solver, default="lbfgs"
        ``"lbfgs"`` and ``"adam"`` descend over the encoder with the best decoder at each step, ``"gradient_descent"``
        and ``"alternating"`` (algorithm 1 of the paper) move all layers; landmarks and random features as ``storage``
        need ``"lbfgs"``. An object of :mod:`rkhs.solvers` has options, such as ``Adam(0.1)``; a name is one with its
        defaults. A solver of your own descends as ``"adam"`` does.
    init : {"kpca", "random", "uniform"} or ndarray of shape (n, p), default="kpca"
        Start from kernel PCA scores, at the best of six scales; from random codes; from the codes ``K Phi`` of
        coefficients drawn from [0, 1], as figures of the paper do; or from given codes. The last two need one hidden
        layer and dense storage.
    n_init : int, default=1
        Number of starts. The first is ``init``, the others are random, and the lowest objective wins.
    max_iter : int, default=500
        Largest number of iterations of a solver that has no limit of its own.
    tol : float, default=1e-4
        Relative tolerance of a solver that has none of its own.
    warm_start : bool, default=False
        Start from the layers of the last fit if the data have the same number of rows.
    engine : {None, "serial", "threads", "dask"} or Engine, default=None
        Who computes: ``Threads(8)``, ``Dask("tcp://host:8786")`` of :mod:`rkhs.engines`, or such an object with its
        defaults by its name; None: one thread, and as many as torch has for blocks of rows. If the storage is not
        dense it computes such blocks, with the same bits whoever computes. Dense fits take their threads from it.
    device : {"cpu", "auto", "cuda", "mps"}, default="cpu"
        Where the fit is computed.
    dtype : {"float64", "float32"}, default="float64"
        Precision of the computation. Results have the dtype of the training data.

    Attributes
    ----------
    codes_ : ndarray of shape (n, p)
        Codes of the training items at the narrowest layer. They are on principal axes where the model allows a
        rotation. ``fit_transform`` recomputes the codes, so refined codes may differ as far as refining is exact.
    encoder_coefs_, decoder_coef_ : list of ndarray of shape (n, p_l), and ndarray of shape (n, q)
        Coefficients of the kernels at the training items, the maps of the representer theorem (theorem 6 of the paper).
    layer_codes_ : list of ndarray of shape (n, p_l)
        Codes of every hidden layer, as the layers exchange them. With landmarks: those of the anchors (see Notes).
    code_variance_ : {"power", "diagonal"}
        Which ``s^2`` the refining of codes uses (see Notes).
    code_map_ : ndarray of shape (p, p) or None
        ``codes_`` are the codes of the narrowest layer times this matrix. None is the identity.
    kernel_, decoder_kernels_, output_kernel_ : Kernel or tuple of Kernel
        The kernels with a number for every bandwidth.
    reg_ : tuple of float
        The regulariser of each layer; infinite for hidden layers that stay the identity (see Notes).
    decoder_reg_ : float or None
        On landmarks with a free linear part, where ``reg`` was chosen: the regulariser of the last decoder, which is
        chosen once more and may be a thousandth of ``reg_[-1]``. None: it is ``reg_[-1]``.
    candidates_, candidate_errors_ : ndarray of shape (k, L) and (k,), or None
        The values that were compared, and their errors on held-out items. NaN: not computed, because two values in a
        row were worse.
    held_out_error_ : float or None
        Error of held-out rows, as a share of the variance (see Notes for equal rows). Where ``decoder_reg_`` is chosen:
        of the rows that it was chosen on, which its decoder, or two of its leaves, and the encoder, of a stage before
        the last one, have not seen; they are part of the finished fit, and new rows lose less, by up to a fifth. Else
        that of the chosen ``reg_``, on at most 2,000 rows with landmarks.
    at_edge_ : dict or None
        ``{"reg": "weakest"}`` or ``{"reg": "strongest"}`` if the chosen value is the last one on that side and the
        error was still falling. Empty otherwise.
    kernel_choice_ : dict of str to float, or None
        Where the data have heavy tails: the held-out errors with ``"radial"`` and ``"arc-cosine"`` kernels, as shares
        of the variance. The first are the kernels of the model. None: they were not compared.
    loss_ : Loss
        The loss with numbers for its parameters.
    objective_, gap_ : float
        The objective, and the duality gap of the decoder for these codes (zero for the squared loss; missing for
        other losses with landmarks). It does not bound the distance to the best codes: the objective is not convex.
    support_, saturated_ : ndarray of shape (n_support,) and (n_saturated,)
        Training rows that the decoder uses; rows where the loss is linear.
    n_iter_, n_evaluations_, converged_, reason_, history_
        What the solver reports.
    sample_, n_rows_seen_, n_rows_fitted_ : ndarray of shape (k, d), int and int
        After ``partial_fit``: the sample of rows that is kept, how many rows there were, and how many at the last fit.
    storage_ : "dense", Nystroem or RandomFeatures
        The storage of the fit: ``storage``, or what ``"auto"`` chose.
    announced_bytes_ : int
        Memory that the fit was expected to take, in bytes.
    reader_ : Reader
        How ``X`` was read: ``columns`` subtracts ``reader_.scaling.mean`` and divides by ``reader_.scaling.scale``; all
        rows of the data count alike in them.
    n_features_in_, feature_names_in_
        As in scikit-learn; not for objects.

    Raises
    ------
    InputError
        If a parameter is out of range or the data cannot be used. The message names the argument.

    Warns
    -----
    ConvergenceWarning
        The solver stopped early.
    CollapseWarning
        The codes carry nothing, or some of their components do.
    ColumnWarning
        One column holds nearly all the variance of the data.
    OverfitWarning
        New items are rebuilt hardly better than by their mean. :func:`rkhs.diagnose` says more.

    Notes
    -----
    **Cost.** One evaluation takes ``n^3 / 3 + O(n^2 (d + p))`` operations. Memory is about four n x n matrices.
    ``transform`` takes ``O(m n (d + p))``, times the steps of refining.

    **Regulariser.** With ``reg=None`` values are compared if the linear part is free, on landmarks, and also if the
    features of the items themselves are rebuilt with one hidden layer and no other option. Otherwise the values are
    ``1e-2`` for the first layer, ``1e-3`` between, and ``1e-6`` to ``1e-3`` for the last. "Choosing settings" in
    ``docs/user/selection.md`` gives every rule.

    **Equal rows.** Equal rows are held out together, as copies of one, where some column has many values (20, and a
    tenth of the rows), or tells all different rows apart. Rows of few values in each column, such as yes and no, are
    held out one by one: new rows have the same combinations.

    **Heavy tails.** Where the farthest 2 % of the rows hold over a tenth of the squared distance to the mean, kernels
    that grow with a row are compared too; ``docs/user/selection.md`` says which, and where.

    **Storage.** ``"auto"`` looks at the data, never at the machine: ``"dense"`` below 1,000 rows, ``Nystroem(1000)``
    from there on. Features of a kernel (``output_kernel="same"``, objects) in more than two components stay dense below
    2,000 items. Whatever landmarks do not have stays dense: Gram matrices, kernels that may be indefinite, features of
    another kernel, vectors with a kernel that was given, other ``targets``, operators, noise with a constraint,
    other solvers, ``linear_part="kernel"`` and ``refine=False``. A cluster, and rows that only a file or a Dask
    collection holds, mean landmarks whatever their number.

    **Many rows.** With a free linear part and ``storage=Nystroem(m)`` or ``RandomFeatures(m)`` the code of a row is ``z
    = f(x) + sqrt(k(x, x)) u``. The penalty of ``u`` is ``reg_1 / 2 ||u||^2``. The decoder is spread over the codes of
    ``m`` rows (``m / 2`` at more than two components, ``3 m`` in the end), which are ``layer_codes_``. In the end,
    where ``reg`` was chosen and there is one hidden layer, all rows to 32,768 are anchors: above ``3 m`` rows each leaf
    of a tree of the codes has a decoder of its rows, and near the border of two both count. With
    ``linear_part="kernel"`` there is no ``u``. The fit goes in stages of 1,000 rows, twice as many and so on, to 32,768
    at most: 30 iterations, then 15 each. Codes of the others are found with it, and the last decoder is that of all
    rows. The computation is in float64. Features of a kernel are rebuilt in the span of the landmarks; what lies
    outside of it counts in every error. ``docs/user/big_data.md`` says more.

    **Refined codes** minimise ``1/(2n) ||t - g(z)||^2 + reg_1 / 2 ||z - f(x)||^2 / s^2(x)`` over ``z``, with ``g`` the
    decoder. ``s^2`` is the power function with free linear parts, and ``k(x, x)`` elsewhere. The loss is the square,
    whatever ``loss`` is.

    **Depth.** With default decoder kernels and no further option, or ``linear_part="free"``, hidden layers add to the
    codes below: ``z_l = z_(l-1) + h_l(z_(l-1))``, columns cut or filled with zeros. The fit starts from that of one
    hidden layer, ``h_l = 0``, and ``reg`` of the ``h_l`` is chosen on held-out rows.

    **Defaults** were chosen by measurements. ``docs/results/defaults.md`` lists them with their commands.

    ``fit`` ignores ``y``, so the estimator works in pipelines that pass labels.

    References
    ----------
    Laforgue, Clemencon and d'Alche-Buc (2019), "Autoencoding any data through kernel autoencoders": equations 1 to 8,
    section 4, algorithm 1. Laforgue et al. (2020), equation 11, for other losses. Esser, Fleissner and Ghoshdastidar
    (2024): definition 3, theorem 5 and remark 2 for constraints and denoising.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from rkhs import KernelAutoencoder
    >>> X = load_iris().data
    >>> model = KernelAutoencoder(n_components=2).fit(X)
    >>> model.transform(X[:5]).shape
    (5, 2)
    >>> bool(model.reconstruction_error(X).mean() < 0.05 * X.var(axis=0).sum())
    True
    """

    _: KW_ONLY
    solver: AutoencoderSolverLike = "lbfgs"
    warm_start: bool = False
    engine: EngineLike = None

    decoder_reg_: ClassVar[Fitted[float | None]] = Fitted("last_reg", optional=True)

    storage_: Storage | str = field(init=False)
    sample_: np.ndarray = field(init=False)
    n_rows_seen_: int = field(init=False)
    n_rows_fitted_: int = field(init=False)

    def fit(
        self, X: Any, y: Any = None, *, targets: Items | None = None, sample_weight: ArrayLike | None = None
    ) -> KernelAutoencoder:
        """Fit the layers.

        Parameters
        ----------
        X : array or sparse matrix (n, d), Gram matrix (n, n), or list of n objects
        y : ignored
        targets : same kind as X, optional
            What to rebuild in place of ``X``, row by row: clean versions of noisy inputs, or any vectors (n, q). For
            features as outputs: items that the output kernel reads; the Gram matrix (n, n) with
            ``kernel="precomputed"``.
        sample_weight : array of shape (n,), optional
            Not negative; rows of weight zero are dropped before anything is estimated. Training uses the ratios of the
            weights. Refining takes their sum as the number of items, and ``columns="filled"`` each as the number of
            equal rows that it stands for.

        Returns
        -------
        self
        """
        self._check_parameters()
        with self._running() as run:
            settings = self._read_settings(X, targets)
            training = self._read(settings, X, targets, sample_weight)
            previous = vars(self).get("model_") if self.warm_start else None
            found = fit(settings, training, run, previous)
            self.model_: AutoencoderModel = replace(
                found.model, codes=self._to_output(torch.as_tensor(found.model.codes))
            )
            self.storage_ = settings.storage
            self._warn_of_rounding(found.largest, found.model.encoder.coefficients, found.codes)
            self._record(found.solution)
        for warning in found.warnings:
            warn(warning)
        return self

    @available_if(_takes_more_rows)
    @within_limit
    def partial_fit(self, X: Any, y: Any = None) -> KernelAutoencoder:
        """Add rows of numbers; the model is refitted whenever their number has grown by half.

        A random sample of all rows so far is kept, at most 32,768 of them: as many as the encoder of any fit is fitted
        to. Up to that number the model is exactly that of one ``fit`` on the rows so far; beyond it, that of the
        sample. Between two fits the model stays what it is, so that all fits together cost some three times the last.

        Parameters
        ----------
        X : array (n, d)
        y : ignored

        Returns
        -------
        self

        Raises
        ------
        AttributeError
            Where ``kernel`` reads no rows of numbers.
        InputError
            After ``fit``, which keeps no sample; for sparse matrices, ``columns="filled"``, and rows that are not in
            memory.
        """
        self._check_parts(X)
        before = vars(self).get("sample_")
        if before is None:
            self._refuse_parts_of_a_fit()
            grid = times_of(X)
        else:
            grid = self.reader_.grid
            self.reader_.check_times(self, X)
        rows = read_checked(self, X, fitting=before is None, at_least=2 if before is None else 1)
        names = vars(self).get("feature_names_in_")
        seen = vars(self).get("n_rows_seen_", 0)
        seed = self.random_state if isinstance(self.random_state, int) else 0
        sample = sample_of_parts(rows[:0] if before is None else before, seen, rows, MAX_ENCODER_ROWS, seed=seed)
        seen, fitted = seen + len(rows), vars(self).get("n_rows_fitted_", 0)
        if seen >= _GROWTH * fitted:
            self.fit(sample)
            fitted = seen
        if names is not None:
            self.feature_names_in_ = names
        self.reader_: Reader = replace(self.reader_, grid=grid)
        self.sample_, self.n_rows_seen_, self.n_rows_fitted_ = sample, seen, fitted
        return self

    def _check_parts(self, X: Any) -> None:
        """Refuse what needs all rows at once."""
        if hasattr(X, "tocsr"):
            raise InputError("partial_fit needs dense rows; got a sparse matrix. Pass X.toarray(), or use fit")
        if isinstance(self.columns, str) and self.columns in TABLES:
            raise InputError(f"columns={self.columns!r} fills gaps from all rows; use fit in place of partial_fit")

    def _read_settings(self, X: Any, targets: Any) -> Settings:
        """Check the parameters, and that they go with each other and with the kind of data."""
        facts = facts_of(self, X, targets)
        storage = resolve_storage(facts, self.storage)
        facts["storage"] = kind_of_storage(storage)
        if facts["sparse"] == "yes" and targets is None and self.output_kernel is None and not isinstance(storage, str):
            raise InputError(
                "rows of a sparse matrix are rebuilt with storage='dense'; with landmarks use output_kernel='same', "
                "which rebuilds features of the kernel"
            )
        if facts["kernel"] == "auto":
            rebuilt = self.output_kernel is not None  # features of the kernel do not follow from the storage
            kernel = adapted_to(X, default_kernel("kernel" if rebuilt else facts.resolve("linear_part")))
        else:
            kernel = self._kernel_for(X)
        return read_settings(self, kernel, storage, facts)

    def _resolved(self, X: Any, targets: Any = None, **data: Any) -> tuple[dict[str, Any], tuple[str, ...]]:
        settings = self._read_settings(X, targets)
        return settings.describe(), settings.equations()

    def _input_kernel(self) -> Kernel:
        automatic = isinstance(self.kernel, str) and self.kernel == "auto"
        return default_kernel("kernel") if automatic else super()._input_kernel()

    def _read(self, settings: Settings, X: Any, targets: Items | None, sample_weight: ArrayLike | None) -> Training:
        """Read items, targets and weights; rows of weight zero are dropped."""
        kernel, output, storage = settings.kernel, settings.output_kernel, settings.storage
        at_least = 2 if isinstance(storage, str) else 1
        training = self._training(X, kernel, sample_weight, targets=targets, at_least=at_least, storage=storage)
        gram = output is not None and output.domain == "gram"
        if targets is not None:
            values = self._read_targets(training.given.of(targets, "targets", gram=gram), settings, len(training))
            if self.center:
                refuse_equal(values, "targets", gram=gram)
            training = replace(training, targets=values, self_targets=False, target_gram=gram)
        w, columns = training.weights, None if settings.features else training.targets.shape[1]
        n = len(training) if w is None else int((w > 0.0).sum())  # in a file some weights are zero
        settings.check_rows(n, columns, weighted=w is not None)
        return training

    def _read_targets(self, targets: Items, settings: Settings, n: int) -> Any:
        output = settings.output_kernel
        if self.reader_.scaling is not None or self.reader_.filling is not None:
            raise InputError(
                f"columns={self.columns!r} scales the rows that are rebuilt; with targets= scale both before fit, and "
                "use columns='raw'"
            )
        if output is not None and output.domain == "objects":
            read: Any = read_items(output, targets, "targets")
        else:
            read = self._read_matrix(targets, "targets", shape="(n, {q})")
            if output is not None and output.domain == "gram":
                read = to_tensor(check_gram(read.cpu().numpy(), "targets (kernel='precomputed')"), **self._options)
            else:
                check_spread(read.numpy(force=True), "targets", self.dtype)
        if len(read) != n:
            raise InputError(f"targets must have one row for each row of X, {n}; got {len(read)}")
        return read


def sample_of_parts(sample: np.ndarray, seen: int, rows: np.ndarray, most: int, *, seed: int = 0) -> np.ndarray:
    """Update a random sample of at most ``most`` of the rows so far (reservoir sampling)."""
    free_places = max(0, most - len(sample))
    found, rest = np.concatenate([sample, rows[:free_places]]), rows[free_places:]
    numbers = seen + len(rows[:free_places]) + np.arange(1, len(rest) + 1)
    places = (np.random.RandomState((seed + seen) % 2**32).random_sample(len(rest)) * numbers).astype(np.int64)
    for row in np.flatnonzero(places < most):
        found[places[row]] = rest[row]
    return found
