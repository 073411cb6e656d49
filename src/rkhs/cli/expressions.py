"""Kernels and other objects written on the command line: ``gaussian(gamma=0.5) + 0.1 * linear``.

The text is parsed by Python's grammar and rebuilt from a fixed table of classes; nothing in it is executed.
"""

from __future__ import annotations

import ast
import importlib
import inspect
from contextlib import suppress
from functools import cache
from typing import Any

from rkhs import kernels
from rkhs._core.config import Configurable, is_concrete
from rkhs._core.errors import InputError, nearest, quote

_PACKAGES = ("kernels", "constraints", "losses", "features", "solvers", "augment", "engines")
_MAX_LENGTH = 2000


@cache
def _classes(constraint: bool = False) -> dict[str, Any]:
    """Lower-case name to what makes it, for all that a parameter may be; a ball is a loss, or a constraint."""
    from rkhs.kernels.registry import kernels_by_name

    table: dict[str, Any] = {_key(name): make for name, make in kernels_by_name().items()}
    for package in (*_PACKAGES, *(("constraints",) if constraint else ())):
        module = importlib.import_module(f"rkhs.{package}")
        for name in module.__all__:
            value = getattr(module, name)
            if inspect.isclass(value) and issubclass(value, Configurable) and is_concrete(value):
                table[_key(name)] = value
    return table


def _key(name: str) -> str:
    return name.lower().replace("_", "").replace("-", "")


def _parse(text: str, what: str) -> ast.expr | None:
    if len(text) > _MAX_LENGTH:
        raise InputError(f"{what} must have at most {_MAX_LENGTH} characters; got {len(text)}; write a script instead")
    with suppress(SyntaxError, ValueError, RecursionError, MemoryError):
        return ast.parse(text.strip(), mode="eval").body
    return None


def parse_kernel(text: str) -> Any:
    """Return the kernel that a text describes."""
    if text.strip() in ("auto", "precomputed"):
        return text.strip()
    tree = _parse(text, "--kernel")
    if tree is None:
        raise InputError(
            f"--kernel must read like 'gaussian(gamma=0.5) + 0.1*linear'; got {text!r}, which does not parse"
        )
    value = _build(tree, "--kernel")
    if not isinstance(value, kernels.Kernel):
        raise InputError(f"--kernel must describe a kernel; got {text!r}; for example 'gaussian(gamma=0.5)'")
    return value


def parse_setting(text: str) -> tuple[str, Any]:
    """Split ``param=value`` of ``--set``."""
    name, sign, value = text.partition("=")
    if not sign or not name.strip().isidentifier():
        raise InputError(f"--set must read param=value; got {text!r}; for example --set max_iter=1000")
    return name.strip(), parse_value(value, f"--set {name.strip()}")


def parse_value(text: str, what: str) -> Any:
    """Return a Python literal, an object such as ``matern(nu=1.5)`` or ``huber(0.1)``, or else the text itself."""
    tree = _parse(text, what)
    if isinstance(tree, (ast.Call, ast.BinOp, ast.Tuple, ast.List)):
        return _build(tree, what)
    with suppress(SyntaxError, ValueError, RecursionError, MemoryError, TypeError):
        return text if tree is None else ast.literal_eval(tree)
    return text


def _build(node: ast.expr, what: str) -> Any:
    """Objects from a syntax tree: numbers, texts, names and calls of known classes, +, * and sequences."""
    with suppress(ValueError, TypeError, SyntaxError, RecursionError):
        return ast.literal_eval(node)
    match node:
        case ast.Name(id=name):
            return _find(name, what)()
        case ast.Call(func=ast.Name(id=name)):
            return _call(node, _find(name, what), what)
        case ast.BinOp(op=ast.Add() | ast.Mult()):
            return _combined(node, what)
        case ast.Dict(keys=keys):
            return _dictionary(keys, node.values, what)
        case ast.Tuple(elts=items) | ast.List(elts=items):
            built = [_build(item, what) for item in items]
            return tuple(built) if isinstance(node, ast.Tuple) else built
    raise InputError(
        f"{what}: {_spelled(node)} is not understood; expected names, numbers, texts, +, * and name(parameter=value)"
    )


def _dictionary(keys: list[ast.expr | None], values: list[ast.expr], what: str) -> dict[Any, Any]:
    found = {}
    for key, value in zip(keys, values, strict=True):
        if not isinstance(key, (ast.Name, ast.Constant)):
            raise InputError(f"{what}: keys in braces are names or numbers; write {{gamma: 2}}")
        found[key.id if isinstance(key, ast.Name) else key.value] = _argument(value, what)
    return found


def _combined(node: ast.BinOp, what: str) -> Any:
    left, right = _build(node.left, what), _build(node.right, what)
    # Of lists and texts a product would be as long as the number says.
    known = all(isinstance(part, (Configurable, int, float)) for part in (left, right))
    with suppress(TypeError, OverflowError):
        if known:
            return left + right if isinstance(node.op, ast.Add) else left * right
    raise InputError(f"{what}: {_spelled(node)} cannot be combined; kernels add and multiply")


def _spelled(node: ast.expr) -> str:
    try:
        return quote(ast.unparse(node))
    except RecursionError:
        return "an expression nested too deeply"


def _find(name: str, what: str) -> Any:
    known = _classes(what == "--set constraint")
    if _key(name) in known:
        return known[_key(name)]
    of_kernels = [key for key, make in known.items() if not inspect.isclass(make) or issubclass(make, kernels.Kernel)]
    near = nearest(_key(name), of_kernels if what == "--kernel" else known)
    hint = f"did you mean {near}?" if near else "rkhs fit --help lists the kernels."
    advice = " For a kernel of your own write its Gram matrix to a file and pass that with --gram"
    raise InputError(f"{what}: {name!r} is not the name of a kernel or another object of rkhs; {hint}{advice}")


def _call(node: ast.Call, cls: Any, what: str) -> Any:
    if any(isinstance(argument, ast.Starred) for argument in node.args) or any(k.arg is None for k in node.keywords):
        raise InputError(f"{what}: {_spelled(node)} is not understood; write out each parameter")
    words = cls.__name__ == "FromSklearn"  # its rbf and linear are names of scikit-learn
    positional = [_argument(argument, what, words) for argument in node.args]
    named = {keyword.arg: _argument(keyword.value, what, words) for keyword in node.keywords if keyword.arg is not None}
    try:
        inspect.signature(cls).bind(*positional, **named)
    except TypeError as error:
        takes = ", ".join(inspect.signature(cls).parameters) or "no parameters"
        raise InputError(f"{what}: {_spelled(node)}: {error}; {cls.__name__} takes {takes}") from error
    return cls(*positional, **named)


def _argument(node: ast.expr, what: str, words: bool = False) -> Any:
    # A shell eats quotes: gaussian(gamma=median) means gaussian(gamma="median").
    if isinstance(node, ast.Name) and (words or _key(node.id) not in _classes(what == "--set constraint")):
        return node.id
    return _build(node, what)
