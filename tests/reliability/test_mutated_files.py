"""Changed model files, a few of every kind; the long run is ``python -m tests.reliability.mutated_files --full``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rkhs import persistence
from rkhs._core import containers
from tests.reliability import mutated_files
from tests.reliability.mutated_files import GOLDEN, campaign, try_model


def test_no_changed_file_loads_as_another_model_or_raises_another_error() -> None:
    outcomes = campaign(8, 5)
    assert len(outcomes) == len(list(GOLDEN.glob("*.rkhs"))) + 1
    assert not [outcome.line() for outcome in outcomes if not outcome.is_clean]
    assert all(outcome.files >= 8 for outcome in outcomes)


def test_the_campaign_sees_what_it_looks_for(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = GOLDEN / "kernel_pca_gram-1.0.rkhs"
    campaign(0, 0)  # the hook is there now

    class Anything:
        def __ne__(self, other: object) -> bool:
            return False

    def runs_code(*_: Any) -> Any:
        eval("1")
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr(containers, "_digest", lambda *_: Anything())
        assert try_model(path, tmp_path, 60, 0, 0).wrong
    with monkeypatch.context() as patch:
        patch.setattr(persistence, "read_container", runs_code)
        patch.setattr(mutated_files, "SECONDS", -1.0)
        outcome = try_model(path, tmp_path, 4, 0, 0)
    assert len(outcome.untyped) == len(outcome.slow) == 4
    assert outcome.code
