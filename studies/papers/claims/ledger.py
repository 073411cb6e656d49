"""The table of claims, read from ``ledger.toml``."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

__all__ = ["PAPERS", "WANTS", "Claim", "claims", "claims_of"]

PAPERS = {
    "kae": "Laforgue et al. (2019)",
    "drkm": "Tonin et al. (2021)",
    "krl": "Esser et al. (2024)",
    "dual": "Laforgue et al. (2020)",
}

WANTS = {
    "data": "the data of the paper",
    "size": "a run at the size of the paper",
    "draws": "more draws, for a sign within the noise",
    "words": "a number or formula that the text lacks",
}


@dataclass(frozen=True)
class Claim:
    """One entry of the table: what is claimed, under which conditions, and the rule that was fixed before the run.

    The ``note`` stands beside the verdict in the index. ``wants``: what would decide a claim that is open, a key of
    ``WANTS``.
    """

    id: str
    what: str
    where: str
    parts: dict[str, str]
    conditions: str
    minutes: float
    rule: str
    printed: str = ""
    data: str = ""
    stand_in: str = ""
    note: str = ""
    wants: str = ""

    @property
    def paper(self) -> str:
        """Short name of the paper: a key of ``PAPERS``."""
        return self.id.split("-")[0]

    @property
    def how(self) -> str:
        """The command that runs it."""
        return f"./dev reproduce {self.id}"


@cache
def claims() -> dict[str, Claim]:
    """All claims by id, in the order of the table."""
    with Path(__file__).with_name("ledger.toml").open("rb") as file:
        return {name: Claim(name, **entry) for name, entry in tomllib.load(file).items()}


def claims_of(paper: str) -> list[Claim]:
    """The claims of one paper."""
    return [claim for claim in claims().values() if claim.paper == paper]
