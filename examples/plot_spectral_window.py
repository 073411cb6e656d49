"""The window of the spectral loss
===============================

The spectral contrastive loss with given negatives has a window of regularisation. On its left the loss is unbounded
below; on its right all codes are zero.
"""

from __future__ import annotations

import warnings

import matplotlib.pyplot as plt
import numpy as np
from gallery import save

from rkhs import KernelContrastive
from rkhs.errors import InputError
from rkhs.kernels import Gaussian


def main(n: int = 60, steps: int = 15) -> dict[str, float]:
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
    figure, axis = plt.subplots(figsize=(8.5, 4.5), layout="constrained")
    axis.plot(regs, values, "o-", color="tab:blue", label="minimum found")
    lost = np.isnan(values)
    axis.plot(regs[lost], np.full(lost.sum(), np.nanmin(values)), "x", color="tab:red", label="unbounded below")
    axis.set_xscale("log")
    axis.set_yscale("symlog")
    axis.set(xlim=(regs[0] / 1.2, regs[-1] * 1.2), ylim=(5.0 * np.nanmin(values), 30.0))
    axis.axvspan(regs[0] / 1.2, low, color="#d55e00", alpha=0.15, linewidth=0)
    axis.axvspan(high, regs[-1] * 1.2, color="grey", alpha=0.2, linewidth=0)
    places = (np.sqrt(regs[0] * low), np.sqrt(low * high), np.sqrt(high * regs[-1]))
    for place, name in zip(places, ("certainly\nunbounded", "the window", "all codes\nare zero"), strict=True):
        axis.text(place, 0.95, name, transform=axis.get_xaxis_transform(), va="top", ha="center", fontsize=9)
    axis.set(xlabel="reg", ylabel="spectral loss at its minimum", title="Spectral loss, one negative an anchor")
    axis.legend(loc="lower right")
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
