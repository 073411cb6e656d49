"""Algorithms for the deep machine
===============================

Cost against time of five solvers for a deep restricted kernel machine on 500 digits, all from the same random start.
Lower and further to the left is better. The default of ``DeepRKM`` is the subspace solver.
"""

from __future__ import annotations

import matplotlib.pyplot as plt
import torch
from gallery import save
from sklearn.datasets import load_digits

from rkhs.kernels import Gaussian
from rkhs.problems.drkm import ConstrainedDRKM
from rkhs.protocols import Monitor
from rkhs.solvers import CayleyAdam, ProjectedGradient, RiemannianLBFGS, Subspace


def main(n: int = 500, seconds: float = 3.0) -> dict[str, float]:
    X = torch.tensor(load_digits().data[:n] / 16.0)
    kernel = Gaussian(0.01)
    problem = ConstrainedDRKM.from_gram(
        kernel(X), center=False, kernels=(kernel,), n_components=(10, 5), eta=(1.0, 1.0)
    )
    start = problem.random_start(torch.Generator().manual_seed(0))
    solvers = {
        "subspace": Subspace(),
        "projected gradient": ProjectedGradient(tol=1e-7),
        "Riemannian L-BFGS": RiemannianLBFGS(tol=1e-7),
        "Cayley Adam": CayleyAdam(learning_rate=1e-2),
    }
    runs = {name: solver.solve(problem, start, Monitor(time_limit=seconds)) for name, solver in solvers.items()}
    best = min(run.value for run in runs.values())
    figure, axes = plt.subplots(figsize=(9, 4.5), layout="constrained")
    for name, run in runs.items():
        axes.loglog(
            [row["seconds"] for row in run.history], [row["value"] - best + 1e-9 for row in run.history], label=name
        )
    axes.set(
        xlabel="seconds", ylabel="cost above the best", title=f"Deep machine (10, 5) on {n} digits, one random start"
    )
    figure.legend(loc="outside right upper", frameon=False)
    save(figure, "algorithms")
    result = {name: run.value - best for name, run in runs.items()}
    for name, gap in result.items():
        print(f"{name}: {gap:.2e} above the best after {runs[name].history[-1]['seconds']:.2f} s")
    return result


if __name__ == "__main__":
    main()
