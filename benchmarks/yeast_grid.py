import os, time, sys
from pathlib import Path
import numpy as np, torch
from sklearn.model_selection import train_test_split
from rkhs.kernels import Gaussian
from rkhs.losses import *
from rkhs.problems.dual import dual_problem
from rkhs.solvers import ADMM

d = np.load(Path(os.environ["RKHS_DATA"]) / "yeast" / "yeast.npz")
X, Y = d["X"][:300], d["Y"][:300].astype(float)
regs = np.logspace(-8, -1, 20)
grids = {
    "ridge": [(r, Squared()) for r in regs],
    "eps_ridge": [(r, SquaredEpsilonInsensitive(float(e))) for r in regs for e in np.linspace(0.1, 1, 10)],
    "eps_svr": [(r, EpsilonInsensitive(float(e))) for r in regs for e in np.linspace(0.1, 1, 10)],
    "huber": [(r, Huber(float(k))) for r in regs for k in np.logspace(-3, 1, 16)],
}
for name, g in grids.items():
    t = time.perf_counter()
    its = []
    worst = 0
    for i in range(3):
        tr, te = train_test_split(np.arange(300), test_size=1 / 3, random_state=i)
        K = torch.from_numpy(Gaussian(1.0)(X[tr]))
        P = dual_problem([(K, None)], torch.from_numpy(Y[tr]), [l for _, l in g], [r for r, _ in g])
        s = ADMM(tol=1e-6).solve_batch(P)
        its.append(s.n_iter.double())
        worst = max(worst, float((s.gaps / P.null_value()).max()))
    its = torch.cat(its)
    print(
        name,
        f"{time.perf_counter() - t:.2f}s mean its {its.mean():.1f} median {its.median()} max {its.max()} worst {worst:.1e} {s.reason.name}",
    )
