"""Passes of an autoencoder on landmarks against their roofline, and its training against mini-batches (goals 7, 8).

Run: ./dev bench landmarks [--n 100000] [--m 500] [--repeats 5] [--seconds 20]. One thread, float32.
"Bare" are the same products, exp2 calls and sums of the same blocks, written out. The mini-batch contestant trains
encoder and decoder coefficients of the same model jointly by Adam at three rates, the encoder whitened; its codes are
then given their best decoder, so that both sides report the same objective.
"""

from __future__ import annotations

import argparse
import math
import statistics
import time

import numpy as np
import torch
from torch import Tensor

from rkhs.engines import Serial, as_rows, row_blocks, thread_limit
from rkhs.features import Nystroem
from rkhs.kernels import Gaussian
from rkhs.outputs import Euclidean
from rkhs.problems.landmark_autoencoder import LandmarkAutoencoder
from rkhs.protocols import Monitor
from rkhs.solvers import LBFGS
from rkhs.spaces.passes import Data
from rkhs.spaces.sums import Sweep
from studies.harness.rows import peak_bytes, sines_file
from studies.harness.timing import describe, interleaved, ratio, verdict

ENCODER, DECODER, REG, BLOCK = Gaussian(1 / 50), Gaussian(1 / 10), (1e-4, 1e-3), 4096
LOG2E = math.log2(math.e)


def build(n: int, m: int) -> tuple[LandmarkAutoencoder, Tensor]:
    """The problem, and the parameters of kernel PCA codes."""
    X = np.load(sines_file(n), mmap_mode="r")
    sample = torch.from_numpy(np.array(X[: 10 * m], dtype=np.float64))
    features = Nystroem(m).build(ENCODER, sample, np.random.RandomState(0))
    mean = sample.mean(0)
    space = Euclidean(mean.numpy(), float(((sample - mean) ** 2).sum(1).mean()) ** 0.5)
    data = Data(as_rows(X), row_blocks(n, BLOCK), Serial())
    sweep = Sweep(features, torch.float32, "cpu", X.shape[1], None, n, kernel=DECODER, space=space)
    L = torch.as_tensor(features.triangle)
    problem = LandmarkAutoencoder(data, sweep, L @ L.mT, REG)
    moments = problem.moments()
    V = torch.linalg.eigh(moments.covariance)[1].flip(1)[:, :10].contiguous()
    Z = problem.codes(V)
    return problem, V * (4.0 / float(Z.std()))


def bare_pass(X: np.ndarray, C: Tensor, B: Tensor, A: Tensor, coef: Tensor, gemm: bool, tile: int) -> None:
    """The products, exp2 calls and float64 sums of one value and gradient in tiles of so many rows, nothing else."""
    from rkhs.spaces.sums import upper_product

    n, m = len(X), len(C)
    a, d, p = len(A), X.shape[1], A.shape[1]
    left, right = torch.ones(tile, d + 2), torch.cat([C, torch.ones(m, 2)], 1).mT.contiguous()
    codes, anchors = torch.ones(tile, p + 2), torch.cat([A, torch.ones(a, 2)], 1).mT.contiguous()
    wide, K, psi, S = torch.cat([A, torch.ones(a, 1)], 1), *(torch.empty(tile, k) for k in (m, a, a))
    N, c = torch.zeros(a, a, dtype=torch.float64), torch.zeros(a, d, dtype=torch.float64)
    dB, dA = torch.zeros(m, p, dtype=torch.float64), torch.zeros(a, p + 1, dtype=torch.float64)
    for sweep in range(2):
        for start in range(0, n - tile + 1, tile):
            left[:, :d] = torch.from_numpy(np.array(X[start : start + tile]))
            torch.mm(left, right, out=K).mul_(1e-3).exp2_()
            codes[:, :p] = K @ B
            torch.mm(codes, anchors, out=psi).mul_(1e-3).exp2_()
            T = left[:, :d]
            if sweep == 0:
                N += psi.mT @ psi if gemm else upper_product(psi)
                c += psi.mT @ T
            else:
                torch.mm(torch.addmm(T, psi, coef, beta=-1.0), coef.mT, out=S).mul_(psi)
                dZ = S @ wide
                dA += S.mT @ codes[:, : p + 1]
                dB += K.mT @ dZ[:, :p]


