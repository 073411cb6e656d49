"""Tables whose first column is an axis of curves, or names the rows by their times: what is said, and obeyed."""

from pathlib import Path

import numpy as np
import pytest

from tests.cli.commands import Run, printed, table

RNG = np.random.default_rng(0)


@pytest.mark.sample(1)
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


def spectra_of_items() -> tuple[np.ndarray, np.ndarray, list[str]]:
    """An axis that falls, twelve spectra of which the sixth is noise, and their names."""
    axis = np.arange(400.0, 250.0, -5.0)
    spectra = np.exp(-(((axis[:, None] - 320.0) / 20.0) ** 2)) * RNG.uniform(1.0, 1.3, 12) + axis[:, None] / 300.0
    spectra[:, 5] = RNG.normal(size=len(axis))
    return axis, spectra.round(6), [f"s{j}" for j in range(12)]


def scores_of(run: Run, *words: str) -> tuple[list[str], np.ndarray, str]:
    """Names and scores of items, and what is printed."""
    status, said, out = run("novelty", *words, "-o", "b.csv", "--transpose")
    assert status == 0, said
    cells = [line.split(",") for line in Path("b.csv").read_text().splitlines()[1:]]
    return [row[0] for row in cells], np.array([float(row[2]) for row in cells]), out


def test_pairs_of_an_axis_and_an_item_are_items_on_one_axis(run: Run) -> None:
    """As a spectrometer writes them, with two rows of names."""
    axis, spectra, names = spectra_of_items()
    plain = [",".join([f"{at:g}", *map(str, row)]) for at, row in zip(axis, spectra.tolist(), strict=True)]
    table("plain.csv", [",".join(["nm", *names]), *plain])
    pairs = [",".join(f"{at:g},{y}" for y in row) + "," for at, row in zip(axis, spectra.tolist(), strict=True)]
    table("a.csv", [",,".join(names) + ",,", "nm,Abs," * 12, *pairs])
    status, said, _ = run("novelty", "a.csv")
    assert (status, printed(said)) == (2, ["novelty", "a.csv", "--transpose"])
    expected, found = scores_of(run, "plain.csv"), scores_of(run, "a.csv")
    assert found[0] == expected[0] == names
    np.testing.assert_array_equal(found[1], expected[1])


def test_items_with_axes_of_their_own_are_put_on_the_first_one(run: Run) -> None:
    axis, spectra, names = spectra_of_items()
    moved = axis[:, None] + np.arange(12.0) / 10.0  # each spectrum at other places
    there = np.array([np.interp(moved[:, j], axis[::-1], spectra[::-1, j]) for j in range(12)]).T.round(6)
    rows = [
        ",".join(f"{at:g},{y}" for at, y in zip(*pair, strict=True))
        for pair in zip(moved.tolist(), there.tolist(), strict=True)
    ]
    table("a.csv", [",".join(f"nm,{name}" for name in names), *rows])
    found = scores_of(run, "a.csv")
    assert found[0] == names
    assert found[1].argmax() == 5
    assert "all are put on the first one by straight lines" in found[2]


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


def test_constant_windows_are_unlike_all(run: Run) -> None:
    """A meter that is stuck at its mean for a day, and at zero for six hours; by distances both are near others."""
    use = (1.2 + np.sin(np.arange(24) / 4)) * np.exp(0.3 * np.random.default_rng(1).normal(size=(60, 24)))
    use[11], use[29, 10:16] = use.mean(), 0.0
    for name, rows in (("a.csv", use), ("b.csv", use[[3, 11]])):
        hours = [
            f"{np.datetime64('2024-01-01') + i} {t:02d}:00,{x:.2f}"
            for i, day in enumerate(rows)
            for t, x in enumerate(day)
        ]
        table(name, ["time,use", *hours])
    status, said, out = run("novelty", "a.csv", "--window", "24")
    assert status == 0, said
    first = next(line for line in out.splitlines() if line.startswith("  2024"))
    assert first.startswith("  2024-01-12 00:00: score 1.0")
    assert "of use" in first
    status, said, _ = run("novelty", "a.csv", "b.csv", "--window", "24", "-o", "c.csv")
    assert status == 0, said
    scores = [float(line.split(",")[2]) for line in Path("c.csv").read_text().splitlines()[1:]]
    assert scores[0] < 0.9 < scores[1]
    assert run("novelty", "a.csv", "--window", "24", "--kernel", "gaussian", "-o", "d.csv")[0] == 0


@pytest.mark.sample(1)
@pytest.mark.parametrize("noise", [0.002, 0.02])
def test_nearly_constant_windows_do_not_vouch_for_each_other(run: Run, noise: float) -> None:
    """Two days of stand-by come first, though each is nearest to the other; in a new file such a day is as strange."""
    rng = np.random.default_rng(2)
    use = (1.2 + np.sin(np.arange(24) / 4)) * np.exp(0.3 * rng.normal(size=(60, 24)))
    still = use.mean() + noise * rng.normal(size=(3, 24))
    usual = use.copy()
    use[[11, 40]] = still[:2]
    for name, rows in (("a.csv", use), ("usual.csv", usual), ("b.csv", np.array([use[3], still[2]]))):
        days = [np.datetime64("2024-01-01") + i for i in range(len(rows))]
        lines = [
            f"{day} {t:02d}:00,{x:.4f},{47.95 * (t == 0)}"
            for day, row in zip(days, rows, strict=True)
            for t, x in enumerate(row)
        ]
        table(name, ["time,use,charge", *lines])
    status, said, out = run("novelty", "a.csv", "--window", "24")
    assert status == 0, said
    first = [line[2:12] for line in out.splitlines() if line.startswith("  2024")][:2]
    assert first == ["2024-01-12", "2024-02-10"]
    for known in ("a.csv", "usual.csv"):
        status, said, _ = run("novelty", known, "b.csv", "--window", "24", "-o", "c.csv")
        assert status == 0, said
        scores = [float(line.split(",")[2]) for line in Path("c.csv").read_text().splitlines()[1:]]
        assert scores[0] < 0.9 < scores[1]
