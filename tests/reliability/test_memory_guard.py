"""Fits stay within the memory they announce, and what cannot fit is refused at once."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from rkhs import KernelAutoencoder, KernelPCA
from rkhs._core.errors import InputError

ROOT = Path(__file__).resolve().parents[2]

CHILD = """
import json, resource, sys, warnings
import numpy as np, torch
from rkhs import DeepRKM, KernelAutoencoder, KernelContrastive, KernelPCA
from rkhs.features import Nystroem
from rkhs.kernels import Gaussian
warnings.simplefilter("ignore")
torch.set_num_threads(1)
unit = 1 if sys.platform == "darwin" else 1024
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
r = np.random.default_rng(0)
asks = [
    (KernelPCA(2, kernel=Gaussian(0.2), storage=Nystroem(50)), 30_000),
    (KernelPCA(2, kernel=Gaussian(0.2)), 2_500),
    (KernelAutoencoder(2, kernel=Gaussian(0.2), max_iter=1), 2_500),
    (KernelAutoencoder(2, kernel=Gaussian(0.2), storage=Nystroem(50), solver="minibatch", max_iter=3), 30_000),
    (KernelContrastive(2, kernel=Gaussian(0.2), storage=Nystroem(50)), 5_000),
    (DeepRKM(2, kernel=Gaussian(0.2), storage=Nystroem(50)), 20_000),
]
for model, _ in asks:
    model.fit(r.standard_normal((300, 4)))
found = []
for model, n in asks:
    X = r.standard_normal((n, 4))
    before = peak()
    model.fit(X)
    found.append([model.announced_bytes_, peak() - before])
print(json.dumps(found))
"""


def test_peaks_stay_within_what_was_announced() -> None:
    done = subprocess.run([sys.executable, "-c", CHILD], capture_output=True, text=True, cwd=ROOT / "src", check=True)
    for announced, peak in json.loads(done.stdout):
        assert peak <= 1.2 * announced


@pytest.mark.parametrize("n", [200_000, 1_000_000, 10_000_000])
@pytest.mark.parametrize("estimator", [KernelPCA, KernelAutoencoder])
def test_millions_of_rows_are_refused_at_once_with_the_storage_that_fits(estimator: type, n: int) -> None:
    X = np.zeros((n, 1))
    X[::2] = 1.0
    with pytest.raises(InputError, match=rf"n={n} rows with storage='dense' needs about .*iB .*Use storage=Nystroem"):
        estimator(2).fit(X)
