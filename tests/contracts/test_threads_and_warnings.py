"""Filters of warnings belong to the process: no ask of several threads changes them, or loses a warning of another."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import rkhs
from rkhs import KernelPCA, OperatorKernelRegressor, OperatorKernelRegressorCV
from rkhs._core.errors import GapWarning, keeping_warnings, unwarned, warn
from rkhs.kernels import FromFunction

SOURCE = Path(rkhs.__file__).parent
RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 3))


def texts(n: int) -> pd.DataFrame:
    return pd.DataFrame({"a": RNG.normal(size=n), "b": [f"t{i}" for i in range(n)], "c": RNG.normal(size=n)})


def p_values() -> Callable[[], Any]:
    table, y = texts(30), RNG.normal(size=30)
    model = OperatorKernelRegressor(columns="filled").fit(table, y)
    return lambda: model.p_values(table[:4])


def indefinite() -> Callable[[], Any]:
    kernel = FromFunction(lambda x, y: float(np.tanh(x @ y - 1.0)), inputs="vectors")
    model = OperatorKernelRegressor(kernel, reg=1e-1).fit(X, X[:, 0])
    return lambda: model.predict_set(X[:3])


def chosen() -> Callable[[], Any]:
    return lambda: OperatorKernelRegressorCV(cv=3, kernel="gaussian").fit(X, X[:, 0])


@pytest.mark.filterwarnings("ignore::Warning")
@pytest.mark.parametrize("made", [p_values, indefinite, chosen])
def test_an_ask_sets_no_filter_of_warnings(
    made: Callable[[], Callable[[], Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    ask, original, callers = made(), warnings.catch_warnings, []

    def caught(*args: Any, **options: Any) -> Any:
        callers.append(sys._getframe(1).f_globals["__name__"])
        return original(*args, **options)

    monkeypatch.setattr(warnings, "catch_warnings", caught)
    ask()
    assert not [name for name in callers if name.startswith("rkhs")]


@pytest.mark.filterwarnings("ignore::Warning")
@pytest.mark.parametrize("made", [p_values])
def test_asks_of_several_threads_leave_the_filters_of_warnings(made: Callable[[], Callable[[], Any]]) -> None:
    ask, expected = made(), warnings.filters[:]
    with ThreadPoolExecutor(6) as pool:
        list(pool.map(lambda _: ask(), range(24)))
    assert warnings.filters == expected


def test_silence_and_a_list_of_warnings_are_those_of_one_thread() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with unwarned(GapWarning):
            warn("gap", GapWarning)
            warn("other")
            with ThreadPoolExecutor(1) as pool:
                pool.submit(warn, "of another thread", GapWarning).result()
        with keeping_warnings() as kept, unwarned():
            warn("lost")
        with keeping_warnings() as kept:
            warn("kept")
            warn(GapWarning("kept too"))
    assert [str(one.message) for one in caught] == ["other", "of another thread"]
    assert [(type(one), str(one)) for one in kept] == [(UserWarning, "kept"), (GapWarning, "kept too")]


def test_only_other_libraries_and_commands_have_filters() -> None:
    users = {
        path.relative_to(SOURCE).parts[0]
        for path in SOURCE.rglob("*.py")
        if any("catch_warnings(" in line and ">>>" not in line for line in path.read_text().splitlines())
    }
    assert users == {"_core", "cli"}  # a command has its process for itself; _core holds the one filter, with its lock


def test_onnx_files_are_written_from_several_threads(tmp_path: Path) -> None:
    pytest.importorskip("onnx", reason="needs the extra 'onnx'")
    models = [KernelPCA(k, kernel="gaussian").fit(X) for k in (1, 2, 3)]
    for i, model in enumerate(models):
        rkhs.to_onnx(model, tmp_path / f"alone{i}.onnx")
    with ThreadPoolExecutor(6) as pool:
        list(pool.map(lambda i: rkhs.to_onnx(models[i % 3], tmp_path / f"{i}.onnx"), range(24)))
    for i in range(24):
        assert (tmp_path / f"{i}.onnx").read_bytes() == (tmp_path / f"alone{i % 3}.onnx").read_bytes()
