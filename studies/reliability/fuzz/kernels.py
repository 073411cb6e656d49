"""Every public kernel: containers, symmetry, diagonal, order, batches, and hostile items and parameters."""

from __future__ import annotations

import traceback
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from rkhs import OperatorKernelRegressor
from rkhs._core.errors import InputError
from rkhs.kernels import (
    NTK,
    ArcCosine,
    Gaussian,
    GaussianOf,
    Kernel,
    Linear,
    Matern,
    MinMax,
    Precomputed,
    Separable,
    Tanimoto,
)
from studies.reliability.fuzz import values
from studies.reliability.fuzz.case import Answer, Case
from studies.reliability.fuzz.containers import choose, held, refused
from studies.reliability.fuzz.items import hostile_item, in_containers, raw_items
from studies.reliability.fuzz.schemas import hostile_value, own_parameters
from tests.contracts import kernel_examples
from tests.contracts.kernel_examples import EXAMPLES, INDEFINITE

READS = (
    r"reads|rows?\b|items?\b|values|array|dtype|must|at least|kernel|series|graph|peaks|bags?|cannot|is a|have|"
    r"rescale|numbers|data"
)


def walk(case: Case, kind: type[Kernel]) -> None:
    """One kernel of a class, on data of its domain."""
    kernel = case.one_of(EXAMPLES[kind])
    if case.chance(0.15):
        _hostile_parameter(case, kernel)
        return
    if kernel.domain == "objects":
        _on_objects(case, kernel)
    elif kernel.domain == "gram":
        K = values.gram_of(values.tame(case, 6, 3)) if case.chance(0.7) else values.gram_of(values.wild(case, 6, 3))
        _on_matrices(case, kernel, K, K[: int(case.rng.integers(1, 6))])
    else:
        n, d = values.size(case)
        d = 3 if _wants_three(kernel) else d
        # What overflows or is rounding inside a function of somebody else is none of the library's.
        borrowed = any(word in repr(kernel) for word in ("FromFunction", "FromSklearn"))
        make = values.tame if borrowed or case.chance(0.5) else values.wild
        X, Y = make(case, n, d), make(case, int(case.rng.integers(1, 6)), d)
        if isinstance(kernel, (MinMax, Tanimoto)) or "Tanimoto" in repr(kernel):
            X, Y = np.abs(X), np.abs(Y)
        _on_matrices(case, kernel, X, Y)


def _wants_three(kernel: Kernel) -> bool:
    words = ("OnColumns", "ScaledInputs", "FromModule", "Functional", "MixedTable")
    return any(word in repr(kernel) for word in words)


def _on_matrices(case: Case, kernel: Kernel, X: np.ndarray, Y: np.ndarray) -> None:
    own = case.call("k(X)", kernel, X, may_name=READS)
    cross = case.call("k(Y, X)", kernel, Y, X, may_name=READS) if kernel.domain == "vectors" else own
    if not own.answered:
        for name in choose(case, 3):
            given, meant = held(case, X, name)
            if meant.shape == X.shape and np.array_equal(meant, X):
                twin = case.call(f"k({name})", kernel, given, may_name=READS)
                case.expect(not (twin.good and twin.error is None), f"k(X) is refused and k({name}) is not")
        return
    _definitions(case, kernel, X, own)
    _gradients(case, kernel, X, own)
    for name in choose(case, 6):
        given, meant = held(case, X, name)
        _same(case, f"k({name})", lambda A: kernel(A), given, meant, kernel)
        if kernel.domain == "vectors" and cross.answered:
            given, meant = held(case, Y, name)
            _same(case, f"k({name}, X)", lambda A: kernel(A, X), given, meant, kernel, X)
    if kernel.domain == "vectors" and cross.answered:
        _rows(case, kernel, Y, X, cross.value, X)
    name, bad = refused(case, X)
    case.call(f"k({name})", kernel, bad, may_name=READS)
    case.call(f"k.diag({name})", kernel.diag, bad, may_name=READS)
    if kernel.domain == "vectors":
        case.call(f"k(X, {name})", kernel, X, bad, may_name=READS)


def _rounding(kernel: Kernel, X: Any, among: Any = None) -> float:
    """What rounding leaves of equal items less their mean: nothing but it may stand in a centred matrix.

    The items that the kernel takes its bandwidth from are ``among``, or else ``X``.

    And of a distance that is a difference of kernel values: a bandwidth of the size of the rounding makes it large.
    """
    if isinstance(kernel, GaussianOf):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            known = kernel.resolve(kernel.read(X if among is None else among))
        sizes = known.base._diag(kernel.read(X))  # infinite ones are refused only where they are asked for
        return min(1.0, 16.0 * known.gamma * float(torch.finfo(sizes.dtype).eps * sizes.max()))
    return 0.0


