"""Tables whose first column is an axis of curves, or names the rows by their times: what is said, and obeyed."""

from pathlib import Path

import numpy as np
import pytest

from tests.cli.commands import Run, printed, table

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("descending", [False, True])
def test_columns_that_are_curves_are_compared_by_transpose(descending: bool, run: Run) -> None:
    axis = np.arange(200.0, 700.0, 2.0)[:: -1 if descending else 1]
    peaks = np.exp(-(((axis[:, None] - np.array([300.0, 450.0, 600.0])) / 20.0) ** 2))
    spectra = peaks @ RNG.uniform(1.0, 1.3, (3, 24)) + 0.01 * RNG.normal(size=(len(axis), 24))
    spectra[:, 5] = spectra[::-1, 5] + RNG.normal(size=len(axis))
    rows = [",".join(f"{cell:.3f}" for cell in row) for row in np.column_stack([axis, spectra])]
    table("a.csv", [",".join(["shift", *(f"s{j}" for j in range(24))]), *rows])
    status, said, _ = run("novelty", "a.csv", "-o", "b.csv")
    assert status == 0
    assert "the 24 columns behind shift look like curves over it" in said
    words = printed(said)
    assert words == ["novelty", "a.csv", "-o", "b.csv", "--transpose"]
    assert run(*words)[0] == 0
    scores = [line.split(",") for line in Path("b.csv").read_text().splitlines()[1:]]
    assert len(scores) == 24
    assert min(scores, key=lambda row: float(row[1]))[0] == "s5"


def test_sensors_without_one_shape_are_rows_of_a_series(run: Run) -> None:
    walks = np.cumsum(RNG.normal(size=(260, 24)), axis=0)
    rows = [",".join(f"{cell:.3f}" for cell in row) for row in np.column_stack([np.arange(260.0), walks])]
    table("a.csv", [",".join(["n", *(f"s{j}" for j in range(24))]), *rows])
    status, said, _ = run("novelty", "a.csv", "-o", "b.csv")
    assert status == 0
    assert "--transpose" not in said
    assert "look like times of one long series" in said


def test_rows_named_by_their_times_are_a_series(run: Run) -> None:
    days = ["ti 1 tammi 2019", "ke 2 tammi 2019", "to 3 tammi 2019", "pe 4 tammi 2019"]
    hours = [f"{day} {hour:02d}:00" for day in days for hour in range(24)]
    rows = [f"{hour};{i % 24};{(i * i) % 7}" for i, hour in enumerate(hours)]
    table("a.csv", ["time;a;b", *rows])
    status, said, _ = run("novelty", "a.csv", "-o", "b.csv")
    assert status == 0
    assert "the 96 rows are times of one long series, 4 windows of a day" in said
    assert printed(said) == ["novelty", "a.csv", "-o", "b.csv", "--window", "24"]
