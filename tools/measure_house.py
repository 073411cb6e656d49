"""Measures of the house, from the source and a traced session: ``python tools/measure_house.py [--over] [--hard]``.

``tests/test_measures.py`` holds each of them under a ceiling that may only fall.
"""

from __future__ import annotations

import argparse
import ast
import gc
import importlib
import re
import sys
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any

ROOT = Path(__file__).resolve().parents[1] / "src" / "rkhs"
# Modules that users import from: their names are documented in full, all others in one line and a formula.
DOORS = (
    *("augment", "constraints", "data", "engines", "errors", "evaluation", "export", "features", "kernels", "losses"),
    *("metrics", "outputs", "plots", "presets", "reports", "selection", "solvers", "testing"),
    *("estimators", "persistence", "protocols", "spaces.grams"),
)
# What is built on the library, and what stands at its border: reading, settings, checks.
TOOLS = ("cli", "data", "reports", "evaluation", "plots", "testing", "presets.py")
BORDER = tuple(
    f"{ROOT}/{name}"
    for name in (
        *("_core", "estimators/autoencoder/settings.py", "estimators/base.py", "estimators/run.py"),
        *("estimators/training.py", "estimators/given_matrices.py", "estimators/storage.py", "estimators/options"),
        "estimators/reader.py",
    )
)
# Words that need their author; names do without them.
WORDS = frozenset(
    (
        *("said", "say", "says", "tell", "tells", "told", "telling", "goal", "goals"),
        *("next to", "own", "room", "again", "anew", "onto", "apart", "unsure", "touching"),
        *("rested", "shown", "made", "plenty", "thinned", "carried", "held", "sweep", "sweeps"),
        *("price", "priced", "pricing", "growing"),
    )
)
NAMED = ("name", "id", "attr", "arg")  # where a syntax tree holds names
OPTIONS = ("constraint", "operators", "noise", "refine", "code_metric", "linear_part")  # words that mean nothing else
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
APART = {*FUNCTIONS, ast.ClassDef, ast.Name, ast.Constant, ast.Load, ast.Store}  # others, and what has no parts
DECISIONS = (ast.If, ast.For, ast.While, ast.IfExp, ast.ExceptHandler, ast.comprehension, ast.match_case)


@cache
def modules() -> dict[str, tuple[Path, str, ast.Module]]:
    """Path, text and tree of each module, by its name."""
    found = {}
    gc.disable()  # a tree is many objects, and none of them is garbage
    for path in sorted(ROOT.rglob("*.py")):
        parts = path.relative_to(ROOT.parent).with_suffix("").parts
        text = path.read_text()
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = (path, text, ast.parse(text))
    gc.enable()
    return found


@cache
def nodes(tree: ast.AST) -> list[ast.AST]:
    """Every node of a tree, walked once for all measures."""
    return list(ast.walk(tree))


def doc_lines(node: ast.AST) -> set[int]:
    """Lines of the docstring of a node."""
    first = node.body[0] if getattr(node, "body", None) else None  # type: ignore[attr-defined]
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
        return set(range(first.lineno, (first.end_lineno or first.lineno) + 1))
    return set()


def statements(tree: ast.AST) -> int:
    """Statements without docstrings: unlike lines they reward no packing."""
    return sum(isinstance(node, ast.stmt) and not is_text(node) for node in nodes(tree))


def is_text(node: ast.AST) -> bool:
    """Whether a statement is a text alone."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def sizes() -> dict[str, int]:
    """Statements of the library, and of the tools that are built on it."""
    found = {"library": 0, "tools": 0}
    for path, _, tree in modules().values():
        found["tools" if path.relative_to(ROOT).parts[0] in TOOLS else "library"] += statements(tree)
    return found


def odd_names() -> dict[str, set[str]]:
    """Names by module that use a word of this project alone."""
    found = {}
    for module, (_, _, tree) in modules().items():
        names = {name for node in nodes(tree) for kind in NAMED if isinstance(name := vars(node).get(kind), str)}
        found[module] = {name for name in names if is_odd(name)}
    return found


def is_odd(name: str) -> bool:
    """Whether a name has a word of :data:`WORDS`; ``held_out`` is the field's word."""
    plain = name.replace("held_out", "heldout").replace("HeldOut", "Heldout")
    return bool(WORDS & {word.lower() for word in re.findall(r"[a-z]+|[A-Z][a-z]*|[A-Z]+(?![a-z])", plain)})


