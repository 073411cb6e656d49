"""The rules of the house, checked on every file and every public name; nothing is listed by hand."""

from __future__ import annotations

import ast
import enum
import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

import pytest

import rkhs

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "rkhs"
SOURCES = sorted(PACKAGE.rglob("*.py"))
TESTS = sorted((ROOT / "tests").rglob("*.py"))

# The packages whose public names are mathematics: formulas there come from somewhere and say from where.
MATHEMATICS = [
    "augment",
    "constraints",
    "estimators",
    "features",
    "grams",
    "kernels",
    "losses",
    "metrics",
    "outputs",
    "problems",
    "selection",
    "solvers",
]


def name_of(path: Path) -> str:
    """Readable parameter ids: paths below the root."""
    return path.relative_to(ROOT).as_posix()


# ---------------------------------------------------------------- files


def own_lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Count the lines of a function, its docstring left out: formulas and examples may be as long as they need."""
    lines = (function.end_lineno or function.lineno) - function.lineno + 1
    if ast.get_docstring(function) is not None:
        text = function.body[0]
        lines -= (text.end_lineno or text.lineno) - text.lineno + 1
    return lines


def functions(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


@pytest.mark.parametrize("path", [*SOURCES, *TESTS], ids=name_of)
def test_files_and_functions_stay_short(path: Path) -> None:
    text = path.read_text()
    assert len(text.splitlines()) <= 400, "a file has at most 400 lines: split it by idea"
    long = [f"{f.name}: {own_lines(f)}" for f in functions(ast.parse(text)) if own_lines(f) > 60]
    assert not long, f"a function has at most 60 lines beside its docstring; got {long}"


def test_no_file_is_named_for_leftovers() -> None:
    leftovers = {"utils", "util", "helpers", "misc", "common"}
    assert not [name_of(path) for path in SOURCES if path.stem.strip("_") in leftovers]


def test_no_numbered_variants() -> None:
    assert not [name_of(path) for path in SOURCES if re.search(r"(_v?\d+|_(old|new))$", path.stem)]


def is_abstract(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return any(ast.unparse(d).split(".")[-1] in ("abstractmethod", "overload") for d in function.decorator_list)


def protocol_methods(tree: ast.AST) -> set[ast.AST]:
    classes = (node for node in ast.walk(tree) if isinstance(node, ast.ClassDef))
    return {m for c in classes if any("Protocol" in ast.unparse(b) for b in c.bases) for m in c.body}


@pytest.mark.parametrize("path", SOURCES, ids=name_of)
def test_nothing_is_left_to_be_done(path: Path) -> None:
    text = path.read_text()
    marks = re.findall(r"\b(?:TO" + "DO|FIX" + r"ME|XX" + r"X|HACK)\b", text)
    assert not marks, f"unfinished work is an issue, not a comment; got {marks}"
    tree = ast.parse(text)
    declared = protocol_methods(tree)
    for function in functions(tree):
        if is_abstract(function) or function in declared:
            continue
        body = [
            node for node in function.body if not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))
        ]
        is_doc_only = not body and not any(
            isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and node.value.value is ...
            for node in function.body
        )
        assert is_doc_only or not all(isinstance(node, ast.Pass) for node in body), f"{function.name} is a stub"
        raised = [node.exc for node in ast.walk(function) if isinstance(node, ast.Raise) and node.exc is not None]
        stubs = [ast.unparse(exc) for exc in raised if "NotImplementedError" in ast.unparse(exc)]
        assert not stubs, f"{function.name} raises {stubs}: make it abstract, or write it"


def unconditional_skips(tree: ast.Module) -> Iterator[int]:
    """Line numbers of skips that no condition guards: skip marks, and skip calls that stand directly in a body."""
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Attribute)
            and node.attr == "skip"
            and ast.unparse(node.value).endswith(("mark", "unittest"))
        ):
            yield node.lineno
    for body in (tree.body, *(function.body for function in functions(tree))):
        calls = (node.value for node in body if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call))
        yield from (call.lineno for call in calls if ast.unparse(call.func) in ("pytest.skip", "skip", "self.skipTest"))


@pytest.mark.parametrize("path", TESTS, ids=name_of)
def test_no_test_is_skipped_without_a_condition(path: Path) -> None:
    assert not list(unconditional_skips(ast.parse(path.read_text())))


# ---------------------------------------------------------------- public names


def public_modules() -> list[str]:
    walked = pkgutil.walk_packages(rkhs.__path__, "rkhs.")
    return [info.name for info in walked if not any(part.startswith("_") for part in info.name.split("."))]


def public_objects() -> Iterator[tuple[str, object]]:
    """Every class and function in an ``__all__``, under the name a user writes."""
    for module_name in ["rkhs", *public_modules()]:
        module = importlib.import_module(module_name)
        for name in getattr(module, "__all__", ()):
            if module is rkhs and name in rkhs._NAMES and find_spec_or_none(rkhs._NAMES[name]) is None:
                continue  # test_every_public_name_resolves decides about these
            if module is rkhs and name in rkhs._SUBMODULES:
                continue
            value = getattr(module, name)
            if inspect.isclass(value) or inspect.isroutine(value):
                yield f"{module_name}.{name}", value


def find_spec_or_none(module: str) -> object | None:
    try:
        return find_spec(module)
    except ModuleNotFoundError:
        return None


def test_every_public_name_resolves() -> None:
    for name, module in {**rkhs._NAMES, **{name: f"rkhs.{name}" for name in rkhs._SUBMODULES}}.items():
        if find_spec_or_none(module) is None:
            assert not (PACKAGE / "estimators").exists(), f"rkhs.{name} is promised and {module} does not exist"
        else:
            assert getattr(rkhs, name) is not None
            assert name in dir(rkhs)


def test_type_checkers_see_what_users_import() -> None:
    tree = ast.parse((PACKAGE / "__init__.py").read_text())
    guarded = [node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"]
    imports = [node for block in guarded for node in block.body if isinstance(node, ast.ImportFrom)]
    seen = {alias.asname or alias.name for node in imports for alias in node.names}
    existing = {name for name, module in rkhs._NAMES.items() if find_spec_or_none(module) is not None}
    existing |= {name for name in rkhs._SUBMODULES if find_spec_or_none(f"rkhs.{name}") is not None}
    assert not existing - seen, "imported lazily and not under TYPE_CHECKING in rkhs/__init__.py"


def test_an_unknown_name_is_refused_with_the_known_ones() -> None:
    with pytest.raises(AttributeError, match=r"'Nothing'; the public names are .*KernelAutoencoder"):
        _ = rkhs.Nothing


@pytest.mark.parametrize("module_name", public_modules())
def test_every_public_module_is_documented_and_packages_list_their_names(module_name: str) -> None:
    module: ModuleType = importlib.import_module(module_name)
    assert (module.__doc__ or "").strip(), "a module says in its first line what idea it holds"
    if hasattr(module, "__path__"):
        assert hasattr(module, "__all__"), "a package lists its public names in __all__"


def own_doc(value: object) -> str:
    """Return the cleaned docstring written for this object itself; the one that a dataclass invents counts as none."""
    if not inspect.isclass(value):
        return inspect.getdoc(value) or ""
    doc = inspect.cleandoc(value.__dict__.get("__doc__") or "")
    return "" if doc.startswith(f"{value.__name__}(") else doc


def sections(doc: str) -> dict[str, str]:
    """Split a numpy-style docstring into its sections."""
    parts = re.split(r"^([A-Z][\w ]+)\n-{3,}$", doc, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def parameters(value: object) -> list[str]:
    """Names of the parameters a caller may pass."""
    if inspect.isclass(value) and value.__init__ is object.__init__:
        return []
    function = value.__init__ if inspect.isclass(value) else value
    names = list(inspect.signature(function).parameters.values())
    variadic = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return [p.name for p in names if p.name not in ("self", "cls") and p.kind not in variadic]


def is_mathematics(value: object) -> bool:
    package = getattr(value, "__module__", "").split(".")
    return len(package) > 1 and package[0] == "rkhs" and package[1] in MATHEMATICS


def is_plain(value: object) -> bool:
    """Exceptions, enums and protocols explain themselves in words."""
    if not inspect.isclass(value):
        return False
    return issubclass(value, BaseException | enum.Enum) or getattr(value, "_is_protocol", False)


def methods(cls: type) -> Iterator[tuple[str, object]]:
    """Public methods and properties that this library wrote, inherited ones included."""
    for name in dir(cls):
        member = inspect.getattr_static(cls, name)
        inner = getattr(member, "fget", None) or getattr(member, "__func__", None) or member
        if not name.startswith("_") and callable(inner) and getattr(inner, "__module__", "").startswith("rkhs."):
            yield name, getattr(cls, name)


def undocumented(value: object) -> Iterator[str]:
    """Say, one line each, what a public object's documentation lacks."""
    doc = own_doc(value)
    if not doc:
        yield "a docstring"
        return
    if inspect.isclass(value):
        yield from (f"a docstring of {name}" for name, method in methods(value) if not inspect.getdoc(method))
    if is_plain(value):
        return
    found = sections(doc)
    listed = found.get("Parameters", "") + found.get("Attributes", "") + found.get("Other Parameters", "")
    for name in parameters(value):
        if not re.search(rf"^(?:.*, )?\**{name}\b.*:|^{name}$", listed, flags=re.MULTILINE):
            yield f"parameter {name} under Parameters"
    for line in re.findall(r"^\w.* : .*$", listed, flags=re.MULTILINE):
        if re.search(r"\b(array|ndarray|tensor|matrix)\b", line) and not re.search(r"\(.*\)|shape", line):
            yield f"the shape in '{line}'"
    if is_mathematics(value):
        yield from lacks_source(value, doc, found)


