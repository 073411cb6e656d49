"""Tables of expression and classes of samples as GSEA writes them."""

from pathlib import Path

import numpy as np

from tests.cli.commands import Run, table


def test_expression_and_classes_of_gsea_are_read(run: Run) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(12, 8)) + np.arange(8) % 2 * 3.0
    genes = [f"g{i}\t{7000 + i}\t" + "\t".join(f"{x:.3f}" for x in row) for i, row in enumerate(X)]
    names = "NAME\tDescription\t" + "\t".join(f"s{j}" for j in range(8))
    table("a.gct", ["#1.2", "12\t8", names, *genes])
    table("a.cls", ["8 2 1", "# MUT WT", "0 1 0 1 0 1 0 1"])
    words = ["fit", "a.gct", "--labels", "a.cls", "--predict", "class", "-o", "m.rkhs"]
    words += ["--estimator", "kernel-pca", "--n-components", "2"]
    status, said, out = run(*words)
    assert status == 0, said
    assert "KernelPCA: 8 items" in out
    assert "MUT (4), WT (4)" in out
    status, said, _ = run("predict", "m.rkhs", "a.gct", "-o", "p.csv")
    assert status == 0, said
    assert [line.split(",")[0] for line in Path("p.csv").read_text().splitlines()[1:]] == [f"s{j}" for j in range(8)]
    table("a.cls", ["7 2 1", "# MUT WT", "0 1 0 1 0 1 0 1"])
    assert "a.cls: expected three lines" in run(*words)[1]
    table("a.gct", ["NAME\tDescription\ts0", *genes])
    assert "a.gct: expected #1.2" in run(*words)[1]
