"""Reports fit short: what a page has does not depend on the number of models that are compared."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.few_candidates import few_candidates


@pytest.fixture(scope="package", autouse=True)
def _few_candidates() -> Iterator[None]:
    with few_candidates():
        yield
