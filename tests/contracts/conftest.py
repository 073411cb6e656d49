"""Maps of the contracts compare no decoders: ``estimators/test_kernel_map.py`` tests the choice."""

from __future__ import annotations

from collections.abc import Iterator

import pytest


@pytest.fixture(scope="module", autouse=True)
def _one_decoder_of_maps() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("rkhs.estimators.maps.decoder._WIDTHS_AND_REGS", ((0.5, 1e-4),))
        yield
