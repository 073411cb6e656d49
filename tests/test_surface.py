"""What is public: the stored names and signatures, and an example for each."""

from __future__ import annotations

from tools import surface


def test_the_public_surface_is_the_stored_one() -> None:
    difference = surface.changes()
    assert not difference, f"public names changed; if that is meant, run ./dev surface --write:\n{difference}"
