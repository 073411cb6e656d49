"""What every kernel guarantees: values, diagonal, reading, parameters, gradients."""

from __future__ import annotations

import numbers
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from rkhs._core.codec import Decoder, Encoder
from rkhs._core.errors import InputError, RkhsError
from rkhs._core.linalg import Outer
from rkhs.kernels import Kernel
from rkhs.testing.base import BrokenPromise, close, concerns, keep, parameters_are_the_object, require, taylor

_FEWEST = 6


def check_kernel(kernel: Kernel, items: Any) -> tuple[str, ...]:
    """Check that a kernel keeps the guarantees that estimators build on.

    Parameters
    ----------
    kernel : Kernel
        An instance, with any parameters; try several.
    items : array of shape (n, d), Gram matrix (n, n), or list of n objects
        At least six different items as the kernel reads them; some twenty are a good choice.

    Returns
    -------
    tuple of str
        The guarantees that were kept, in words; one that does not concern the kernel, such as gradients of a kernel
        that has none, is not among them.

    Raises
    ------
    BrokenPromise
        Naming the first guarantee that is broken, and by how much.
    InputError
        For fewer than six items, and for parameters or items that the kernel itself refuses.

    Notes
    -----
    ``O(n^2)`` kernel values some thirty times; gradients take four Gram matrices each.

    References
    ----------
    Scholkopf and Smola (2002), chapter 2; ``docs/user/add_a_kernel.md``.

    Examples
    --------
    >>> import numpy as np
    >>> from rkhs.kernels import Gaussian
    >>> from rkhs.testing import check_kernel
    >>> len(check_kernel(Gaussian(), np.random.default_rng(0).normal(size=(12, 2))))
    11
    """
    if not isinstance(kernel, Kernel):
        raise InputError(f"kernel must be an instance of rkhs.kernels.Kernel; got a {type(kernel).__name__}")
    if len(items) < _FEWEST:
        raise InputError(f"items must hold at least {_FEWEST} items; got {len(items)}")
    X = _accepted(kernel.read, items)
    X = X.to(torch.float64) if isinstance(X, Tensor) else X
    _accepted(kernel.resolve, X)
    checks: dict[Callable[..., None], tuple[Any, ...]] = {
        parameters_are_the_object: (kernel,),
        _resolving_gives_numbers_once: (kernel, X),
        _bad_parameters_are_refused_by_name: (kernel, items),
        _gram_is_symmetric_with_its_diagonal: (kernel, X),
        _gram_is_positive_semi_definite: (kernel, X),
        _pairs_do_not_depend_on_the_others: (kernel, X),
        _results_are_new_and_items_stay: (kernel, X),
        _one_item_and_equal_items_are_fine: (kernel, X),
        _containers_and_single_precision_agree: (kernel, items),
        _gradients_are_gradients: (kernel, X),
        _its_parameters_rebuild_it: (kernel, X),
    }
    return keep(kernel, checks)


def _accepted(method: Callable[[Any], Any], items: Any) -> Any:
    """Call a method of the kernel on the items; a refusal is an InputError, not a broken guarantee."""
    try:
        return method(items)
    except RkhsError as error:
        raise InputError(
            f"the kernel refuses its parameters or these items: {error}. This may be right; check_kernel needs "
            "parameters and items that the kernel accepts"
        ) from error


def _resolving_gives_numbers_once(kernel: Kernel, X: Any) -> None:
    resolved = kernel.resolve(X)
    require(isinstance(resolved, Kernel), f"resolve() must return a kernel; got {resolved!r}")
    require(resolved.resolve(X) is resolved, "resolve() of a resolved kernel must return the kernel itself")


