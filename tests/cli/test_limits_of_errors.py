"""What ``rkhs fit --predict`` says of its errors: none better than the baseline, heavy tails, errors of prices."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from rkhs.cli.main import main
from rkhs.reports.held_out import outlier_factor
from tests.cli.commands import printed


def test_a_fit_that_predicts_nothing_says_so(tmp_path: Path, monkeypatch, capsys) -> None:
    """Numbers and classes that the columns do not determine get the sentence; those that they do get none."""
    monkeypatch.chdir(tmp_path)
    r = np.random.default_rng(3)
    X = r.normal(size=(60, 2))
    lines = [f"{a},{b},{r.normal()},{'pq'[r.integers(2)]},{a + b},{'pq'[int(a > 0)]}" for a, b in X]
    Path("t.csv").write_text("a,b,noise,coin,sum,sign\n" + "\n".join(lines) + "\n")
    for target, baseline in (("noise", "the mean"), ("coin", "the most common class"), ("sum", ""), ("sign", "")):
        assert main(["fit", "t.csv", "--columns", "a,b", "--predict", target, "-o", "m.rkhs"]) == 0
        said = capsys.readouterr().out
        assert ("the model hardly predicts better than" in said) == bool(baseline)
        assert baseline in said


@pytest.mark.parametrize(
    "law",
    [
        lambda r, n: r.normal(size=n),
        lambda r, n: r.laplace(size=n),
        lambda r, n: r.standard_t(3, size=n),
        lambda r, n: r.normal(size=n) * np.exp(0.7 * r.normal(size=n)),
    ],
)
def test_few_rows_of_heavy_tails_are_suspicious(law) -> None:
    """As the page says; five times the median would name 3 % and more of all but normal residuals."""
    r = np.random.default_rng(0)
    shares = []
    for _ in range(200):
        residuals = np.abs(law(r, 100))
        shares.append((residuals > outlier_factor(residuals) * np.median(residuals)).mean())
    assert np.mean(shares) < 0.014
    residuals[:5] = 100.0 * residuals.max()
    assert (residuals > outlier_factor(residuals) * np.median(residuals))[:5].all()


def test_errors_that_grow_with_a_price_suggest_its_logarithm(tmp_path: Path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    r = np.random.default_rng(1)
    x = r.uniform(size=120)
    for name, price in (
        ("a.csv", (10 + 90 * x) * 10.0 ** (0.08 * r.normal(size=120))),
        ("b.csv", 10 + 90 * x + r.normal(size=120)),
    ):
        Path(name).write_text("x,price\n" + "".join(f"{a},{b}\n" for a, b in zip(x, price, strict=True)))
        assert main(["fit", name, "--predict", "price", "-o", "m.rkhs"]) == 0
        said = capsys.readouterr().out
        assert ("rkhs fit a.csv --predict price -o m.rkhs --log10" in said) == (name == "a.csv")
        assert ("errors of price grow with it" in said) == (name == "a.csv")


def test_a_linear_kernel_has_a_free_intercept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    X = 100.0 + np.random.default_rng(0).integers(0, 8, (60, 5)).astype(float)
    y = X @ [3.0, -1.0, 2.0, -5.0, 4.0]
    np.savetxt("all.csv", np.c_[X, y], delimiter=",", header="a,b,c,d,e,cost", comments="")
    assert main(["fit", "all.csv", "--kernel", "linear", "--predict", "cost", "-o", "m.rkhs"]) == 0
    assert "R^2 1.000" in capsys.readouterr().out


def test_suspicious_rows_have_the_identifier_of_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Next to SMILES, which none looks up, stands what the file calls the row; the command without such rows runs."""
    monkeypatch.chdir(tmp_path)
    smiles = ["C" * (1 + i // 5) + "NOSPF"[i % 5] for i in range(60)]
    values = [100 + len(one) + (500.0 if i % 8 == 7 else 0.1 * (i % 5)) for i, one in enumerate(smiles)]
    rows = [f"{one},project,V{i:03d},{value}" for i, (one, value) in enumerate(zip(smiles, values, strict=True))]
    rows.insert(3, "CCC,project,V900,")  # without a value, so that places and rows differ
    Path("export.csv").write_text("\n".join(["Structure,Group ID,ID,Ki", *rows]) + "\n")
    words = ["export.csv", "--smiles", "Structure", "--predict", "Ki", "-o", "m.rkhs"]
    assert main(["fit", *words]) == 0
    said = capsys.readouterr().out
    assert re.search(rf"the median: .*{smiles[7]} \(\d+, ID V007\).*; if they are wrong, this command", said)
    assert printed(said)[:-1] == ["fit", *words, "--leave-out"]
    assert {*printed(said)[-1].split(",")} == {str(i + 2) for i in range(7, 60, 8)}
    assert main([*printed(said), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["input"]["items"] == 53
    assert found["suspicious rows"] == []
    lines = [f'"Street {i}, 2nd floor",{i % 7},{i % 7 + 400 * (i == 8) + i % 3}' for i in range(40)]
    Path("flats.csv").write_text("\n".join(["address,a,y", *lines]) + "\n")  # names that no list of names can hold
    assert main(["fit", "flats.csv", "--index-column", "address", "--predict", "y", "-o", "m.rkhs"]) == 0
    assert printed(capsys.readouterr().out)[-1] == "--robust"
