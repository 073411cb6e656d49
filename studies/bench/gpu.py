"""All goals of a GPU in one command: Gram matrix, exact fit, pass on landmarks, against its own products and the CPU.

Run: ./dev bench gpu [--n 20000] [--rows 1000000]. Says so, and ends, on a machine without one.
"""

from __future__ import annotations

import statistics
import time
import warnings
from collections.abc import Callable

import numpy as np
import torch

from rkhs import KernelAutoencoder, KernelPCA
from rkhs.features import Nystroem
from rkhs.kernels import Gaussian
from studies.harness.arguments import bench_arguments
from studies.harness.rows import sines_file
from studies.harness.timing import verdict


def timed(call: Callable[[], object], repeats: int = 5) -> float:
    """Median seconds of a call, the work of the GPU included."""
    call()
    times = []
    for _ in range(repeats):
        torch.cuda.synchronize()
        clock = time.perf_counter()
        call()
        torch.cuda.synchronize()
        times.append(time.perf_counter() - clock)
    return statistics.median(times)


def gram(n: int, dtype: torch.dtype) -> None:
    X = torch.randn(n, 50, device="cuda", dtype=dtype)
    bare = timed(lambda: torch.mm(X, X.mT).exp2_())
    ours = timed(lambda: Gaussian(0.01)._gram(X))
    print(verdict(f"Gram matrix, n = {n}, {dtype}: ours / bare product and exp2", ours / bare, 2.0, 1.2))


def same_results() -> None:
    X = np.array(np.load(sines_file(20_000), mmap_mode="r")[:2000], dtype=np.float64)
    for name, storage in (("dense", "dense"), ("Nystroem(300)", Nystroem(300))):
        for dtype, tolerance in (("float64", 1e-6), ("float32", 1e-2)):
            codes = [
                KernelPCA(5, kernel=Gaussian(1 / 50), storage=storage, device=device, dtype=dtype).fit_transform(X)
                for device in ("cpu", "cuda")
            ]
            gap = float(np.abs(codes[0] - codes[1]).max() / np.abs(codes[0]).max())
            print(
                f"codes on CPU and GPU, {name}, {dtype}: largest relative difference {gap:.1e} (at most {tolerance:g})"
            )


def fits(n: int, rows: int) -> None:
    for label, size, options in (
        ("exact autoencoder", n, {"max_iter": 5}),
        ("autoencoder on 1000 landmarks", rows, {"max_iter": 5, "storage": Nystroem(1000)}),
    ):
        X = np.load(sines_file(size), mmap_mode="r")
        X = X if "storage" in options else np.array(X)
        seconds = {}
        for device in ("cuda", "cpu"):
            model = KernelAutoencoder(
                10,
                kernel=Gaussian(1 / 50),
                decoder_kernel=Gaussian(0.1),
                reg=1e-3,
                dtype="float32",
                device=device,
                refine=False,
                **options,
            )
            clock = time.perf_counter()
            model.fit(X)
            seconds[device] = time.perf_counter() - clock
            print(f"{label}, n = {size}, {device}: {seconds[device]:.1f} s", flush=True)
        print(f"{label}, n = {size}: {seconds['cpu'] / seconds['cuda']:.1f} times as fast on the GPU")


def main() -> None:
    arguments = bench_arguments(__doc__, n=20_000, rows=1_000_000)
    if not torch.cuda.is_available():
        print("this machine has no CUDA device that torch can use: nothing to measure")
        return
    print(torch.cuda.get_device_name())
    warnings.simplefilter("ignore")
    for dtype in (torch.float32, torch.float64):
        gram(arguments.n, dtype)
    same_results()
    fits(arguments.n, arguments.rows)


if __name__ == "__main__":
    main()