def _of_angles(kernel: Kernel) -> float:
    """What rounding does to kernels of angles: small angles are lost to the root of the precision.

    A step function takes this root once more in every layer.
    """
    parts: list[Any] = [kernel]
    lost = 0.0
    while parts:
        part = parts.pop()
        if isinstance(part, (ArcCosine, NTK)):
            roots = part.depth if getattr(part, "order", 1) == 0 else 1
            lost = max(lost, (16.0 * 2.3e-16) ** (0.5**roots))
        below = part if isinstance(part, (tuple, list)) else ()
        if isinstance(part, Kernel):
            below = part.get_params(deep=False).values()
        parts += [one for one in below if isinstance(one, (Kernel, tuple, list))]
    return lost


def _gradients(case: Case, kernel: Kernel, X: np.ndarray, own: Answer) -> None:
    """A tensor that asks for gradients is refused, and is read where nobody asks for them."""
    given = torch.from_numpy(X.copy()).requires_grad_()
    refusal = case.call("k(tensor with gradient)", kernel, given, must_name="detach")
    case.expect(refusal.error is not None, "k(tensor with gradient) gives values without their gradients")
    with torch.no_grad():
        found = case.call("k(tensor with gradient) without recording", kernel, given)
    if found.answered:
        case.agree("k(tensor with gradient) without recording", found.value, own.value, rtol=1e-12)


def _same(
    case: Case,
    what: str,
    function: Callable[[Any], Any],
    given: Any,
    meant: np.ndarray,
    kernel: Kernel,
    among: Any = None,
) -> None:
    """A container gives what the plain array gives that it means."""
    dtype = given.dtype if isinstance(given, torch.Tensor) else np.asarray(given).dtype  # a frame has none of its own
    single = str(dtype).endswith(("float32", "f4"))
    plain = case.call(f"{what}, plain", function, meant.astype("f4") if single else meant, may_name=READS)
    found = case.call(what, function, given, may_name=READS)
    if not plain.good or not found.good:
        return
    if plain.answered != found.answered:
        case.fail("disagreement", f"{what}: {found.error or 'answered'}; the plain array: {plain.error or 'answered'}")
    elif plain.answered:
        left = _rounding(kernel, meant.astype("f4") if single else meant, among)
        case.agree(what, found.value, plain.value, rtol=1e-5 if single else 1e-9, atol=left)
        case.expect(isinstance(found.value, torch.Tensor) == isinstance(given, torch.Tensor), f"{what}: container")


def _definitions(case: Case, kernel: Kernel, X: Any, own: Answer) -> None:
    """Symmetry, the diagonal, and eigenvalues that are not negative."""
    K = np.asarray(own.value)
    left = _rounding(kernel, X)
    case.agree("k(X) is symmetric", K, K.T, rtol=1e-12)
    diagonal = case.call("k.diag(X)", kernel.diag, X, may_name=READS)
    if diagonal.answered and not isinstance(kernel, Precomputed):
        case.agree("k.diag(X) is the diagonal", diagonal.value, K.diagonal(), rtol=1e-9, atol=left)
    if kernel.known_psd and not isinstance(kernel, INDEFINITE) and kernel.domain != "gram":
        least = float(np.linalg.eigvalsh(K / max(float(np.abs(K).max()), 1e-300)).min())
        limit = 1e-8 + _of_angles(kernel) + left / max(float(np.abs(K).max()), 1e-300)
        case.expect(least > -limit * len(K), f"k(X) has the eigenvalue {least:.3g} of a largest entry of one")


def _rows(case: Case, kernel: Kernel, Y: Any, X: Any, whole: np.ndarray, context: Any) -> None:
    """Order and batches of the rows of ``k(Y, X)`` do not matter."""
    order = case.rng.permutation(len(Y))
    turned = [Y[i] for i in order] if isinstance(Y, list) else Y[order]
    found = case.call("k(Y, X) in another order", kernel, turned, X, may_name=READS)
    # Kernel values are at most the root of the product of those of the two rows, and rounding is a share of that.
    rounding = max(1e-14, _of_angles(kernel)) * float(np.sqrt(_largest(kernel, Y) * _largest(kernel, X)))
    loose = 1e-7 if values.is_tame(np.asarray(whole)) or isinstance(Y, list) else 1e-6
    if found.answered:
        case.agree("k(Y, X) in another order", found.value, whole[order], rtol=loose, atol=rounding)
    row = int(case.rng.integers(len(Y)))
    one = case.call("k(one row, X)", kernel, Y[row : row + 1], X, may_name=READS)
    if one.answered:
        case.agree(
            "k(one row, X)", one.value, whole[row : row + 1], rtol=0.0, atol=loose * values.typical(whole) + rounding
        )


def _largest(kernel: Kernel, items: Any) -> float:
    """Largest ``k(x, x)``; zero where it cannot be had."""
    try:
        return float(np.abs(np.asarray(kernel.diag(items), dtype=float)).max(initial=0.0))
    except Exception:  # a refusal is judged elsewhere
        return 0.0