def complexity(function: ast.AST) -> int:
    """McCabe's number: decisions and one; nested functions count on their own."""
    total, stack = 1, list(ast.iter_child_nodes(function))
    while stack:
        node = stack.pop()
        if type(node) in APART:
            continue
        total += isinstance(node, DECISIONS)
        total += len(node.ifs) if isinstance(node, ast.comprehension) else 0
        total += len(node.values) - 1 if isinstance(node, ast.BoolOp) else 0
        stack.extend(ast.iter_child_nodes(node))
    return total


def hardest() -> list[tuple[int, str]]:
    """Every function by its complexity, the hardest first."""
    return sorted(
        (
            (complexity(node), f"{name}.{node.name}")
            for name, (_, _, tree) in modules().items()
            for node in nodes(tree)
            if isinstance(node, FUNCTIONS)
        ),
        reverse=True,
    )


def public_names() -> set[tuple[str, str]]:
    """Module and name of what users import."""
    doors = [importlib.import_module(name) for name in ("rkhs", *(f"rkhs.{door}" for door in DOORS))]
    things = (getattr(door, name, None) for door in doors for name in door.__all__)
    return {(one.__module__, one.__qualname__) for one in things if hasattr(one, "__qualname__")}


def private_doc_lines() -> int:
    """Lines of docstrings of what no door exports."""
    public = public_names()

    def count(module: str, node: ast.AST, prefix: str, inside: bool) -> int:
        total = 0
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):  # defines nothing
                continue
            name, shown = prefix, inside
            if isinstance(child, (ast.ClassDef, *FUNCTIONS)):
                name = f"{prefix}.{child.name}" if prefix else child.name
                shown = (module, name) in public or (inside and not child.name.startswith("_"))
                total += 0 if shown else len(doc_lines(child))
            total += count(module, child, name, shown)
        return total

    return sum(count(name, tree, "", False) for name, (_, _, tree) in modules().items())


@cache
def stubs() -> dict[str, tuple[str, ast.Module]]:
    """Text and tree of the stubs that list the names of packages, by the name of the package."""
    paths = {".".join(path.parent.relative_to(ROOT.parent).parts): path for path in sorted(ROOT.rglob("*.pyi"))}
    return {name: (path.read_text(), ast.parse(path.read_text())) for name, path in paths.items()}


@cache
def imports() -> dict[str, set[str]]:
    """Modules of the package that each module names, annotations included; what a package lists, by who defines it."""
    known = modules()
    listed = {
        f"{name}.{alias.name}": f"{node.module}"
        for name, (_, tree) in stubs().items()
        for node in tree.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    graph: dict[str, set[str]] = {}
    for name, (_, _, tree) in known.items():
        found: set[str] = set()
        for node in nodes(tree):
            if isinstance(node, ast.Import):
                found |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                longer = {f"{node.module}.{alias.name}" for alias in node.names}
                found |= {one if one in known else listed.get(one, node.module) for one in longer}
        graph[name] = {one for one in found if one in known and one != name}
    return graph


def circles() -> list[list[str]]:
    """Groups of modules that import each other; a package may list what its modules hold."""
    graph = {name: {to for to in found if not name.startswith(to + ".")} for name, found in imports().items()}
    reached = {name: reach(name, graph) for name in graph}
    groups = {frozenset(to for to in found if name in reached[to]) for name, found in reached.items()}
    return [sorted(group) for group in groups if len(group) > 1]


def reach(start: str, graph: dict[str, set[str]]) -> set[str]:
    """Modules that a module imports, directly or not, itself included."""
    seen: set[str] = set()
    stack = [start]
    while stack:
        one = stack.pop()
        if one not in seen:
            seen.add(one)
            stack.extend(graph[one])
    return seen


def option_files() -> Counter[str]:
    """How many files name each option."""
    uses: Counter[str] = Counter()
    for _, _, tree in modules().values():
        facts = [vars(node) for node in nodes(tree)]
        words = {word for node in facts for kind in ("id", "attr", "arg") if isinstance(word := node.get(kind), str)}
        uses.update(option for option in OPTIONS if option in words)
    return uses


def constants_written_twice() -> dict[str, list[str]]:
    """Private numbers of the same name and value in several modules."""
    found: defaultdict[tuple[str, Any], list[str]] = defaultdict(list)
    for name, (_, _, tree) in modules().items():
        for node in tree.body:
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant):
                target, value = node.targets[0], node.value.value
                if isinstance(target, ast.Name) and target.id.startswith("_") and isinstance(value, int | float):
                    found[target.id, value].append(name)
    return {name: where for (name, _), where in found.items() if len(where) > 1}


