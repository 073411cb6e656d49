"""The checks of scikit-learn on our estimators, and its own tests run against ours: goals R1, R2 and R20.

Run: python -m studies.reliability.peer_checks [--full]. Without --full what every test run asks, and the common
checks; with it estimators at their defaults and in every storage and precision, and the long tests of the peers.
"""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path

import pytest
import sklearn

ROOT = Path(__file__).resolve().parents[2]
CHECKS = "tests/contracts/test_scikit_learn_checks.py"
PRODUCT = "tests/contracts/test_scikit_learn_product.py"
COMMON = f"{CHECKS}::test_common_checks_at_the_defaults_and_on_gram_matrices"
PEERS = "tests/peers"


class Tally:
    """Counts the outcomes of the tests of each goal."""

    def __init__(self) -> None:
        self.seen: dict[str, Counter[str]] = {"R1": Counter(), "R2": Counter(), "R20": Counter()}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when != "call" and report.passed:
            return
        goal = "R20" if PEERS in report.nodeid else "R2" if "common_checks" in report.nodeid else "R1"
        outcome = "different" if report.skipped and hasattr(report, "wasxfail") else report.outcome
        self.seen[goal][outcome] += 1

    def line(self) -> str:
        """All numbers in one line."""
        checks, common, peers = self.seen["R1"], self.seen["R2"], self.seen["R20"]
        return (
            f"R1: {checks['passed']} estimators and settings pass every check, {checks['failed']} fail, "
            f"{checks['skipped']} skipped; R2: {common['passed']} common checks pass, {common['failed']} fail, "
            f"{common['skipped']} skipped; R20: {peers['passed']} tests of scikit-learn {sklearn.__version__} pass, "
            f"{peers['different']} differ as listed, {peers['failed']} fail, {peers['skipped']} skipped"
        )

    @property
    def is_clean(self) -> bool:
        """Whether something ran for every goal, and nothing failed or was skipped."""
        return all(seen["passed"] > 0 and not seen["failed"] + seen["skipped"] for seen in self.seen.values())


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--full", action="store_true", help="every setting, storage and precision")
    args = parser.parse_args(argv)
    tally = Tally()
    runs = [[CHECKS, PRODUCT, PEERS]] if args.full else [[CHECKS, PRODUCT, PEERS, "-m", "not slow"], [COMMON]]
    ended_well = True
    for words in runs:
        found = [str(ROOT / word) if word.startswith("tests/") else word for word in words]
        code = pytest.main([*found, "-q", "-r", "f", "--rootdir", str(ROOT)], plugins=[tally])
        ended_well = ended_well and int(code) == 0
    print(tally.line())
    return 0 if tally.is_clean and ended_well else 1


if __name__ == "__main__":
    raise SystemExit(main())