def _on_objects(case: Case, kernel: Kernel) -> None:
    items = raw_items(case, kernel, int(case.rng.integers(1, 8)))
    own = case.call("k(items)", kernel, items, may_name=READS)
    if not own.answered:
        return
    _definitions(case, kernel, items, own)
    for name, given in in_containers(case, items).items():
        found = case.call(f"k({name})", kernel, given, may_name=READS)
        if found.good and found.error is not None:
            case.fail("disagreement", f"k({name}) is refused and the list is not: {found.error}")
        elif found.answered:
            case.agree(f"k({name})", found.value, own.value, rtol=1e-9)
    more = items + raw_items_like(case, kernel, items)
    cross = case.call("k(Y, X)", kernel, items, more, may_name=READS)
    if cross.answered:
        _rows(case, kernel, items, more, np.asarray(cross.value), more)
    bad = [*items, hostile_item(case)]
    case.call("k(with a hostile item)", _fairly(kernel), bad, may_name=READS)
    case.call("k.diag(with a hostile item)", _fairly(kernel.diag), bad, may_name=READS)
    name, given = refused(case, np.ones((3, 2)))
    case.call(f"k({name})", _fairly(kernel), given, may_name=READS)


def _fairly(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """What a function of the user raises by itself is the user's: only the library's own errors are judged."""

    def call(items: Any) -> Any:
        try:
            return function(items)
        except Exception as error:
            if any(frame.filename == kernel_examples.__file__ for frame in traceback.extract_tb(error.__traceback__)):
                raise InputError(f"the function cannot read these items: {error}") from error
            raise

    return call


def raw_items_like(case: Case, kernel: Kernel, items: list[Any]) -> list[Any]:
    """More items that go with the given ones: some of these again."""
    return [items[int(case.rng.integers(len(items)))] for _ in range(2)]


def _hostile_parameter(case: Case, kernel: Kernel) -> None:
    params = own_parameters(type(kernel))
    if not params:
        return
    chosen = case.one_of(params)
    given = hostile_value(case, chosen)
    if chosen == "function" and callable(given):  # a user's function raises what it raises
        return
    made = case.call(
        f"{type(kernel).__name__}({chosen}={given!r:.60})",
        lambda: type(kernel)(**{**kernel.get_params(deep=False), chosen: given}),
        may_name=chosen,
        finite=False,  # a kernel holds what it was given until it is used
    )
    if not made.answered:
        return
    hostile = made.value
    domain = case.call("domain", lambda: hostile.domain, must_name=rf"\b{chosen}\b|[A-Z]\w+\.\w+", finite=False)
    if not domain.answered:
        return
    if domain.value == "objects":
        X: Any = raw_items(case, kernel, 4)
    elif domain.value == "gram":
        X = values.gram_of(values.tame(case, 5, 3))
    else:
        X = np.abs(values.tame(case, 5, 3))
    wanted = rf"\b{chosen}\b|[A-Z]\w+\.\w+|{READS}"
    case.call(f"k(X) with {chosen}={given!r:.60}", _fairly(hostile), X, must_name=wanted)
    case.call(f"k.diag(X) with {chosen}={given!r:.60}", _fairly(hostile.diag), X, must_name=wanted)
    case.call(f"repr with {chosen}={given!r:.60}", repr, hostile, must_name=wanted)


def operator_walk(case: Case) -> None:
    """Regression with sums of kernels times operators, good ones and hostile ones."""
    q = int(case.rng.integers(1, 4))
    n = int(case.rng.integers(3, 9))
    X, Y, new = values.tame(case, n, 3), values.tame(case, n, q), values.tame(case, 2, 3)
    root = values.tame(case, q, q)
    operator: Any = case.one_of([None, root @ root.T, np.eye(q), "covariance"])
    if case.chance(0.3):
        operator = case.one_of(
            [hostile_value(case, "operator"), -np.eye(q), root + 10.0, np.eye(q + 1), refused(case, root)[1]]
        )
    first = Separable(case.one_of([Gaussian(), Linear()]), operator)
    whole = first if case.chance(0.5) else first + Separable(Matern(), np.eye(q))
    model = OperatorKernelRegressor(whole, loss=case.one_of(["squared", "huber"]), max_iter=100)
    words = r"operator|kernel|Separable|numbers"
    if not case.call(f"fit with {operator!r:.60}", model.fit, X, Y, may_name=words).answered:
        return
    found = case.call("predict", model.predict, new)
    turned = case.call("predict in another order", model.predict, new[::-1])
    if found.answered and turned.answered:
        case.agree("predict in another order", turned.value, found.value[::-1], rtol=1e-9)


def subjects() -> dict[str, Callable[[Case], None]]:
    """Every public kernel that has an example."""
    named = {"Separable": operator_walk}
    return {kind.__name__: (lambda case, kind=kind: walk(case, kind)) for kind in EXAMPLES} | named
