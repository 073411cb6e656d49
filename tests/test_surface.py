"""What is public: the stored names and signatures, and an example for each."""

from __future__ import annotations

import inspect

from tools import surface


def test_the_public_surface_is_the_stored_one() -> None:
    difference = surface.changes()
    assert not difference, f"public names changed; if that is meant, run ./dev surface --write:\n{difference}"


def test_every_public_name_has_an_example_that_runs() -> None:
    named = {f"{door}.{name}": value for door, name, value in surface.public()}
    docs = {name: value.__doc__ or "" for name, value in named.items() if inspect.isclass(value) or callable(value)}
    without = [name for name, doc in docs.items() if ">>> " not in doc]
    skipped = [name for name, doc in docs.items() if "+SKIP" in doc]
    assert not without, f"public names have an example in their docstring; not {', '.join(without)}"
    assert skipped == ["rkhs.engines.Dask"], "an example of a cluster, which takes long to start, is not run"
