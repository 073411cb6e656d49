"""Memory of fits on landmarks, and the storage to advise if n x n matrices do not fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rkhs._core.errors import InputError
from rkhs._core.memory import SHARE, available_bytes, readable
from rkhs.engines import count_threads
from rkhs.estimators.options.combinations import RULES, check_combination
from rkhs.problems.coordinates import STRIP
from rkhs.problems.encoders import MAX_ENCODER_ROWS
from rkhs.problems.last_layers import MORE
from rkhs.spaces.features import Nystroem

_RATE = 1e10  # operations of one core in a second, in double precision
_MATRICES, _COUNTS = 4.5, (1000, 500, 200, 100)  # matrices of a dense fit; landmarks that are advised
_MEASURED = {
    "KernelAutoencoder": "0.85 to 1.03 of the error of dense storage at 1,500 rows",
    "features": "0.90 to 1.01 of the error of dense storage at 1,400 and 2,000 molecules",
    "KernelPCA": "0.99 of the error of dense storage at 5,000 rows",
}


_ON_LANDMARKS = "OperatorKernelRegressor with storage=Nystroem(1000) of rkhs.features"
_WITHOUT_STORAGE = {
    "GramTransformer": "Use Nystroem(1000) of rkhs.features in its place, whose inner products are nearly the same",
    "FunctionalKernelRegressor": f"Use {_ON_LANDMARKS}, on curves at the same times as rows, or fewer curves",
    "InputOutputKernelRegressor": f"Use fewer rows, or {_ON_LANDMARKS} where outputs are vectors",
    "OperatorKernelRegressorCV": f"Use kernel='auto' on rows of numbers, {_ON_LANDMARKS}, or fewer rows",
}
"""The way out of an estimator without ``storage``; of others, fewer rows."""


def staged_bytes(n: int, m: int, features: int, *, columns: int, outputs: int, components: int) -> float:
    """Memory of a fit in stages with ``m`` anchors: features of the rows, copies of the data, strips, squares."""
    fitted, last = min(n, MAX_ENCODER_ROWS), min(n, MORE * m)
    workers, p = min(count_threads(), -(-fitted // STRIP)), components
    resident = fitted * (features + 48 * p) + n * (2 * columns + 4 * outputs + 4 * p)
    tiles = (workers + 1) * STRIP * (5 * last + 2 * outputs) + 2 * min(outputs, 2000) ** 2
    squares = (4 + 2 * workers) * (last * last + (features + p) ** 2) + 3 * last * outputs
    return 8.0 * (resident + tiles + squares) + 2**25


def dense_advice(name: str, parameters: Mapping[str, Any], n: int, columns: int, matrices: float = _MATRICES) -> str:
    """Sentences for a refusal of dense storage, of a fit that holds so many n x n matrices."""
    there = SHARE * available_bytes()
    rows = int((there / (max(matrices, _MATRICES) * (4 if parameters.get("dtype") == "float32" else 8))) ** 0.5)
    fewer = f"at most some {rows:,} rows fit"
    if "storage" not in parameters or name in _WITHOUT_STORAGE:
        return f"{_WITHOUT_STORAGE.get(name, 'Use fewer rows')}; here {fewer}"
    p = parameters.get("n_components")
    p = p if isinstance(p, int) else 10
    features = columns == 0 or parameters.get("output_kernel") is not None
    m, n_bytes = _fitting(name, _COUNTS, n, None if features else columns, p)
    if m is None:
        return f"Use fewer rows: {fewer}"
    try:
        if name in RULES:
            check_combination(name, {**parameters, "storage": Nystroem(m)})
    except InputError as error:
        return f"Use fewer rows ({fewer}), or other options: {error}"
    measured = _MEASURED.get("features" if features and name == "KernelAutoencoder" else name)
    measured = "" if measured is None or m < _COUNTS[0] else f" (measured: {measured})"
    seconds = _seconds(name, n, m, m if features else columns, p)
    needed = f"{readable(n_bytes)}{measured} and {_duration(seconds)} of one core"
    return f"Use storage=Nystroem({m}) of rkhs.features, which needs about {needed}; with dense storage {fewer}"


def _seconds(name: str, n: int, m: int, columns: int, components: int) -> float:
    """Seconds of one core for a fit on landmarks, from its operations, within a factor of about three."""
    if name != "KernelAutoencoder":
        return n * m * (m + 2.0 * columns) / _RATE
    fitted, last, width = min(n, MAX_ENCODER_ROWS), min(n, MORE * m), columns + components
    descent = 40.0 * fitted * (m // 2) * (m // 2 + 6.0 * width)
    return (descent + 12.0 * (n - fitted) * last * 4.0 * width + n * last * (last + 2.0 * columns)) / _RATE


def _duration(seconds: float) -> str:
    if seconds < 90.0:
        return f"some {max(1.0, seconds):.0f} s"
    return f"some {seconds / 60.0:.0f} minutes" if seconds < 5400.0 else f"some {seconds / 3600.0:.0f} hours"


def landmark_advice(m: int, n: int, columns: int, components: int) -> str:
    """Sentence for a refusal of a fit in stages with so many landmarks or features."""
    found, n_bytes = _fitting("KernelAutoencoder", [one for one in _COUNTS if one < m], n, columns, components)
    if found is None:
        return "Use fewer rows"
    return f"Use storage=Nystroem({found}) of rkhs.features, which needs about {readable(n_bytes)}"


def _fitting(
    name: str, counts: Sequence[int], n: int, columns: int | None, components: int
) -> tuple[int | None, float]:
    """The most landmarks that fit, and their memory; ``columns`` None: features are rebuilt, as many as landmarks."""
    there = SHARE * available_bytes()
    needs = ((m, _landmark_bytes(name, n, m, m if columns is None else columns, components)) for m in counts)
    return next(((m, n_bytes) for m, n_bytes in needs if n_bytes <= there), (None, 0.0))


def _landmark_bytes(name: str, n: int, m: int, columns: int, components: int) -> float:
    if name != "KernelAutoencoder":
        return 16.0 * m * (n / 20 + m)
    return staged_bytes(n, m, min(n, m), columns=columns, outputs=columns, components=components)