def _bad_parameters_are_refused_by_name(kernel: Kernel, items: Any) -> None:
    """NaN and an unknown word, in place of a number or of a rule for one, are errors that name the parameter."""
    params, resolved = kernel.get_params(deep=False), kernel.resolve(kernel.read(items)).get_params(deep=False)
    for name, value in resolved.items():
        if isinstance(value, bool) or not isinstance(value, numbers.Real):
            continue
        for bad in (float("nan"), "no such value"):
            try:
                type(kernel)(**{**params, name: bad})(items)
            except RkhsError as error:
                require(name in str(error), f"the error for {name}={bad!r} must name it; it says: {error}")
            except Exception as error:
                raise BrokenPromise(
                    f"{name}={bad!r} must be an InputError that names it; got {type(error).__name__}: {error}"
                ) from error
            else:
                raise BrokenPromise(f"{name}={bad!r} must be an InputError that names it; it was accepted")


def _gram_is_symmetric_with_its_diagonal(kernel: Kernel, X: Any) -> None:
    k = kernel.resolve(X)
    K = k._gram(X)
    require(K.shape == (len(X), len(X)), f"_gram(X) must have shape ({len(X)}, {len(X)}); got {tuple(K.shape)}")
    require(bool(torch.isfinite(K).all()), "_gram(X) must be finite")
    close(K, K.mT, 1e-12, "_gram(X) and its transpose")
    close(k._diag(X), K.diagonal(), 1e-11, "_diag(X) and the diagonal of _gram(X)")
    close(k._gram(X, X), K, 3e-8, "_gram(X, X) and _gram(X)")  # arc cosines near 1 lose half of the digits


def _gram_is_positive_semi_definite(kernel: Kernel, X: Any) -> None:
    k = kernel.resolve(X)
    concerns(k.known_psd)
    K = k._gram(X).to(torch.float64)
    least, scale = float(torch.linalg.eigvalsh(K)[0]), float(K.abs().max())
    require(
        least >= -1e-10 * len(X) * max(scale, 1e-300),
        f"the smallest eigenvalue of a Gram matrix is {least:.2e} next to entries of {scale:.2e}; "
        "a kernel that may be indefinite declares known_psd = False",
    )


def _pairs_do_not_depend_on_the_others(kernel: Kernel, X: Any) -> None:
    k, n = kernel.resolve(X), len(X)
    concerns(k.domain != "gram")
    K, order = k._gram(X), np.arange(n)[::-1]
    off = ~torch.eye(n, dtype=torch.bool)
    part = k._gram(_pick(X, [0, 1]), X)
    close(part[off[:2]], K[:2][off[:2]], 1e-11, "rows of _gram(X[:2], X) and of _gram(X)")
    turned = k._gram(_pick(X, order), X)
    index = torch.as_tensor(order.copy())
    close(turned[off[index]], K[index][off[index]], 1e-11, "rows of _gram of reversed items")
    close(k._gram(_pick(X, [2, 3]), _pick(X, [0, 1])), part[:, 2:4].mT, 1e-11, "_gram(X, Y) and _gram(Y, X)^T")


def _results_are_new_and_items_stay(kernel: Kernel, X: Any) -> None:
    before = _snapshot(X)
    k = kernel.resolve(X)
    expected = k._gram(X).clone()
    k._gram(X).zero_()
    k._diag(X).zero_()
    require(_snapshot(X) == before, "_gram and _diag must return new tensors: writing into a result changed the items")
    require(torch.equal(k._gram(X), expected), "writing into a result changed later results of the kernel")


def _one_item_and_equal_items_are_fine(kernel: Kernel, X: Any) -> None:
    concerns(kernel.domain != "gram")
    for name, rows in (("one item", [0]), ("equal items", [0, 0, 0, 0, 1, 2])):
        few = _pick(X, rows)
        k = kernel.resolve(few)
        K = k._gram(few)
        require(bool(torch.isfinite(K).all()), f"kernel values of {name} must be finite")
        if k.known_psd:
            least = float(torch.linalg.eigvalsh(K.to(torch.float64))[0])
            require(least >= -1e-9 * float(K.abs().max() + 1), f"{name} have an eigenvalue of {least:.2e}")
        if k.differentiable:
            S = torch.ones(len(rows), len(rows), dtype=torch.float64)
            require(bool(torch.isfinite(k.pullback(few, S)).all()), f"gradients of {name} must be finite")


