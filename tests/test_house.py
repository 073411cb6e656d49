"""The rules of the house, one test per rule: each looks at every file or public name and lists all that break it."""

from __future__ import annotations

import ast
import dataclasses
import enum
import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import pytest

import rkhs
import rkhs.estimators
from studies.reliability.mistakes import MISTAKES
from tools.measure_house import modules

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "rkhs"
SOURCES = sorted(PACKAGE.rglob("*.py"))
TESTS = sorted((ROOT / "tests").rglob("*.py"))
STUDIES = sorted((ROOT / "studies").rglob("*.py"))

# Files that import more of this package than the rule allows: each is to be split, and the list only shrinks.
TO_SPLIT = {
    "src/rkhs/cli/compare.py",
    "src/rkhs/cli/inputs.py",
    "src/rkhs/cli/regression.py",
    "src/rkhs/data/items.py",
    "src/rkhs/estimators/autoencoder/dense.py",
    "src/rkhs/estimators/io_regressor.py",
    "src/rkhs/estimators/kernel_autoencoder.py",
    "src/rkhs/estimators/kernel_pca.py",
    "src/rkhs/estimators/operator_regressor_cv.py",
    "src/rkhs/estimators/regression/base.py",
}

HEADS = re.compile(r"^( *)(?:async def|def|class) ", re.MULTILINE)
ANY_SHARE = 0.05  # of the parameters of estimators and models that may still be anything

# Modules that users import from: their names are documented in full, all others in one line and a formula.
DOORS = [
    "rkhs",
    *(
        f"rkhs.{door}"
        for door in (
            "augment",
            "constraints",
            "data",
            "engines",
            "errors",
            "evaluation",
            "export",
            "features",
            "kernels",
            "losses",
            "metrics",
            "outputs",
            "plots",
            "presets",
            "reports",
            "selection",
            "solvers",
            "testing",
        )
    ),
]

# The packages whose public names are mathematics: formulas there come from somewhere and say from where.
MATHEMATICS = [
    "augment",
    "constraints",
    "estimators",
    "features",
    "spaces.grams",
    "kernels",
    "losses",
    "metrics",
    "outputs",
    "problems",
    "selection",
    "solvers",
]

# Public names of these packages that compute nothing: they look up, convert, move data, or say what a subclass has.
WITHOUT_FORMULA = {
    "KernelEstimator",
    "Solver",
    "as_augmentation",
    "as_kernel",
    "kernel_from_name",
}


def name_of(path: Path) -> str:
    """Readable names: paths below the root."""
    return path.relative_to(ROOT).as_posix()


@cache
def tree_of(path: Path) -> ast.Module:
    """Parse a file once for all rules; the sources are those that the measures parse."""
    return sources()[path] if path.is_relative_to(PACKAGE) else ast.parse(path.read_text())


@cache
def sources() -> dict[Path, ast.Module]:
    return {path: tree for path, _, tree in modules().values()}


def listed(offences: Iterable[str]) -> str:
    """One offence a line; empty where the rule is kept."""
    return "\n".join(sorted(offences))


# ---------------------------------------------------------------- files


def own_lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Count the lines of a function, its docstring left out: formulas and examples may be as long as they need."""
    lines = (function.end_lineno or function.lineno) - function.lineno + 1
    if ast.get_docstring(function) is not None:
        text = function.body[0]
        lines -= (text.end_lineno or text.lineno) - text.lineno + 1
    return lines


@cache
def functions(tree: ast.AST) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    return [node for node in statements(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]


def statements(node: ast.AST) -> Iterator[ast.AST]:
    """Every statement, without a look into expressions: these are most of a tree."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt | ast.excepthandler | ast.match_case):
            yield child
            yield from statements(child)


def test_files_stay_short() -> None:
    lengths = {path: len(path.read_text().splitlines()) for path in [*SOURCES, *STUDIES, *TESTS]}
    long = listed(f"{name_of(path)}: {n} lines" for path, n in lengths.items() if n > 600)
    assert not long, f"a file has at most 600 lines, split it by idea:\n{long}"


