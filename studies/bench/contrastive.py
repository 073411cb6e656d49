"""Simple contrastive loss: the closed form without inverses beside the printed one (goal 9).

Run: ./dev bench contrastive [--n 1000] [--rounds 5]. Both start from the Gram matrix of anchors, positives, negatives.
The printed route makes K_1^(-1/2) by an eigendecomposition and takes a second one; it gets every advantage (symmetric
routines, in-place products, LAPACK through NumPy) and a cut at relative 1e-10, without which it does not answer at all
on singular matrices: a second table has half of its points doubled.
"""

from __future__ import annotations

import statistics

import numpy as np
import torch

from rkhs.kernels import Gaussian
from rkhs.problems.contrastive import SimpleContrastive
from rkhs.problems.pairs import Links, Pairs
from studies.harness.arguments import bench_arguments
from studies.harness.timing import describe, interleaved, ratio, verdict


def printed(K: np.ndarray, n: int, h: int, cut: float = 1e-10) -> tuple[np.ndarray, np.ndarray]:
    """Theorem 3 as it stands: eigenvalues and coefficients."""
    a, p, m = slice(0, n), slice(n, 2 * n), slice(2 * n, 3 * n)
    K3 = K[a, m] - K[a, p]
    K_delta = K[m, m] + K[p, p] - K[m, p] - K[m, p].T
    K1 = np.block([[K[a, a], K3], [K3.T, K_delta]])
    B = np.vstack([K3, K_delta]) @ np.hstack([K[a, a], K3])
    w, U = np.linalg.eigh(K1)
    root = np.where(w > cut * w[-1], 1.0 / np.sqrt(np.maximum(w, 1e-300)), 0.0)
    inverse_root = (U * root) @ U.T
    mu, Q = np.linalg.eigh(inverse_root @ (-0.5 * (B + B.T)) @ inverse_root)
    return mu[::-1][:h], inverse_root @ Q[:, ::-1][:, :h]


def triplets(n: int, *, singular: bool) -> tuple[torch.Tensor, Pairs]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 10))
    if singular:
        X[n // 2 :] = X[: n - n // 2]
    points = np.vstack([X, X + 0.3 * rng.normal(size=X.shape), X[rng.permutation(n)]])
    if singular:
        points[n + n // 2 : 2 * n] = points[n : 2 * n - n // 2]
    index = torch.arange(n)
    pool = torch.zeros(3 * n, dtype=torch.float64)
    pairs = Pairs(index, Links(index[:, None] + n, 3 * n), Links(index[:, None] + 2 * n, 3 * n), pool)
    return torch.as_tensor(points), pairs


def main() -> None:
    arguments = bench_arguments(__doc__, n=1000, rounds=5)
    torch.set_num_threads(1)
    n, h = arguments.n, 2
    for singular in (False, True):
        X, pairs = triplets(n, singular=singular)
        K = Gaussian(0.05)._gram(X)
        array = K.numpy()
        calls = {
            "rkhs": lambda K=K, pairs=pairs: SimpleContrastive(K, pairs, h).solve(),
            "printed": lambda array=array: printed(array, n, h),
        }
        times = interleaved(calls, arguments.rounds)
        ours, (mu, A) = SimpleContrastive(K, pairs, h).solve(), printed(array, n, h)
        _, raw = printed(array, n, h, cut=0.0)
        K1 = SimpleContrastive(K, pairs, h).blocks()
        print(f"\nn = {n} anchors, {'half of them repeated' if singular else 'all different'}")
        for name, values in times.items():
            print(f"  {name:8s} {describe(values)}")
        print(f"  largest relative difference of eigenvalues: {np.abs(ours.eigenvalues.numpy() / mu - 1).max():.1e}")
        for name, coefficients in (("rkhs", ours.A.numpy()), ("printed, cut", A), ("printed, no cut", raw)):
            defect = np.abs(coefficients.T @ K1.numpy() @ coefficients - np.eye(h)).max()
            print(f"  |A^T K_1 A - I|, {name}: {defect:.1e}")
        gain = statistics.median(ratio(times["printed"], times["rkhs"]))
        print(verdict("time of the printed route / ours", gain, 8.0, 17.0, smaller=False))


if __name__ == "__main__":
    main()
