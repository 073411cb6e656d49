"""Uses the installed package as a stranger would; run by ``./dev smoke`` where only the core dependencies are."""

import time

start = time.perf_counter()
import rkhs  # noqa: E402

seconds = time.perf_counter() - start
print(f"import rkhs {rkhs.__version__}: {seconds:.3f} s")
assert seconds < 0.3, "import rkhs must take less than 0.3 s"

import numpy as np  # noqa: E402
import sklearn.base  # noqa: E402, F401
import torch  # noqa: E402, F401

start = time.perf_counter()
from rkhs import KernelPCA  # noqa: E402

print(f"KernelPCA, above torch and scikit-learn: {time.perf_counter() - start:.3f} s")

X = np.random.default_rng(0).normal(size=(50, 5))
Z = KernelPCA(n_components=2).fit_transform(X)
assert Z.shape == (50, 2), Z.shape
assert np.isfinite(Z).all()
print("KernelPCA fitted 50 rows: codes of shape", Z.shape)