def may_be_long(text: str) -> bool:
    """Whether more than 60 lines lie between a head and the next that is not inside it: most files need no parse."""
    heads = [(len(head[1]), text.count("\n", 0, head.start())) for head in HEADS.finditer(text)]
    ends = [
        next((line for indent, line in heads[i + 1 :] if indent <= heads[i][0]), text.count("\n") + 1)
        for i in range(len(heads))
    ]
    return any(end - line > 60 for end, (_, line) in zip(ends, heads, strict=True))


def test_functions_stay_short() -> None:
    long = listed(
        f"{name_of(path)}:{function.lineno} {function.name}: {own_lines(function)} lines"
        for path in [*SOURCES, *STUDIES, *TESTS]
        if may_be_long(path.read_text())
        for function in functions(tree_of(path))
        if own_lines(function) > 60
    )
    assert not long, f"a function has at most 60 lines beside its docstring:\n{long}"


def test_constructors_have_few_parameters() -> None:
    many = {}
    for name in rkhs.estimators.__all__:
        cls = getattr(rkhs.estimators, name)
        if inspect.isclass(cls):
            many[name] = len(inspect.signature(cls).parameters)
    assert many["KernelAutoencoder"] > 20
    wide = {name: count for name, count in many.items() if count > 30}
    assert not wide, f"a constructor has at most 30 parameters; options that belong together are objects: {wide}"


def is_for_type_checkers(test: ast.expr) -> bool:
    return "TYPE_CHECKING" in (getattr(test, "id", ""), getattr(test, "attr", ""))


def own_imports(path: Path) -> set[str]:
    """Names of the modules of this package that a file imports, anywhere in it, but for type checkers only."""
    tree = tree_of(path)
    guards = (node for node in statements(tree) if isinstance(node, ast.If) and is_for_type_checkers(node.test))
    typing_only = {node for guard in guards for node in statements(guard)}
    imports = (node for node in statements(tree) if isinstance(node, ast.ImportFrom) and node not in typing_only)
    return {node.module for node in imports if node.module and node.module.split(".")[0] == "rkhs"}


def test_a_file_imports_little_of_the_package() -> None:
    # A package's __init__ and the table of kernels by name only list what others hold.
    counts = {name_of(path): len(own_imports(path)) for path in SOURCES if path.stem not in ("__init__", "registry")}
    wide = {name for name, count in counts.items() if count > 12}
    new = listed(f"{name}: {counts[name]} modules" for name in wide - TO_SPLIT)
    assert not new, f"a file imports at most 12 modules of the package:\n{new}"
    assert not TO_SPLIT - wide, f"no longer too wide, take it off the list: {listed(TO_SPLIT - wide)}"


