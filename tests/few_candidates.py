"""Short default fits, for tests of what does not depend on the model that a fit chooses."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from rkhs.estimators.autoencoder import settings


@pytest.fixture(scope="module", autouse=True)
def few_candidates() -> Iterator[None]:
    """Autoencoders compare two regularisers, and maps one decoder; the tests of both classes see all of them."""
    read = settings._read_regs

    def few(*args: Any, **options: Any) -> dict[str, Any]:
        found = read(*args, **options)
        return {**found, "candidates": found["candidates"][-2:], "weaker": ()} if "candidates" in found else found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(settings, "_read_regs", few)
        patch.setattr("rkhs.estimators.maps.decoder._WIDTHS_AND_REGS", ((0.5, 1e-4),))
        yield