@dataclass
class Trace:
    """What an act ran: distinct lines, the deepest chain of own calls, and calls of ``check_*``."""

    lines: set[tuple[str, int]]
    depth: int = 0
    checks: int = 0


def traced(act: Callable[[], object]) -> Trace:
    """Run an act and follow it."""
    found, depth = Trace(set()), 0

    def inside(frame: FrameType, event: str, _: object) -> Any:
        nonlocal depth
        if event == "line":
            found.lines.add((frame.f_code.co_filename, frame.f_lineno))
        depth -= event == "return"
        return inside

    def outside(frame: FrameType, event: str, _: object) -> Any:
        nonlocal depth
        if not frame.f_code.co_filename.startswith(str(ROOT)):
            return None
        depth += 1
        found.depth = max(found.depth, depth)
        found.checks += frame.f_code.co_name.startswith("check_")
        return inside

    before = sys.gettrace()
    sys.settrace(outside)
    try:
        act()
    finally:
        sys.settrace(before)
    return found


def sessions() -> tuple[Trace, Trace, set[tuple[str, int]], int]:
    """Traces of a default fit and of ``transform`` on the iris data, lines run by sessions of two estimators."""
    from sklearn.datasets import load_iris

    import rkhs

    X = load_iris().data
    model = rkhs.KernelAutoencoder(2).fit(X)

    def rest() -> None:
        model.inverse_transform(model.transform(X[:5]))
        model.reconstruction_error(X[:5])
        model.decode(model.codes_[:3], X, n_best=2)

    def components() -> None:
        plain = rkhs.KernelPCA(2).fit(X)
        plain.inverse_transform(plain.transform(X[:5]))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rest()
        components()  # once before, so that what is imported late does not count
        fit, after = traced(lambda: rkhs.KernelAutoencoder(2).fit(X)), traced(rest)
        transform = traced(lambda: model.transform(X))
        return fit, transform, fit.lines | after.lines, len(traced(components).lines)


# Where the house is to go.
GOALS = {
    "statements of the library": 20_300,
    "statements of the tools": 7_300,
    "names in words of this project alone": 0,
    "docstring lines behind no door": 2_700,
    "functions of complexity above 15": 0,
    "functions of complexity above 10": 60,
    "import circles": 0,
    "modules behind kernel_autoencoder": 120,
    "files that name an option": 12,
    "constants written twice": 0,
    "lines run by a session of KernelAutoencoder": 1_500,
    "of these at the border": 450,
    "deepest own chain of fit": 18,
    "deepest own chain of transform": 13,
    "check_ calls of a fit": 42,
    "lines run by a session of KernelPCA": 650,
}


def measures() -> dict[str, int]:
    """Every measure by its name, in the order of the goals."""
    hard = [number for number, _ in hardest()]
    fit, transform, session, components = sessions()
    size = sizes()
    found = (
        size["library"],
        size["tools"],
        sum(map(len, odd_names().values())),
        private_doc_lines(),
        sum(number > 15 for number in hard),
        sum(number > 10 for number in hard),
        len(circles()),
        len(reach("rkhs.estimators.kernel_autoencoder", imports())),
        max(option_files().values()),
        len(constants_written_twice()),
        len(session),
        sum(path.startswith(BORDER) for path, _ in session),
        fit.depth,
        transform.depth,
        fit.checks,
        components,
    )
    return dict(zip(GOALS, found, strict=True))


def by_folder() -> Iterator[str]:
    """Statements of each folder, the largest first."""
    found: Counter[str] = Counter()
    for path, _, tree in modules().values():
        found[path.relative_to(ROOT).parts[0]] += statements(tree)
    yield from (f"{name}: {size}" for name, size in found.most_common())


def main() -> None:
    """Print the measures next to their goals."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--over", action="store_true", help="only what is above its goal")
    parser.add_argument("--hard", action="store_true", help="functions, circles, constants and folders by name")
    asked = parser.parse_args()
    for name, value in measures().items():
        if value > GOALS[name] or not asked.over:
            print(f"{name}: {value} (goal {GOALS[name]})")
    if asked.hard:
        print(*(f"{number} {name}" for number, name in hardest() if number > 10), sep="\n")
        print(*circles(), *constants_written_twice().items(), *by_folder(), sep="\n")
        print(*(f"{module}: {', '.join(sorted(names))}" for module, names in odd_names().items() if names), sep="\n")


if __name__ == "__main__":
    main()