def _containers_and_single_precision_agree(kernel: Kernel, items: Any) -> None:
    concerns(kernel.domain == "vectors")
    array = np.asarray(items.detach().cpu() if isinstance(items, Tensor) else items, dtype=np.float64)
    exact = torch.from_numpy(np.asarray(kernel(array)))
    for name, given in (("a list", array.tolist()), ("Fortran order", np.asfortranarray(array))):
        close(torch.from_numpy(np.asarray(kernel(given))), exact, 1e-12, f"kernel values from {name} and an array")
    tensor = kernel(torch.from_numpy(array))
    require(isinstance(tensor, Tensor), f"a tensor in must give a tensor out; got a {type(tensor).__name__}")
    close(tensor, exact, 1e-12, "kernel values from a tensor and an array")
    single = kernel(torch.from_numpy(array).to(torch.float32))
    require(single.dtype == torch.float32, f"float32 in must give float32 out; got {single.dtype}")
    close(single, exact.to(torch.float32), 2e-3, "kernel values in single and double precision")


def _gradients_are_gradients(kernel: Kernel, X: Any) -> None:
    concerns(kernel.differentiable and kernel.domain == "vectors")
    # Resolved on other items than those that move: a centred kernel may have a kink where it was resolved.
    X, Y = X[: (len(X) + 1) // 2], X[-3:]
    k = kernel.resolve(Y)
    rng, n = np.random.default_rng(0), len(X)
    S, C = (torch.from_numpy(rng.normal(size=shape)) for shape in ((n, n), (n, 3)))
    s, left, right = (torch.from_numpy(rng.normal(size=shape)) for shape in ((n,), (n, 2), (n, 2)))
    taylor(lambda T: float((k._gram(T) * S).sum()), X, k.pullback(X, S), 0, "pullback(X, S)")
    taylor(lambda T: float((k._gram(T, Y) * C).sum()), X, k.cross_pullback(X, Y, C), 1, "cross_pullback(X, Y, S)")
    taylor(lambda T: float((k._diag(T) * s).sum()), X, k.diag_pullback(X, s), 2, "diag_pullback(X, s)")
    expected = k.pullback(X, left @ right.mT)
    close(k.pullback(X, Outer(left, right)), expected, 1e-9, "pullback of an Outer and of its dense matrix")
    close(k.pullback(X, left @ right.mT, k._gram(X)), expected, 1e-9, "pullback with and without the Gram matrix")
    K, pull = k.gram_and_pullback(X)
    close(K, k._gram(X), 1e-11, "the Gram matrix of gram_and_pullback")
    close(pull(Outer(left, right)), expected, 1e-9, "the gradient of gram_and_pullback")


def _its_parameters_rebuild_it(kernel: Kernel, X: Any) -> None:
    """The kernel built from the numbers, texts and arrays of its parameters has the same values."""
    k, arrays = kernel.resolve(X), dict[str, np.ndarray]()
    known: dict[str, type] = {}

    def name_of(cls: type) -> str:
        known[cls.__qualname__] = cls
        return cls.__qualname__

    try:
        described = Encoder(arrays, name_of).encode(k)
    except InputError as error:
        concerns("Python functions" not in str(error))  # which cannot be stored
        raise
    back = Decoder(arrays, known.__getitem__, 2**30).decode(described)
    require(back == k, "a kernel built from the parameters must be equal to the original")
    require(
        torch.equal(back._gram(X, X), k._gram(X, X)), "a kernel built from the parameters must have the same values"
    )


def _pick(X: Any, rows: Any) -> Any:
    return X[torch.as_tensor(np.asarray(rows).copy())] if isinstance(X, Tensor) else [X[i] for i in rows]


def _snapshot(X: Any) -> str:
    return repr([item.tolist() if isinstance(item, (Tensor, np.ndarray)) else item for item in X])
