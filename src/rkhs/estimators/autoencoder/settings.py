"""The parameters of a kernel autoencoder, checked before its data are touched."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from sklearn.base import BaseEstimator

from rkhs._core.checks import check_choice, check_count, check_number, check_operator, check_seed, naming, real_array
from rkhs._core.errors import InputError
from rkhs.constraints import CodeSet, Sphere, Whitened, as_constraint
from rkhs.estimators.autoencoder.defaults import WEAKER, Facts, is_auto
from rkhs.estimators.options.combinations import check_combination, kind_of_loss
from rkhs.estimators.training import Training, read_noise
from rkhs.kernels import ArcCosine, Gaussian, Kernel, Linear, Matern, ScaledInputs, SparseRows, as_kernel
from rkhs.kernels.combined.sparse_rows import on_sparse_rows
from rkhs.losses import Loss, Squared, as_loss
from rkhs.models import FINE, rebuilds_rows
from rkhs.solvers.registry import DESCENTS, as_solver
from rkhs.spaces.features import Nystroem, Storage

if TYPE_CHECKING:
    from rkhs.augment import Augmentation
    from rkhs.solvers import Solver


_DEPTH = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5)  # regularisers of layers with shortcuts; at infinity they are the identity
_LEAST_REG = 1e-24  # of the last layer: with less, rounding exceeds the objective
_LARGEST_REG = 1e60  # its square and the products of two must not overflow


def default_kernel(linear_part: str) -> Kernel:
    """``Gaussian("4*median") + Linear("mean_norm", "mean")``; with a free linear part the Gaussian alone."""
    narrow = Gaussian("4*median")
    return narrow if linear_part == "free" else narrow + Linear("mean_norm", "mean")


def default_decoder_kernel(linear_part: str, layers: int) -> Kernel:
    """Matern 3/2 with a fifth of Matern 1/2, at the scale of the codes, and a tenth of a linear kernel."""
    smooth, rough = Matern(1.5, 2**-0.5), Matern(0.5, 2**-0.5)
    if layers > 2:
        return smooth + 0.1 * Linear()
    mixed = smooth * 0.8 + 0.2 * rough
    return mixed if linear_part == "free" else mixed + 0.1 * Linear()


def unbounded_kernels() -> tuple[Kernel, Kernel]:
    """Unbounded kernels of encoder and decoder for heavy tails, in models with free linear parts."""
    return Gaussian("4*median") + ScaledInputs(ArcCosine(), "mean_norm", "mean"), ArcCosine()


@dataclass(frozen=True, eq=False, kw_only=True)
class Settings:
    """Checked parameters of an autoencoder: all that a fit needs besides its data."""

    kernel: Kernel  # of the inputs, not resolved
    widths: tuple[int, ...]  # dimensions of the hidden codes
    decoder_kernels: tuple[Kernel, ...]  # kernels of the layers 2..L
    output_kernel: Kernel | None  # kernel whose features are rebuilt; None: vectors
    reg: tuple[float, ...]  # one per layer
    operators: tuple[np.ndarray | None, ...]  # one per layer
    loss: Loss  # of the reconstructions
    linear_part: str  # whether encoder and decoder have linear parts that are free
    rows: bool = False  # whether the features are rows of a sparse matrix, which are treated as vectors
    shortcut: bool = False  # whether hidden layers add to the codes below them
    candidates: tuple[tuple[float, ...], ...] = ()  # regularisers to compare
    weaker: tuple[tuple[float, ...], ...] = ()  # further ones, for many rows
    choice_asked: bool = False  # whether the user passed reg="auto"
    kinds: bool = False  # whether the kernels are the default ones of vectors, so that their kind may be chosen too
    center: bool  # parameters of :class:`~rkhs.KernelAutoencoder` as they were given
    scale: bool
    code_set: CodeSet | None  # set of the codes, from ``constraint``
    noise: Augmentation | None
    solver: Solver
    init: str
    start: np.ndarray | None = None  # (n, p): codes of the first layer, for ``init="codes"``
    n_init: int
    max_iter: int  # those of the solver if it has its own
    tol: float
    refine: tuple[int, float] | None  # largest number and tolerance of refinement steps of new codes
    code_metric: float
    storage: Storage | str
    random_state: int | np.random.RandomState | None

    @property
    def robust(self) -> bool:
        """Whether the loss is another than the squared one."""
        return not isinstance(self.loss, Squared)

    @property
    def undecided_kind(self) -> bool:
        """Whether the kind of kernel is to be chosen too."""
        known = self.noise is None and isinstance(self.storage, (str, Nystroem))
        return known and self.kinds and bool(self.candidates)

    @property
    def unbounded(self) -> Settings:
        """The settings with unbounded kernels for heavy tails."""
        kernel, decoder = unbounded_kernels()
        return replace(self, kernel=kernel, decoder_kernels=(decoder,), kinds=False)

    @property
    def single_hidden_layer(self) -> Settings:
        """The settings with one hidden layer, the narrowest: the model if all other layers are the identity."""
        widths, candidates = (min(self.widths),), tuple(_ends(reg) for reg in self.candidates)
        found = replace(self, shortcut=False, widths=widths, decoder_kernels=self.decoder_kernels[-1:])
        return replace(found, operators=(None, None), reg=_ends(self.reg), candidates=candidates)

    def with_depth(self, single: Settings, reg: float = math.inf) -> Settings:
        """The settings with regularisers and kernels of one hidden layer, and ``reg`` for the layers between."""
        kernels = (*self.decoder_kernels[:-1], *single.decoder_kernels)
        first, last = single.reg
        regs = (first, *(reg,) * (len(self.widths) - 1), last)
        return replace(self, kernel=single.kernel, decoder_kernels=kernels, loss=single.loss, reg=regs)

    def depths(self, single: Settings) -> tuple[tuple[float, ...], ...]:
        """Regularisers at which further layers are the identity, and then less and less near to it."""
        return tuple(self.with_depth(single, h).reg for h in (math.inf, *_DEPTH))

    @property
    def features(self) -> bool:
        """Whether features are rebuilt."""
        return self.output_kernel is not None

    @property
    def n_copies(self) -> int:
        """Number of noisy copies of each item that are encoded."""
        return 1 if self.noise is None else int(self.noise.copies)

    def noisy_copies(self, training: Training) -> Training:
        """Noisy copies of the items; without noise the items themselves."""
        return training if self.noise is None else training.noisy(self.noise, int(self.generator().randint(2**31)))

    def generator(self) -> np.random.RandomState:
        """Random generator of starts and noise."""
        return check_seed(self.random_state)

    @property
    def code_power(self) -> float:
        """The parameter ``code_metric``; zero with several hidden layers, a constraint or an operator on the codes."""
        plain = len(self.widths) == 1 and self.code_set is None and self.operators[0] is None
        return float(self.code_metric) if plain else 0.0

    def is_rotation_invariant(self, layer: int) -> bool:
        """Whether rotating the codes of a layer leaves the objective unchanged."""
        free = layer > 0 or self.code_set is None or self.code_set.rotation_invariant
        free = free and self.operators[layer] is None and not self.shortcut
        return free and self.decoder_kernels[layer].rotation_invariant

    def describe(self) -> dict[str, Any]:
        """What parameters become, or the rule that chooses them from the data."""
        names = ("kernel", "linear_part", "loss", "solver", "storage")
        compared = self.candidates + self.weaker
        reg = ", ".join(f"({', '.join(f'{one:g}' for one in each)})" for each in dict.fromkeys((self.reg, *compared)))
        return {name: getattr(self, name) for name in names} | {
            "decoder_kernel": self.decoder_kernels[0] if len(self.decoder_kernels) == 1 else self.decoder_kernels,
            "output_kernel": "none: the vectors are rebuilt" if self.output_kernel is None else self.output_kernel,
            "reg": f"least error on rows left out, of {reg}" if compared else reg,
        }

    def equations(self) -> tuple[str, ...]:
        """The optimisation problem as a text."""
        count = len(self.widths) + 1
        free = " + linear parts without penalty" if self.linear_part == "free" else ""
        inner = "".join(f"f_{layer}(" for layer in range(count, 0, -1)) + "x_i" + ")" * count
        codes = " -> ".join(f"R^{width}" for width in self.widths)
        return (f"min sum_i w_i loss(t_i - {inner}) + sum_l reg_l / 2 ||f_l||^2, codes in {codes}{free}",)

    @property
    def feature_storage(self) -> Storage:
        """The storage of a fit in finite features."""
        assert isinstance(self.storage, Storage)
        return self.storage

    @property
    def row_constraint(self) -> CodeSet | None:
        """The constraint on the code of a single row; whitening constrains no single row, so it is None."""
        return None if isinstance(self.code_set, Whitened) else self.code_set

    @property
    def refinable(self) -> bool:
        """Whether codes of new items may be refined; with a constraint, on landmarks or random features only."""
        free = self.code_set is None or isinstance(self.storage, Storage)
        return free and self.noise is None and self.operators[0] is None

    def check_rows(self, n: int, q: int | None, *, weighted: bool) -> None:
        """Check what depends on the data: rows against components, outputs against the last operator."""
        if n < 2:
            raise InputError(f"X must have at least 2 rows of positive weight; got n_samples={n}")
        if isinstance(self.code_set, Whitened) and weighted:
            raise InputError("sample_weight must be equal for constraint='whiten'")
        if max(self.widths) >= n:
            raise InputError(
                f"n_components must be at most {n - 1} for n_samples={n}, whose centred codes have no more dimensions; "
                f"got {max(self.widths)}. Ask for fewer components or give more samples"
            )
        A = self.operators[-1]
        if A is not None and q is not None:
            check_operator(A, f"operators[{len(self.operators) - 1}]", q)


def _ends(values: tuple[Any, ...]) -> tuple[Any, Any]:
    return values[0], values[-1]


def is_plain(estimator: BaseEstimator) -> bool:
    """Whether there are no operators, constraint and noise, and the loss is the squared one."""
    inside = estimator.operators is None and estimator.constraint == "none" and estimator.noise is None
    return inside and kind_of_loss(estimator.loss) == "squared"


def read_settings(estimator: BaseEstimator, kernel: Kernel, storage: Storage | str, facts: Facts) -> Settings:
    """Check the parameters of a :class:`KernelAutoencoder` before its data are touched."""
    widths = _read_widths(estimator.n_components)
    layers, targets = len(widths) + 1, facts["targets"] == "given"
    init, start = _read_start(estimator.init, widths, storage)
    _check_numbers(estimator)
    solver = as_solver(estimator.solver, DESCENTS, estimator.max_iter, estimator.tol)
    output_kernel = _output_kernel(estimator.output_kernel, kernel, targets=targets)
    vectors = output_kernel is None or rebuilds_rows(output_kernel)
    linear_part = facts.resolve("linear_part")
    known = {
        "input": kernel.domain,
        "outputs": _rebuilt(output_kernel, kernel),
        "output_domain": (output_kernel or kernel).domain,
        "targets": facts["targets"],
        "rows": facts["rows"],
        "linear_part": linear_part,
    }
    parameters = {**estimator.get_params(deep=False), "storage": storage}
    check_combination("KernelAutoencoder", parameters, **known)
    facts = facts.having(linear_part=linear_part, rebuilds="vectors" if vectors else "features")
    regs = _read_regs(estimator.reg, widths, facts)
    asked = {one.name: parameters[one.name] for one in fields(Settings) if one.name in parameters}
    asked.update(
        regs,
        widths=widths,
        kernel=kernel,
        output_kernel=output_kernel,
        operators=_read_operators(estimator.operators, layers, widths, output_kernel is not None),
        loss=_read_loss(estimator),
        solver=solver,
        max_iter=getattr(solver, "max_iter", estimator.max_iter),
        tol=getattr(solver, "tol", estimator.tol),
        linear_part=linear_part,
        refine=FINE if estimator.refine else None,
        noise=read_noise(estimator.noise),
        code_set=_read_constraint(estimator.constraint, widths[0]),
        rows=output_kernel is not None and vectors,
        init=init,
        start=start,
        decoder_kernels=_decoder_kernels(estimator.decoder_kernel, layers, linear_part, shortcut=regs["shortcut"]),
        choice_asked=estimator.reg is not None,
        kinds=output_kernel is None and linear_part == "free" and _default_kernels(estimator, facts),
    )
    return Settings(**asked)


def _default_kernels(estimator: BaseEstimator, facts: Facts) -> bool:
    """Whether items are rebuilt with the default kernels."""
    return facts["targets"] == "none" and is_auto(estimator.kernel, estimator.decoder_kernel)


def _read_widths(given: int | Sequence[int] | np.ndarray) -> tuple[int, ...]:
    widths = tuple(given) if isinstance(given, (tuple, list, np.ndarray)) else (given,)
    if not widths:
        raise InputError("n_components must be an integer >= 1 or a tuple of such; got an empty one")
    return tuple(check_count(p, "n_components") for p in widths)


def _check_numbers(estimator: BaseEstimator) -> None:
    check_choice(estimator.linear_part, "linear_part", ("auto", "kernel", "free"))
    check_count(estimator.n_init, "n_init")
    check_count(estimator.max_iter, "max_iter")
    check_number(estimator.tol, "tol", at_least=0.0)
    check_number(estimator.code_metric, "code_metric", at_least=0.0, at_most=1.0)
    if isinstance(estimator.reg, str) and estimator.reg != "auto":
        raise InputError(f"reg must be >= 0, one number or one per layer, or 'auto'; got {estimator.reg!r}")


def _read_regs(asked: str | float | Sequence[float] | None, widths: tuple[int, ...], facts: Facts) -> dict[str, Any]:
    """The regulariser of each layer, those that are compared, and whether hidden layers have shortcuts."""
    shortcut, p = facts.resolve("shortcut"), min(widths)
    facts = _facts_of_regs(facts, widths, shortcut=shortcut)
    chosen = isinstance(asked, str) or facts.resolve("compares")
    ends = facts.resolve("reg") if chosen or not shortcut else facts.resolve("reg")[:1] * 2
    between = ((math.inf if shortcut else 1e-3),) * (len(widths) - 1)
    every = tuple((first, *between, last) for first, last in ends)
    if not (isinstance(asked, str) or (asked is None and (chosen or shortcut))):
        return {"reg": _read_reg(asked, len(widths) + 1, every[0]), "shortcut": shortcut}
    return {"reg": every[0], "candidates": every[1:], "weaker": _weaker(ends[-1], p), "shortcut": shortcut}


def _facts_of_regs(facts: Facts, widths: tuple[int, ...], *, shortcut: bool) -> Facts:
    """The facts that regularisers depend on; hidden layers with shortcuts count as one."""
    p = min(widths)
    return facts.having(
        hidden="one" if shortcut or len(widths) == 1 else "several",
        components="two" if p <= 2 else "five" if p <= 5 else "more",
        refined="yes" if facts["refine"] == "yes" and facts["targets"] == "none" else "no",
    )


def _weaker(last: tuple[float, float], p: int) -> Any:
    """Weaker regularisers that are compared for many rows."""
    return WEAKER if last == (1e-4, 1e-5) and p > 2 else ()


def _read_constraint(given: Any, width: int) -> CodeSet | None:
    """The set of the codes by its name; see Esser et al. (2024), definition 3."""
    if isinstance(given, str) and given == "none":
        return None
    constraint = as_constraint(given)
    if isinstance(constraint, Sphere) and width < 2:
        raise InputError(
            "n_components must be >= 2 for constraint='sphere': in one dimension the sphere is {-1, 1} and codes "
            "cannot move"
        )
    return constraint


def _rebuilt(output_kernel: Kernel | None, kernel: Kernel) -> str:
    """What is rebuilt, as the table of combinations calls it."""
    if output_kernel is None or output_kernel == kernel:
        return "vectors" if output_kernel is None else "features"
    return "other features" if output_kernel.domain == kernel.domain else "features of other items"


def _output_kernel(given: Any, kernel: Kernel, *, targets: bool) -> Kernel | None:
    """The kernel whose features are rebuilt; None: vectors. Rows of a sparse matrix are features of a linear kernel."""
    width = kernel.row_width
    if given is None and width is not None:
        return None if targets else SparseRows(Linear(), width)
    if given is None:
        return None if kernel.domain == "vectors" else kernel
    with naming("output_kernel"):
        read = kernel if isinstance(given, str) and given == "same" else as_kernel(given)
        return read if width is None else on_sparse_rows(read, width)


def _decoder_kernels(given: Any, layers: int, linear_part: str, *, shortcut: bool) -> tuple[Kernel, ...]:
    many = tuple(given) if isinstance(given, (tuple, list)) else (given,) * (layers - 1)
    if len(many) != layers - 1:
        raise InputError(
            f"decoder_kernel must be one kernel or {layers - 1}, one for each of the layers 2..{layers}; "
            f"got {len(many)}"
        )
    kernels = []
    for layer, one in enumerate(many, 2):
        with naming("decoder_kernel"):
            like = 2 if shortcut and layer == layers else layers  # the last one as that of one hidden layer
            kernel = default_decoder_kernel(linear_part, like) if is_auto(one) else as_kernel(one)
        if kernel.domain != "vectors" or not kernel.differentiable:
            raise InputError(f"decoder_kernel must be a differentiable kernel on vectors; got {kernel!r}")
        probe = torch.zeros(2, 1, dtype=torch.float64)
        with naming("decoder_kernel"):
            resolved = kernel.resolve(probe)
        if resolved is not kernel:
            raise InputError(
                "decoder_kernel must have numbers for its bandwidths, since codes have no scale before fit; "
                f"got {kernel!r}"
            )
        kernels.append(kernel)
    return tuple(kernels)


def _read_loss(estimator: BaseEstimator) -> Loss:
    loss = as_loss(estimator.loss)
    if loss.of_targets:
        raise InputError(f"loss must be a function of the residual alone; got {loss!r}. Use Huber(1.0)")
    if not loss.automatic:
        loss.value(torch.zeros(1, 1, dtype=torch.float64))  # checks the parameters of the loss
    return loss


def _read_reg(given: Any, layers: int, default: tuple[float, ...]) -> tuple[float, ...]:
    if given is None:
        return default
    many = tuple(given) if isinstance(given, (tuple, list, np.ndarray)) else (given,) * layers
    if len(many) != layers:
        raise InputError(f"reg must be one number or {layers}, one per layer, encoder first; got {len(many)}")
    values = [check_number(r, "reg", at_least=0.0) for r in many]
    if max(values) > _LARGEST_REG:
        raise InputError(f"reg must be at most {_LARGEST_REG:g}, at which the codes vanish; got {max(values):g}")
    if values[-1] < _LEAST_REG:
        raise InputError(
            f"reg of the last layer must be at least {_LEAST_REG:g}, below which rounding exceeds the objective; got "
            f"{values[-1]:g}; try 1e-8"
        )
    return tuple(values)


def _read_start(
    init: str | np.ndarray, widths: tuple[int, ...], storage: Storage | str
) -> tuple[str, np.ndarray | None]:
    """The name of the start, and the codes to start from, if there are any."""
    given = isinstance(init, np.ndarray)
    if not given:
        check_choice(init, "init", ("kpca", "random", "uniform"))
    if (given or init == "uniform") and (len(widths) > 1 or storage != "dense"):
        raise InputError("init='uniform' and codes as init need one hidden layer and storage='dense'")
    if not isinstance(init, np.ndarray):
        return init, None
    codes = real_array(init, "init")
    if codes.ndim != 2 or codes.shape[1] != widths[0] or not np.isfinite(codes).all():
        raise InputError(
            f"init must be codes: a finite array of shape (n, {widths[0]}); got one of shape {codes.shape}"
        )
    return "codes", codes


def _read_operators(given: Any, layers: int, widths: tuple[int, ...], features: bool) -> tuple[np.ndarray | None, ...]:
    if given is None:
        return (None,) * layers
    if not isinstance(given, (tuple, list)) or len(given) != layers:
        raise InputError(f"operators must be a sequence of {layers} matrices or None, one per layer; got {given!r}")
    if features and given[-1] is not None:
        raise InputError(
            "operators of the last layer must be None when features are rebuilt: the output space has no finite basis"
        )
    sizes = (*widths, None)
    checked = []
    for index, (A, size) in enumerate(zip(given, sizes, strict=True)):
        checked.append(None if A is None else check_operator(A, f"operators[{index}]", size))
    return tuple(checked)
