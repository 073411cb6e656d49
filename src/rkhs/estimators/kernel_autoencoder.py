"""The kernel autoencoder: KAE on vectors, K2AE on anything with a kernel, any depth."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from rkhs.estimators.autoencoder_choice import settle
from rkhs.estimators.autoencoder_fit import (
    certify,
    fit_outputs,
    prepare_encoder,
    previous_layers,
    solve_autoencoder,
    store_layers,
)
from rkhs.estimators.autoencoder_landmarks import fit_landmarks
from rkhs.estimators.autoencoder_settings import default_kernel, form, read_settings
from rkhs.estimators.autoencoder_targets import read_targets, store_targets
from rkhs.estimators.base import take
from rkhs.estimators.choice_report import report_choice
from rkhs.estimators.constrained_parts import noisy_copies
from rkhs.estimators.fitted_autoencoder import FittedAutoencoder
from rkhs.estimators.long_fits import long_fit
from rkhs.estimators.loss_choice import settle_layers
from rkhs.estimators.refined_codes import keep_factor
from rkhs.estimators.storage import announce_dense, as_storage
from rkhs.features import Features
from rkhs.kernels.base import Kernel

__all__ = ["KernelAutoencoder"]


class KernelAutoencoder(FittedAutoencoder):
    """Autoencoder whose layers are functions of vector-valued reproducing kernel Hilbert spaces.

    Minimises ``sum_i w_i 1/2 ||t_i - f_L(...f_1(x_i))||^2 + sum_l reg_l / 2 ||f_l||^2`` over the layers ``f_l`` (sample
    weights ``w_i`` sum to one). The targets ``t_i`` are the (centred, scaled) inputs themselves, or the features
    ``phi(x_i)`` of a kernel, so that anything with a kernel can be encoded (K2AE). The last layer is eliminated; the
    others are found by whitened L-BFGS from kernel PCA scores.

    Parameters
    ----------
    n_components : int or tuple of int, default=2
        Dimension of the codes, or of the codes of every hidden layer: ``(10, 2, 10)`` is a network of four layers.
    kernel : str, Kernel, callable or "auto", default="auto"
        Acts on the inputs. ``"auto"``: ``Gaussian("4*median") + Linear("mean_norm", "mean")``. ``"precomputed"``: fit
        takes the Gram matrix (n, n) and every other method rows of kernel values with the training items (m, n).
    decoder_kernel : Kernel, str, tuple or "auto", default="auto"
        Acts on codes: one, or one for each of the layers 2..L. ``"auto"``: ``0.8 Matern(1.5, 2**-0.5) +
        0.2 Matern(0.5, 2**-0.5) + 0.1 Linear()``, for more layers ``Matern(1.5, 2**-0.5) + 0.1 Linear()``.
        Bandwidths must be numbers: the codes have no scale of their own before the fit.
    output_kernel : None, "same", str or Kernel, default=None
        None rebuilds vectors (for Gram and object inputs: the features of ``kernel``); a kernel rebuilds its features
        ``phi(x)``; ``"same"`` those of ``kernel``.
    linear_part : {"auto", "kernel", "free"}, default="auto"
        ``"free"``: beside their kernel parts the encoder has a linear part in the ``n_components`` principal
        coordinates of the inputs (for Gram and object inputs, of their features) and the decoder one in the codes,
        at next to no price. Principal component analysis is then in the model, and the kernels pay for what they add.
        For one hidden layer and the squared loss; the kernels ``"auto"`` are then without their linear parts.
        ``"kernel"``: linear parts are those of the kernels and pay like the rest.
        ``"auto"``: free for vectors if both kernels are ``"auto"`` and nothing else that was asked for needs
        ``"kernel"``.
    loss : str or Loss, default="squared"
        Of the reconstruction, in place of ``1/2 ||.||^2``: ``"huber"``, ``"epsilon_insensitive"``,
        ``"squared_epsilon_insensitive"``, or an object such as ``Huber(0.5)``. Its parameters are in units of the
        centred, scaled targets; those of the names are the median norm of the leave-one-out residuals of the last layer
        under the squared loss (epsilon: half of it), which is fitted first. Meant for targets that are wrong in some
        rows; rows that are wrong as inputs and as targets are rebuilt from themselves, and :func:`rkhs.fit_robust`
        leaves them out. Needs ``solver="lbfgs"``, ``constraint="none"``.
    operators : sequence of (array or None), default=None
        Positive semi-definite ``A_l`` of shape (p_l, p_l) of the kernels ``k_l A_l``, one a layer; None: the identity.
        The last one acts on the outputs (vector outputs only).
    reg : "auto", float or sequence of float, default=None
        Regulariser, one number or one a layer, encoder first; relative to the variance of the targets while
        ``scale=True``, or, beside free linear parts, to a hundred times the variance that as many principal components
        leave, if that is less. ``"auto"``: the best of three to seven, each fit started at the one before. Vectors that
        are rebuilt with free linear parts, different and without weights, are left out in turn, in closed form, up to
        400 rows (up to 199 for one or two components); else rows are held out (20 %, at most 300, three parts in turns
        below 200 rows; of the others at most 1,600 or half of all train, for the best values depend on the number of
        rows, or 400 where features are rebuilt; copies of a row together, up to 400 rows). Of those as good as the best
        (to 1 %; with free linear parts and beyond two components, where all rows were left or held out, to one standard
        error of the paired rows) the strongest is taken. Below 15 different rows nothing is held out: the values are
        those of None or, with a free linear part, ``1e-4`` and ``1e-3`` (``1e-2`` for one or two components), the first
        ``1e-2`` if codes are not refined. None: ``"auto"`` with a free linear part, and for the features of the items
        themselves with one hidden layer and nothing else asked for; else ``1e-2`` for the first layer and for the last
        ``1e-6`` (``1e-4`` for one or two components) where codes are refined, else ``1e-5`` (``1e-3``); for features as
        outputs ``1e-5`` (``1e-3`` up to five components) and ``1e-3``; ``1e-3`` for the layers between. Measured by
        ``./dev bench defaults``: at ten components 0.69 of the held-out error of principal components on fourteen
        tables, images and curves, 1.02 at worst (1.07 and 27 with ``linear_part="kernel"``), 0.76 and 1.04 on ten
        tables in their own units (``--raw``); by ``./dev bench feature_reg``: the choice for features 0.88 to 0.96 of
        the error of the fixed values at two components, 0.94 to 0.97 at five, 0.95 to 0.99 at ten (40 to 300 items of
        eight sets); the kernels ``"auto"`` by ``./dev bench default_kernels``.
    center, scale : bool, default=True
        Subtract the mean of the targets; divide them by the root of their total variance (of what principal components
        leave where that is little; see ``reg``). Both are undone on the way back. Off is literally the model of the
        paper.
    solver : {"lbfgs", "adam", "gradient_descent", "alternating", "minibatch", "doubly_stochastic"}, default="lbfgs"
        ``"lbfgs"`` and ``"adam"`` work on the reduced objective, ``"gradient_descent"`` on all layers jointly,
        ``"alternating"`` is Algorithm 1 of the paper with the correct gradient; both descend along the gradient of the
        function spaces, which is several times faster than that of the coefficients. In the end the last layer is at
        its optimum, so that ``objective_`` means the same for all of them. ``"minibatch"``: ``max_iter`` steps of Adam
        on random batches, whose cost does not depend on the number of rows; for landmarks or random features as
        ``storage``. The decoder of a step solves running means of the normal equations. ``"doubly_stochastic"``: the
        same, but a step updates only some of the coefficients of the encoder, drawn anew (the future work of the
        paper); it needs more steps, which are hardly cheaper.
    learning_rate : float, default=None
        Step length of every solver but ``"lbfgs"``. None: ``1e-2`` for ``"adam"``, ``3e-2`` for ``"minibatch"`` and
        ``"doubly_stochastic"``, backtracking for the others.
    batch_size : int, default=1024
        Rows of a step of ``"minibatch"`` and ``"doubly_stochastic"``.
    coefficient_share : float, default=0.25
        Of the coefficients of the encoder that a step of ``"doubly_stochastic"`` updates, above 0 and at most 1: each
        gets about ``coefficient_share * max_iter`` updates. With 1 it is ``"minibatch"``.
    constraint : {"none", "sphere", "ball", "whiten", "soft"}, default="none"
        Keep the training codes of the one hidden layer on the unit sphere, in the unit ball, uncorrelated with unit
        second moments, or near the sphere by the penalty ``softness / 2 sum_i w_i (||z_i||^2 - 1)^2``. Needs
        ``solver="lbfgs"``.
    softness : float, default=1.0
        Weight of the penalty of ``constraint="soft"``.
    renormalize : bool, default=False
        Put the codes of new items on the sphere or into the ball too (the paper does not).
    noise_std : float, default=0.0
        Denoising: encode ``x + noise`` with this standard deviation, rebuild ``x``. Vectors only.
    n_copies : int, default=1
        Noisy copies of each row.
    init : {"kpca", "random"}, default="kpca"
        Start from kernel PCA scores, at the best of six scales, or from random codes.
    n_init : int, default=1
        Number of starts; the first is ``init``, the others are random. The lowest objective wins.
    max_iter : int, default=500
        Largest number of iterations of the solver.
    tol : float, default=1e-4
        Relative tolerance of the solver. Measured by ``./dev bench defaults --rows 300 --tol 1e-3 1e-5``: held-out
        error over that of principal components 0.675 and 0.674 in place of 0.672, time 0.9 and 1.2.
    warm_start : bool, default=False
        Start from the layers of the last fit if the data have the same number of rows.
    refine : bool, default=True
        Refine the codes of new items by what the items are: the best code with the decoder and the training codes
        fixed, by the squared error whatever the loss, by Gauss-Newton steps: at the price of a few times ``p + 3``
        decodings. A change of the code costs ``reg_1 / 2 ||z - f(x)||^2 / s^2(x)``, with the power function beside free
        linear parts and ``s^2 = k(x, x)`` without. Training codes do not change. For two layers, no operator on the
        codes, constraint or ``targets``, and Gram inputs of constant diagonal. Held-out error 4 % lower on nine further
        sets and worse on none (``./dev bench refinement``).
    code_metric : float, default=0.75
        Metric of the codes that are given out and taken back, from 0 to 1. With 0 they are those that the layers
        exchange, whose distances mean little: the decoder has a scale of its own in each direction. With 1 distances
        of codes are those of what they decode to, to first order and on average; in between ``z G^(code_metric / 2)``,
        ``G`` the mean of ``J^T J`` and ``J`` the Jacobian of the decoder. Training and reconstructions do not change.
        For one hidden layer without constraint or operator. Measured by ``./dev bench code_metric`` on 51 tasks:
        neighbours 0.852 in place of 0.829 with 0, a smooth head 0.909 and 0.905, a forest 0.872 and 0.867.
    storage : "dense", Nystroem or RandomFeatures, default="dense"
        How the Gram matrices are kept: whole; or the encoder in the features of ``m`` landmarks (or random ones) and
        the decoder on the codes of these landmarks (:mod:`rkhs.features`): linear in n, reading memory maps and files
        block by block. For two layers, the squared loss and ``solver="lbfgs"``; codes are not refined. ``layer_codes_``
        are then those of the landmarks. With many rows the solver descends on a sample of them first.
    engine : {None, "serial", "threads", "dask"} or Engine, default=None
        Who computes the blocks of rows, with finite features as ``storage``: a Dask cluster, threads or one thread, all
        with the same bits. None: threads where there are several blocks. Whatever it is, the model is the same.
    address : str or distributed.Client, default=None
        Scheduler for ``engine="dask"``, such as ``"tcp://host:8786"``; None starts workers on this machine.
    n_jobs : int, default=None
        Threads, or worker processes to start; None: as many as torch uses, or one worker a core; -1: every core.
    checkpoint : str, path or Checkpoint, default=None
        File that keeps what the fit has computed; a fit that was cut off goes on from it when it is called again with
        the same data and parameters, and ends with the same bits. It is deleted in the end, unless it is a
        :class:`rkhs.engines.Checkpoint`. A file that holds something else is refused and left as it is.
    psd : {"clip", "raise"}, default="clip"
        What to do with a Gram matrix that has negative eigenvalues: set them to zero and warn, or refuse.
    random_state : int, RandomState or None, default=None
        Of the random starts.
    device : {"cpu", "auto", "cuda", "mps"}, default="cpu"
    dtype : {"float64", "float32"}, default="float64"
        Of the computation. The results have the dtype of the training data.
    verbose : int, default=0
        Above 0, show progress on standard error.

    Attributes
    ----------
    codes_ : ndarray of shape (n, p)
        Codes of the training items at the narrowest layer, on principal axes when the model allows the rotation.
    layer_codes_ : list of ndarray of shape (n, p_l)
        Codes of every hidden layer, as the layers exchange them.
    code_price_ : {"power", "diagonal"}
        Which ``s^2`` prices the refining of codes (``refine``).
    code_map_ : ndarray of shape (p, p) or None
        ``codes_`` are those of the narrowest layer times it; None: they are the same.
    kernel_, decoder_kernels_, output_kernel_ : Kernel or tuple of Kernel
        Resolved kernels: every bandwidth a number.
    reg_ : tuple of float
    candidates_, candidate_errors_ : ndarray of shape (k, L) and (k,), or None
        What ``reg="auto"`` compared, and the errors of held-out rows, or of few rows, each left out; NaN for strong
        ones after two in a row that were worse.
    held_out_error_ : float or None
        The error of held-out rows with the values that were chosen, as a share of the variance.
    at_edge_ : dict or None
        ``{"reg": "weakest"}`` or ``"strongest"`` if that error belongs to an end of the candidates and was still
        clearly falling towards it; else empty.
    loss_ : Loss
        With numbers for its parameters.
    objective_, gap_ : float
        ``gap_`` is the duality gap of the last layer, zero for the squared loss.
    support_, saturated_ : ndarray of shape (n_support,) and (n_saturated,)
        Training rows that the decoder uses; those where the loss is linear.
    n_iter_, n_evaluations_, converged_, reason_, history_
        What the solver reports.
    announced_bytes_ : int
        Memory that the fit was expected to take.
    n_features_in_, feature_names_in_
        As in scikit-learn (not for objects).

    Raises
    ------
    InputError
        For parameters out of range and data that cannot be used; the message names the argument.

    Warns
    -----
    ConvergenceWarning, CollapseWarning, OverfitWarning
        Where the solver stopped early, the codes carry nothing, or new items are rebuilt hardly better than by their
        mean; see :func:`rkhs.diagnose`, which says too where a better regulariser may lie beyond those compared.

    Notes
    -----
    One evaluation costs ``n^3 / 3 + O(n^2 (d + p))``; memory is about four n x n matrices. ``transform`` costs
    ``O(m n (d + p))``. ``y`` is ignored, so that a Pipeline that hands over labels changes nothing.

    References
    ----------
    Laforgue, Clemencon and d'Alche-Buc (2019), "Autoencoding any data through kernel autoencoders": equations 1 to 8,
    section 4, algorithm 1. Laforgue et al. (2020), equation 11, for other losses. Esser, Fleissner and Ghoshdastidar
    (2024): definition 3, theorem 5 and remark 2 for the constraints and for denoising.

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

    def __init__(
        self,
        n_components: Any = 2,
        *,
        kernel: Any = "auto",
        decoder_kernel: Any = "auto",
        output_kernel: Any = None,
        linear_part: str = "auto",
        loss: Any = "squared",
        operators: Any = None,
        reg: Any = None,
        center: bool = True,
        scale: bool = True,
        solver: str = "lbfgs",
        learning_rate: float | None = None,
        batch_size: int = 1024,
        coefficient_share: float = 0.25,
        constraint: str = "none",
        softness: float = 1.0,
        renormalize: bool = False,
        noise_std: float = 0.0,
        n_copies: int = 1,
        init: str = "kpca",
        n_init: int = 1,
        max_iter: int = 500,
        tol: float = 1e-4,
        warm_start: bool = False,
        refine: bool = True,
        code_metric: float = 0.75,
        storage: Any = "dense",
        engine: Any = None,
        address: Any = None,
        n_jobs: int | None = None,
        checkpoint: Any = None,
        psd: str = "clip",
        random_state: Any = None,
        device: str = "cpu",
        dtype: str = "float64",
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.kernel, self.decoder_kernel = kernel, decoder_kernel
        self.output_kernel = output_kernel
        self.linear_part = linear_part
        self.loss = loss
        self.operators, self.reg = operators, reg
        self.center, self.scale = center, scale
        self.solver, self.learning_rate = solver, learning_rate
        self.batch_size, self.coefficient_share = batch_size, coefficient_share
        self.constraint, self.softness = constraint, softness
        self.renormalize = renormalize
        self.noise_std, self.n_copies = noise_std, n_copies
        self.init, self.n_init = init, n_init
        self.max_iter, self.tol = max_iter, tol
        self.warm_start = warm_start
        self.refine, self.code_metric = refine, code_metric
        self.storage, self.engine, self.address = storage, engine, address
        self.n_jobs, self.checkpoint = n_jobs, checkpoint
        self.psd, self.random_state = psd, random_state
        self.device, self.dtype, self.verbose = device, dtype, verbose

    def _input_kernel(self) -> Kernel:
        return default_kernel(form(self)) if self.kernel == "auto" else super()._input_kernel()

    def fit(self, X: Any, y: Any = None, *, targets: Any = None, sample_weight: Any = None) -> KernelAutoencoder:
        """Fit the layers.

        Parameters
        ----------
        X : array (n, d), Gram matrix (n, n), or list of n objects
        y : ignored
        targets : same kind as X, optional
            What to rebuild in place of ``X``, row by row: clean versions of noisy inputs, or any vectors (n, q). For
            features as outputs: items that the output kernel reads; the Gram matrix (n, n) with
            ``kernel="precomputed"``.
        sample_weight : array of shape (n,), optional
            Not negative; zero drops a row. Training reads their ratios, refining their sum as the number of items.

        Returns
        -------
        self
        """
        with long_fit(self, X, targets, sample_weight):
            return self._fit(X, targets, sample_weight)

    def _fit(self, X: Any, targets: Any, sample_weight: Any) -> KernelAutoencoder:
        """Fit within what the engine and the checkpoint need."""
        storage = as_storage(
            self.storage,
            "KernelAutoencoder",
            ("dense", "Nystroem", "RandomFeatures"),
            ". The encoder needs a factor of the Gram matrix, which is as large as it",
        )
        self.map_ = None
        if isinstance(storage, Features):
            fit_landmarks(self, storage, X, targets, sample_weight)
            return self
        kernel = self._kernel_for(X)
        settings = read_settings(self, kernel, refined=bool(self.refine) and targets is None)
        items = self._read_training(X, kernel)
        n = len(items)
        goal = read_targets(self, targets, items, kernel, settings)
        kept, weights = self._read_weights(sample_weight, n)
        square = kernel.domain == "gram"
        items, goal = take(items, kept, square=square), take(goal, kept, square=square and settings.features)
        settings.check_rows(len(items), None if settings.features else goal.shape[1])
        announce_dense(self, len(items) * self.n_copies, 4.5)
        start = previous_layers(self, len(items), settings)
        own = self._own_targets and settings.output_kernel is kernel and not self._noisy
        K = self._resolved_gram(kernel, items, weights) if own else None
        choice = settle(self, settings, items, goal, weights, K)
        settings, start = choice.settings, choice.layers if start is None else start
        clean = items
        if self._noisy:
            items, goal, weights = noisy_copies(self, items, goal, weights)
        if K is None:
            K = self._resolved_gram(kernel, items, weights)
        self.reg_ = settings.reg
        self.output_kernel_, self.output_, coordinates = fit_outputs(self, settings, goal, K, weights)
        encoder = prepare_encoder(self, settings, K, weights, items, resumed=start is not None)
        diagonal = K.diagonal().clone()
        del K  # n x n numbers that the solver does not need
        settings, start = settle_layers(self, settings, encoder, coordinates, weights, self.output_, start)
        self.loss_ = settings.loss
        result = solve_autoencoder(self, settings, encoder, coordinates, weights, self.output_, start)
        self._kept_rows, self._n_training = kept, n
        self._row_weights = None if weights is None else weights.cpu().numpy()
        keep_factor(self, encoder)
        self._store_support(items)
        store_layers(self, result, settings, float(diagonal.max()), clean if self._noisy else None)
        store_targets(self, goal, diagonal)
        self._record(result.solution)
        certify(self, result.decoder, coordinates, weights, settings.loss)
        report_choice(self, choice.held_out, result.decoder, coordinates, weights, settings.loss)
        return self

    def _resolved_gram(self, kernel: Kernel, items: Any, weights: Tensor | None) -> Tensor:
        """Gram matrix of the kernel with the bandwidths of these items, which is kept as ``kernel_``."""
        self.kernel_ = kernel.resolve(items, weights)
        return self._training_gram(self.kernel_, items)