def passes(n: int, m: int, repeats: int) -> None:
    problem, V = build(n, m)
    before = peak_bytes()
    problem.value_and_grad(V)
    extra = peak_bytes() - before
    X = np.load(sines_file(n), mmap_mode="r")
    C = torch.as_tensor(np.asarray(problem.sweep.features.landmarks)).float()  # type: ignore[attr-defined]
    layer, _, _ = problem.last_layer(V)
    A, coef = layer.anchors.float(), layer.coefficients.float()
    B = problem.sweep.features.whiten(V).float()
    times = interleaved(
        {
            "ours": lambda: problem.value_and_grad(V),
            "bare (full products)": lambda: bare_pass(X, C, B, A, coef, True, BLOCK),
            "bare (symmetric products)": lambda: bare_pass(X, C, B, A, coef, False, BLOCK),
            "bare (tiles of 1024 rows)": lambda: bare_pass(X, C, B, A, coef, True, 1024),
        },
        repeats,
        warm_up=False,
    )
    for name, values in times.items():
        print(f"{name:28s} {describe(values)}")
    for name in list(times)[1:]:
        print(verdict(f"pass / {name}", statistics.median(ratio(times["ours"], times[name])), 1.2, 1.08))
    print(verdict("extra memory of a pass, MB", extra / 1e6, 250, 150))


def adam_codes(problem: LandmarkAutoencoder, V: Tensor, rate: float, limit: float) -> Tensor:
    """Joint mini-batch Adam on encoder and whitened decoder coefficients for so many seconds."""
    X, space = np.load(sines_file(problem.sweep.n), mmap_mode="r"), problem.sweep.space
    features, gamma = problem.sweep.features, DECODER.gamma
    rng, clock = np.random.default_rng(0), time.perf_counter()
    L = torch.as_tensor(features.triangle).float()  # type: ignore[attr-defined]
    layer, _, _ = problem.last_layer(V)
    v = V.float().clone().requires_grad_(True)
    c = layer.coefficients.float().clone().requires_grad_(True)
    optimiser = torch.optim.Adam([v, c], lr=rate)
    while time.perf_counter() - clock < limit:
        start = int(rng.integers(0, len(X) - 1024))
        rows = torch.from_numpy(np.array(X[start : start + 1024], dtype=np.float32))
        F = torch.linalg.solve_triangular(L, features.raw(rows).mT, upper=False).mT
        Z, A = F @ v, L @ v
        psi = torch.exp(-gamma * torch.cdist(Z, A) ** 2)
        K = torch.exp(-gamma * torch.cdist(A, A) ** 2)
        T = space.encode(rows)
        loss = (
            0.5 * ((psi @ c - T) ** 2).sum(1).mean() + 0.5 * REG[1] * (c * (K @ c)).sum() + 0.5 * REG[0] * (v * v).sum()
        )
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    return v.detach().double()


def race(n: int, m: int, limit: float) -> None:
    problem, V = build(n, m)
    found = LBFGS(1000, 0.0).solve(problem, V, Monitor(time_limit=limit))
    ours = found.value
    print(f"L-BFGS, {found.n_evaluations} evaluations in {limit:g} s: objective {ours:.5f}")
    best = float("inf")
    for rate in (1e-3, 1e-2, 1e-1):
        value = problem.value(adam_codes(problem, V, rate, limit))
        print(f"mini-batch Adam at rate {rate:g} for {limit:g} s, then its best decoder: {value:.5f}")
        best = min(best, value)
    print(verdict(f"objective after {limit:g} s / best mini-batch Adam", ours / best, 0.95, 0.88))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=100_000)
    parser.add_argument("--m", type=int, default=500)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--only", choices=("pass", "race"))
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    with thread_limit(1):
        if arguments.only != "race":
            passes(arguments.n, arguments.m, arguments.repeats)
        if arguments.only != "pass":
            race(arguments.n, arguments.m, arguments.seconds)


if __name__ == "__main__":
    main()
