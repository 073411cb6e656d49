"""The window of regularisation of the spectral contrastive loss: unbounded on the left, zero codes on the right."""

from __future__ import annotations

import warnings

import matplotlib.pyplot as plt
import numpy as np
from gallery import save

from rkhs import KernelContrastive
from rkhs._core.errors import InputError
from rkhs.kernels import Gaussian


def main(n: int = 80, steps: int = 25) -> dict[str, float]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    plus, minus = X + 0.3 * rng.normal(size=X.shape), rng.normal(size=X.shape)
    model = KernelContrastive(1, kernel=Gaussian(0.2), loss="spectral", max_iter=3000)
    low, high = model.fit(X, positives=plus, negatives=minus).lambda_bounds_
    regs = np.geomspace(0.2 * low, 1.5 * high, steps)
    losses = []
    for reg in regs:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                losses.append(model.set_params(reg=reg).fit(X, positives=plus, negatives=minus).objective_)
            except InputError:
                losses.append(np.nan)  # the codes grew without limit
    values = np.array(losses)
    figure, axis = plt.subplots(figsize=(8, 4.5))
    axis.plot(regs, values, "o-", color="tab:blue", label="minimum found")
    lost = np.isnan(values)
    axis.plot(regs[lost], np.full(lost.sum(), np.nanmin(values)), "x", color="tab:red", label="unbounded below")
    for value, name in ((low, "certainly unbounded below this"), (high, "codes are zero from here on")):
        axis.axvline(value, color="grey", linestyle="--")
        axis.text(value, 0.5 * np.nanmin(values), name, rotation=90, va="center", ha="right", fontsize=9)
    axis.set_xscale("log")
    axis.set_yscale("symlog")
    axis.set(xlabel="reg", ylabel="spectral loss at its minimum", title="One negative an anchor")
    axis.legend()
    save(figure, "spectral_window")
    inside = (regs > low) & (regs < high)
    result = {
        "low": float(low),
        "high": float(high),
        "unbounded below low": float(lost[regs < low].mean()),
        "largest loss inside": float(np.nanmax(values[inside])),
        "largest |loss| outside": float(np.abs(values[regs >= high]).max()),
    }
    for name, value in result.items():
        print(f"{name}: {value:.4g}")
    return result


if __name__ == "__main__":
    main()