def lacks_source(value: object, doc: str, found: dict[str, str]) -> Iterator[str]:
    """Ask mathematics for its reference, for what a function returns, and for what is refused."""
    if not inspect.isabstract(value) and not (
        "References" in found or re.search(r"^(Source|Reference)s?:", doc, re.MULTILINE)
    ):
        yield "a References section or a 'Source:' line"
    if inspect.isclass(value):
        docs = [doc, *(inspect.getdoc(method) or "" for _, method in methods(value))]
        if parameters(value) and not any("Raises" in sections(text) for text in docs):
            yield "a Raises section, in the class or in one of its methods"
    elif (
        inspect.signature(value).return_annotation not in (None, "None")
        and "Returns" not in found
        and "Yields" not in found
    ):
        yield "a Returns section"


PUBLIC = dict(public_objects())


@pytest.mark.parametrize("name", sorted(PUBLIC))
def test_every_public_name_is_documented(name: str) -> None:
    missing = list(undocumented(PUBLIC[name]))
    if not hasattr(importlib.import_module(name.rpartition(".")[0]), "__path__"):
        # What a module shares inside the library and no package exports needs words, not every section.
        missing = [lack for lack in missing if lack.startswith("a docstring")]
    assert not missing, f"{name} lacks {'; '.join(missing)}"
