"""The goals: what each guarantees, which script measures it, and how its output is read.

No figure stands here: all are parsed from what the scripts print.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

Reading = tuple[str, bool]
"""What was measured, in words, and whether that reaches the goal."""


@dataclass(frozen=True)
class Targets:
    """One line of the table."""

    number: str
    guarantee: str
    read: Callable[[str, bool], Reading]
    """From the output of the script, and whether it ended with status 0."""


@dataclass(frozen=True)
class Script:
    """One command, at reduced and at full size, and the goals that its output measures."""

    goals: tuple[Targets, ...]
    reduced: tuple[str, ...]
    full: tuple[str, ...]
    settings: tuple[tuple[str, str], ...] = ()
    """Environment variables of the full size."""
    alone: bool = False
    """Whether nothing else may run beside it, because it measures time."""
    writes: bool = False
    """Whether it writes a table of its own into the page, if asked by ``--write``."""


def passing(at_least: int = 1) -> Callable[[str, bool], Reading]:
    """Read the last line of pytest: all pass, and so many at least."""

    def read(output: str, ended_well: bool) -> Reading:
        found = {word: int(n) for n, word in re.findall(r"(\d+) (passed|failed|skipped|errors?)\b", output[-400:])}
        passed = found.get("passed", 0)
        words = ", ".join(f"{n} {word}" for word, n in found.items())
        return f"tests: {words}" if words else "no test ran", ended_well and passed >= at_least

    return read


def line(pattern: str, *zeros: str, most: dict[str, float] | None = None) -> Callable[[str, bool], Reading]:
    """Read the last place where ``pattern`` stands; the named groups in ``zeros`` are 0, those in ``most`` at most."""
    limits = {**dict.fromkeys(zeros, 0.0), **(most or {})}

    def read(output: str, ended_well: bool) -> Reading:
        found = list(re.finditer(pattern, output))
        if not found:
            return "no figure was printed", False
        last = found[-1]
        text = last.group("text") if "text" in last.groupdict() else last.group(0)
        return text.strip(), all(float(last.group(name)) <= limit for name, limit in limits.items())

    return read


def every(pattern: str) -> Callable[[str, bool], Reading]:
    """Read all places where ``pattern`` stands; the status says whether they are good."""

    def read(output: str, ended_well: bool) -> Reading:
        found = list(dict.fromkeys(re.findall(pattern, output)))
        return "; ".join(found) or "no figure was printed", ended_well and bool(found)

    return read


def pytest_of(*files: str, slow: bool = False) -> tuple[str, ...]:
    """Run these files of tests; ``slow`` as well those that the ordinary run leaves out."""
    chosen = "slow or not slow" if slow else "not slow"
    return ("-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", chosen, *(f"tests/{name}" for name in files))


def module(name: str, *words: str) -> tuple[str, ...]:
    return ("-m", f"studies.reliability.{name}", *words)


_PEERS = (
    Targets(
        "R1",
        "scikit-learn's checks, every estimator, storage, precision: all pass but two where partial_fit is refused",
        line(r"R1: (?P<text>[1-9]\d* .*?, (?P<failed>\d+) fail, (?P<skipped>\d+) skipped)", "failed", "skipped"),
    ),
    Targets(
        "R2",
        "the common checks that scikit-learn's suite leaves out: all pass",
        line(r"R2: (?P<text>[1-9]\d* .*?, (?P<failed>\d+) fail, (?P<skipped>\d+) skipped)", "failed", "skipped"),
    ),
    Targets(
        "R20",
        "scikit-learn's own tests through shims: all pass but a list with reasons",
        line(r"R20: (?P<text>[1-9]\d* .*?, (?P<failed>\d+) fail, (?P<skipped>\d+) skipped)", "failed", "skipped"),
    ),
)
_DATA = ("data/test_bad_files.py", "test_hostile_files.py")
_OUTPUTS = ("cli/test_outputs.py", "core/test_safe_writing.py")
_SAME = ("engines/test_block_sums.py", "estimators/test_long_fits.py", "engines/test_cluster.py")
_GUARD = ("-m", "studies.bench.memory_guard")

SCRIPTS = (
    Script(
        (
            Targets(
                "R13",
                "the import of rkhs beside torch and scikit-learn, and rkhs --help beside Python: < 0.3 s each",
                line(
                    r"R13: (?P<text>import (?P<imports>[\d.]+) s .*, rkhs --help (?P<help>[\d.]+) s .*)",
                    most={"imports": 0.3, "help": 0.3},
                ),
            ),
        ),
        module("speed", "start"),
        module("speed", "start"),
        alone=True,
    ),
    Script(
        (
            Targets(
                "R14", "./dev demo: < 60 s", line(r"R14: (?P<text>.* takes (?P<seconds>\d+) s)", most={"seconds": 60})
            ),
        ),
        module("speed", "demo"),
        module("speed", "demo"),
        alone=True,
    ),
    Script(_PEERS, module("peer_checks"), module("peer_checks", "--full")),
    Script(
        (
            Targets(
                "R3", "bad inputs by hypothesis: a finite answer, or a typed error that names the argument", passing()
            ),
        ),
        pytest_of("reliability/test_fuzz.py"),
        pytest_of("reliability/test_fuzz.py", slow=True),
        settings=(("RKHS_FUZZ", "2000"),),
    ),
    Script(
        (Targets("R4", "hostile inputs written by hand, with their exact message: >= 150", passing(150)),),
        pytest_of("reliability/test_hostile_inputs.py"),
        pytest_of("reliability/test_hostile_inputs.py", slow=True),
    ),
    Script(
        (
            Targets(
                "R5",
                "changed model files, 9,000 of a kind: 0 wrong loads, 0 untyped errors, also in use, 0 code runs",
                line(
                    r"R5: (?P<text>.*?: (?P<wrong>\d+) wrong loads, (?P<untyped>\d+) untyped errors, "
                    r"(?P<raw>\d+) raw errors in use, (?P<code>\d+) .*)",
                    *("wrong", "untyped", "raw", "code"),
                ),
            ),
        ),
        module("mutated_files"),
        module("mutated_files", "--full"),
    ),
    Script(
        (Targets("R6", "a model of every kind comes back from its file to the last bit", passing()),),
        pytest_of("test_file_kinds.py"),
        pytest_of("test_file_kinds.py", slow=True),
    ),
    Script(
        (
            Targets(
                "R8",
                "clusters, 50 workers and 5 schedulers killed, 5 memories filled: the same model or a typed error",
                every(r"(?m)^\d+ (?:workers|schedulers|memory) .*: \d+ fits .*longest fit [\d.]+ s"),
            ),
        ),
        module(
            "cluster_kills", "--workers-killed", "3", "--schedulers-killed", "1", "--blow-ups", "1", "--rows", "20000"
        ),
        module("cluster_kills"),
    ),
    Script(
        (
            Targets(
                "R9",
                "same seed and plan in one process, in two workers, in a killed run: the same bits",
                passing(),
            ),
        ),
        pytest_of(*_SAME, slow=True),
        pytest_of(*_SAME, slow=True),
    ),
    Script(
        (
            Targets(
                "R10",
                "near-singular, repeated, scaled and shifted inputs: an error < 1e-6, or a warning; >= 500 in full",
                passing(),
            ),
        ),
        pytest_of("reliability/test_precision.py"),
        pytest_of("reliability/test_precision.py", slow=True),
        settings=(("RKHS_FUZZ", "1"),),
    ),
    Script(
        (
            Targets(
                "R11",
                "memory under a limit, n = 1e3 to 1e7, 100 asks: refused or done, peak <= 1.2 times the announced",
                line(
                    r"asks that neither finished nor were refused: (?P<lost>\d+)[^\n]*\n"
                    r"(?P<text>largest peak / announced: (?P<ratio>[\d.]+))",
                    "lost",
                    most={"ratio": 1.2},
                ),
            ),
        ),
        (*_GUARD, "--asks", "10", "--largest", "1e6", "--seconds", "20"),
        _GUARD,
    ),
    Script(
        (
            Targets(
                "R11b",
                "memory of every public method: taken within a factor of two of what it announces, or some tiles",
                line(r"R11b: (?P<text>\d+ methods, (?P<lost>\d+) beyond .*)", "lost"),
            ),
        ),
        module("memory_of_methods", "--only", "KernelPCA.fit", "InputOutputKernelRegressor.fit"),
        module("memory_of_methods"),
    ),
    Script(
        (
            Targets(
                "R12", "8 threads on transform, predict and save, 1,000 calls an estimator: equal answers", passing()
            ),
        ),
        ("-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "not slow", "-k", "eight_threads", "tests/contracts"),
        ("-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "slow", "-k", "eight_threads", "tests/contracts"),
    ),
    Script(
        (Targets("R15", "an extra that is missing: the error names it", passing()),),
        pytest_of("test_extras.py"),
        pytest_of("test_extras.py", slow=True),
    ),
    Script(
        (
            Targets(
                "R16",
                "generated fuzz over every public class and container, 100,000 calls: nothing raw, silent or different",
                line(
                    r"rkhs-fuzz: (?P<text>\d+ calls, (?P<raw>\d+) raw errors, (?P<nan>\d+) silent NaN, "
                    r"(?P<other>\d+) disagreements)",
                    *("raw", "nan", "other"),
                ),
            ),
        ),
        module("fuzz", "--calls", "2500"),
        module("fuzz", "--full"),
    ),
    Script(
        (
            Targets(
                "R16b",
                "every parameter of every public name with hostile values: a typed error, or a finite answer",
                line(r"signatures: (?P<text>\d+ calls, (?P<wrong>\d+) wrong)", "wrong"),
            ),
        ),
        module("signatures", "PCA", "Huber", "Gaussian"),
        module("signatures"),
    ),
    Script(
        (Targets("R17", "outputs of every command: decided before the fit, nothing overwritten or lost", passing()),),
        pytest_of(*_OUTPUTS),
        pytest_of(*_OUTPUTS, slow=True),
    ),
    Script(
        (
            Targets(
                "R18", "pipes, devices, sparse files, decoding bombs: refused within a second and 100 MB", passing()
            ),
        ),
        pytest_of(*_DATA),
        pytest_of(*_DATA, slow=True),
    ),
    Script(
        (
            Targets(
                "R19",
                "small mistakes put into the code, one at a time: 57 of 60 are caught by the quick tests",
                every(r"R19: (\d+ of \d+ caught)"),
            ),
        ),
        module("mutations", "--jobs", "1", "--every", "6"),
        module("mutations", "--jobs", "1"),
    ),
    Script(
        (
            Targets(
                "R21",
                "level of novelty and coverage of each kind of set under twelve laws: as guaranteed, up to 3 s.e.",
                line(
                    r"laws: (?P<text>\d+ levels and coverages under \d+ laws, (?P<wrong>\d+) not as guaranteed)",
                    "wrong",
                ),
            ),
        ),
        module("laws", "--draws", "40"),
        module("laws", "--draws", "400"),
        writes=True,
    ),
    Script(
        (
            Targets(
                "R22",
                "two fits that must agree (permuted, weighted, rescaled, by a Gram matrix, ...), >= 200: 0 differ",
                line(r"metamorphic: (?P<text>\d+ pairs of fits of \d+ subjects, (?P<wrong>\d+) differ)", "wrong"),
            ),
        ),
        module("metamorphic"),
        module("metamorphic", "--draws", "2000"),
    ),
    Script(
        (
            Targets(
                "R14b",
                "./dev test from nothing: < 5 min (the full run alone)",
                line(r"R14: (?P<text>.* takes (?P<seconds>\d+) s)", most={"seconds": 300}),
            ),
        ),
        (),
        module("speed", "suite"),
        alone=True,
    ),
)
