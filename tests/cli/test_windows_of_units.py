"""Windows of several columns in different units, of a file with marks for gaps and with months of several years."""

from pathlib import Path

import numpy as np

from rkhs import load
from tests.cli.commands import Run, printed, table

RNG = np.random.default_rng(0)


def weather(marks: bool) -> tuple[np.ndarray, list[str]]:
    """Sixty days of four hours, of January of one year and of later months of another, and lines of a table."""
    t = np.arange(240)
    X = np.column_stack(
        [10.0 + np.sin(t / 2) + RNG.normal(size=240), 1e4 * RNG.uniform(size=240), 40 * RNG.uniform(size=240)]
    )
    X = X.round(3)
    if marks:
        X[::3, 1], X[17, 2] = 77777.0, -9900.0
    days = np.r_[np.datetime64("1999-01-01") + np.arange(30), np.datetime64("1991-02-01") + np.arange(30)]
    rows = [f"{days[i // 4]} {6 * (i % 4):02d}:00,{','.join(f'{x:g}' for x in X[i])}" for i in t]
    return X, ["time,celsius,ceiling,rain", *rows]


def test_columns_of_windows_are_standardised_by_their_own_spread(run: Run) -> None:
    X, lines = weather(marks=False)
    table("a.csv", lines)
    status, said, out = run("fit", "a.csv", "--window", "4", "--estimator", "kpca", "-o", "m.rkhs")
    assert status == 0, said
    assert "columns: standardised" in out
    assert "The spread of ceiling is" in out
    model, windows = load("m.rkhs"), X.reshape(-1, 4, 3).swapaxes(1, 2).reshape(-1, 12)
    np.testing.assert_allclose(model.reader_.scaling.scale, windows.std(0), rtol=1e-5)
    np.testing.assert_allclose(model.reader_.scaling.mean, windows.mean(0), rtol=1e-5)
    status, said, _ = run("transform", "m.rkhs", "a.csv", "-o", "codes.csv")
    assert status == 0, said
    names = [line.partition(",")[0] for line in Path("codes.csv").read_text().splitlines()[1:]]
    assert names[:2] + names[30:31] == ["1999-01-01 00:00", "1999-01-02 00:00", "1991-02-01 00:00"]


def test_marks_for_gaps_in_windows_are_noted_with_the_command_that_reads_them(run: Run) -> None:
    table("a.csv", weather(marks=True)[1])
    status, said, _ = run("map", "a.csv", "--window", "4", "-o", "map.png")
    assert status == 0
    assert "77777 in ceiling is far from all other values" in said
    assert "-9900 in rain is" in said
    words = printed(said)
    assert words == ["map", "a.csv", "--window", "4", "-o", "map.png", "--drop-columns", "ceiling", "--missing=-9900"]
    status, said, _ = run(*words)
    assert (status, "77777" in said) == (0, False)
    status, said, _ = run("map", "a.csv", "--window", "4", "--columns", "celsius,ceiling", "-o", "map.png")
    assert printed(said) == ["map", "a.csv", "--window", "4", "-o", "map.png", "--columns", "celsius"]