def test_few_parameters_may_be_anything() -> None:
    """Of the parameters of ``estimators`` and ``models``, ``X`` and ``y`` aside; the limit only goes down, to 5 %."""
    arguments = [
        argument
        for path in SOURCES
        if {"estimators", "models"} & set(path.parts)
        for function in functions(tree_of(path))
        for argument in [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
        if argument.annotation is not None and argument.arg not in ("X", "y")
    ]
    loose = [one for one in arguments if re.search(r"\b(Any|object)\b", ast.unparse(one.annotation or one))]
    assert len(loose) <= ANY_SHARE * len(arguments), f"{len(loose)} of {len(arguments)} parameters are annotated Any"


def test_models_and_estimators_have_types() -> None:
    loose = [
        f"{name_of(path)}:{argument.lineno} {argument.arg}"
        for path in SOURCES
        for function in functions(tree_of(path))
        for argument in [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
        if argument.arg in ("model", "estimator") and argument.annotation and ast.unparse(argument.annotation) == "Any"
    ]
    assert not loose, f"a model or an estimator has a type:\n{listed(loose)}"


def test_no_file_is_named_for_leftovers() -> None:
    leftovers = {"utils", "util", "helpers", "misc", "common"}
    assert not [name_of(path) for path in [*SOURCES, *STUDIES, *TESTS] if path.stem.strip("_") in leftovers]


def test_no_numbered_variants() -> None:
    assert not [name_of(path) for path in SOURCES if re.search(r"(_v?\d+|_(old|new))$", path.stem)]


def is_abstract(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return any(ast.unparse(d).split(".")[-1] in ("abstractmethod", "overload") for d in function.decorator_list)


@cache
def protocol_methods(tree: ast.AST) -> set[ast.AST]:
    classes = (node for node in ast.walk(tree) if isinstance(node, ast.ClassDef))
    return {m for c in classes if any("Protocol" in ast.unparse(b) for b in c.bases) for m in c.body}


def test_no_comment_leaves_work_to_be_done() -> None:
    marks = re.compile(r"\b(?:TO" + "DO|FIX" + r"ME|XX" + r"X|HACK)\b")
    found = listed(f"{name_of(path)}: {mark}" for path in SOURCES for mark in marks.findall(path.read_text()))
    assert not found, f"unfinished work is an issue, not a comment:\n{found}"


def is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def stub_of(function: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    """Say what makes a function a stub; empty where it does something."""
    body = [node for node in function.body if not is_text(node)]
    is_ellipsis = any(is_text(node) and node.value.value is ... for node in function.body)
    if all(isinstance(node, ast.Pass) for node in body) and (body or is_ellipsis):
        return "does nothing"
    raised = [node.exc for node in ast.walk(function) if isinstance(node, ast.Raise) and node.exc is not None]
    unwritten = any("NotImplementedError" in ast.unparse(exc) for exc in raised)
    return "raises NotImplementedError: make it abstract, or write it" if unwritten else ""


def test_no_function_is_a_stub() -> None:
    stubs = listed(
        f"{name_of(path)}:{function.lineno} {function.name} {stub_of(function)}"
        for path in SOURCES
        for function in functions(tree_of(path))
        if not is_abstract(function) and function not in protocol_methods(tree_of(path)) and stub_of(function)
    )
    assert not stubs, f"every function does what its name says:\n{stubs}"


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


def test_no_test_is_skipped_without_a_condition() -> None:
    named = (path for path in TESTS if re.search(r"\bskip(Test)?\b", path.read_text()))
    assert not [f"{name_of(path)}:{line}" for path in named for line in unconditional_skips(tree_of(path))]


def test_the_small_mistakes_can_still_be_made() -> None:
    counts = {mistake: (PACKAGE / mistake.file).read_text().count(mistake.old) for mistake in MISTAKES}
    gone = listed(f"{m.file} holds {count} times, not once: {m.old}" for m, count in counts.items() if count != 1)
    assert not gone, f"these lines were changed: change their entries in studies/reliability/mistakes.py too\n{gone}"


# ---------------------------------------------------------------- public names


def public_modules() -> list[str]:
    walked = pkgutil.walk_packages(rkhs.__path__, "rkhs.")
    return [info.name for info in walked if not any(part.startswith("_") for part in info.name.split("."))]


def public_objects() -> Iterator[tuple[str, object]]:
    """Every class and function that a package lists, or that a module defines without an underscore before it."""
    for module_name in ["rkhs", *public_modules()]:
        module = importlib.import_module(module_name)
        own = [name for name, value in vars(module).items() if getattr(value, "__module__", "") == module_name]
        for name in getattr(module, "__all__", [name for name in own if not name.startswith("_")]):
            value = getattr(module, name)
            if inspect.isclass(value) or inspect.isroutine(value):
                yield f"{module_name}.{name}", value


def test_every_public_name_resolves_and_is_listed() -> None:
    for door in DOORS:
        module = importlib.import_module(door)
        missing = [name for name in module.__all__ if getattr(module, name, None) is None or name not in dir(module)]
        assert not missing, f"{door} lists what it does not have: {missing}"
        lazy = getattr(module, "__path__", ()) if hasattr(module, "__getattr__") else ()
        modules = {info.name for info in pkgutil.iter_modules(lazy)}
        taken = [name for name in modules & set(module.__all__) if not inspect.ismodule(getattr(module, name))]
        assert not taken, f"{door}: the module of the name would hide {taken}"


def test_an_unknown_name_is_refused_with_the_known_ones() -> None:
    with pytest.raises(AttributeError, match=r"'Nothing'; the public names are .*KernelAutoencoder"):
        _ = rkhs.Nothing


def test_every_public_module_says_what_it_holds_and_packages_list_their_names() -> None:
    modules = {name: importlib.import_module(name) for name in public_modules()}
    silent = listed(name for name, module in modules.items() if not (module.__doc__ or "").strip())
    assert not silent, f"a module says in its first line what idea it holds:\n{silent}"
    unlisted = [
        name for name, module in modules.items() if hasattr(module, "__path__") and not hasattr(module, "__all__")
    ]
    assert not unlisted, f"a package lists its public names in __all__:\n{listed(unlisted)}"


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


def is_result(value: object) -> bool:
    """What a function found: that function refuses what is out of range, and has the source."""
    return isinstance(value, type) and dataclasses.is_dataclass(value) and value.__dataclass_params__.frozen


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
    named = found.get("Parameters", "") + found.get("Attributes", "") + found.get("Other Parameters", "")
    for name in parameters(value):
        if not re.search(rf"^(?:.*, )?\**{name}\b.*:|^{name}$", named, flags=re.MULTILINE):
            yield f"parameter {name} under Parameters"
    for line in re.findall(r"^\w.* : .*$", named, flags=re.MULTILINE):
        if re.search(r"\b(array|ndarray|tensor|matrix)\b", line) and not re.search(r"\(.*\)|shape", line):
            yield f"the shape in '{line}'"
    yield from (f"parameter {name} in at most three sentences" for name in wordy(named))
    if is_mathematics(value):
        yield from lacks_source(value, doc, found)


def wordy(described: str) -> Iterator[str]:
    """Names of the parameters whose text has more than three sentences; code in quotes has none."""
    for entry in re.split(r"^(?=\S)", described, flags=re.MULTILINE):
        head, _, text = entry.partition("\n")
        if len(re.findall(r"\.(?=\s|$)", re.sub(r"``.*?``", "", text, flags=re.DOTALL))) > 3:
            yield head.partition(" :")[0]


def lacks_source(value: object, doc: str, found: dict[str, str]) -> Iterator[str]:
    """Ask mathematics for its reference, for what a function returns, and for what is refused."""
    if "References" in found and not re.search(r"\b(1[89]|20)\d\d\b", found["References"]):
        yield "a publication with its year under References"
    named = "References" in found or re.search(r"^(Source|Reference)s?:", doc, re.MULTILINE)
    exempt = inspect.isabstract(value) or is_result(value) or getattr(value, "__name__", "") in WITHOUT_FORMULA
    if not (named or exempt):
        yield "a References section or a 'Source:' line"
    if inspect.isclass(value):
        docs = [doc, *(inspect.getdoc(method) or "" for _, method in methods(value))]
        if parameters(value) and not is_result(value) and not any("Raises" in sections(text) for text in docs):
            yield "a Raises section, in the class or in one of its methods"
    elif (
        inspect.signature(value).return_annotation not in (None, "None")
        and "Returns" not in found
        and "Yields" not in found
    ):
        yield "a Returns section"


def lacks(name: str, value: object) -> list[str]:
    """Return what the documentation of a public name lacks."""
    missing = list(undocumented(value))
    if name.rpartition(".")[0] in DOORS:
        return missing
    # What a module shares inside the library and no door exports needs one line, not every section.
    return [lack for lack in missing if lack.startswith("a docstring")]


def test_every_public_name_is_documented() -> None:
    missing = {name: lacks(name, value) for name, value in public_objects()}
    found = listed(f"{name} lacks {'; '.join(lack)}" for name, lack in missing.items() if lack)
    assert not found, f"public names are documented in full:\n{found}"
