"""Tables from measured cells: wins, losses, mean ranks with Nemenyi's critical difference, refined codes, times."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
from scipy.stats import rankdata, studentized_range

from studies.bench.usefulness.heads import HEADS

OURS = "KernelAutoencoder"
PEERS = ("PCA", "KernelPCA (scikit-learn), tuned", "network", "KernelPCA")
Cells = list[dict[str, Any]]


def report(cells: Cells) -> str:
    """All tables in Markdown; sets that were used to choose defaults apart from the others."""
    good = [cell for cell in cells if "fit_s" in cell]
    if not good:
        return "nothing was measured"
    seeds, rows = len({c["seed"] for c in good}), max(c["n"] for c in good)
    parts = [f"{len(good)} cells, {seeds} splits, at most {rows} rows fitted and a quarter of all measured."]
    for title, development in (("Sets that were not used to choose defaults", False), ("Development sets", True)):
        part = [cell for cell in good if cell["development"] == development]
        if part:
            parts.append(f"## {title}")
            for level in (10, 2):
                chosen = [cell for cell in part if cell["level"] == level]
                if chosen:
                    parts += [f"### {level} components", *_tables(chosen)]
    parts += ["## Refined against plain codes", refined(good), "## Seconds", times(good)]
    failed = [cell for cell in cells if "failed" in cell]
    if failed:
        parts.append("## Failed\n\n" + "\n".join(f"- {c['method']} on {c['set']}: {c['failed']}" for c in failed))
    return "\n\n".join(parts)


def _tables(cells: Cells) -> list[str]:
    return [duels(cells), errors(cells), head_duels(cells), heads(cells)]


# ---------------------------------------------------------------- reconstruction


def _by_set(cells: Cells, method: str, key: str = "rows") -> dict[str, dict[int, np.ndarray]]:
    found: dict[str, dict[int, np.ndarray]] = {}
    for cell in cells:
        if cell["method"] == method and key in cell:
            found.setdefault(cell["set"], {})[cell["seed"]] = np.array(cell[key])
    return found


def compare(a: dict[int, np.ndarray], b: dict[int, np.ndarray]) -> tuple[float, int]:
    """Ratio of mean errors, and -1, 0 or 1: less, level or more by one standard error of the paired rows."""
    shared = sorted(a.keys() & b.keys())
    if not shared:
        return math.nan, 0
    first, second = (np.concatenate([one[seed] for seed in shared]) for one in (a, b))
    difference = first - second
    error = difference.std(ddof=1) / math.sqrt(len(difference))
    sign = 0 if abs(difference.mean()) <= error else int(np.sign(difference.mean()))
    return float(first.mean() / max(second.mean(), 1e-300)), sign


def duels(cells: Cells) -> str:
    """Our autoencoder against each peer: ratio of errors, wins, ties, every loss by name, and the ratio of times."""
    own = _by_set(cells, OURS)
    lines = [
        "| held-out error against | tasks | ratio | less | level | more | losses (ratio) | time (quartiles) |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for peer in PEERS:
        other = _by_set(cells, peer)
        shared = [name for name in own if own[name].keys() & other.get(name, {}).keys()]
        if not shared:
            continue
        results = {name: compare(own[name], other[name]) for name in shared}
        mean = math.exp(np.mean([math.log(max(ratio, 1e-12)) for ratio, _ in results.values()]))
        signs = [sign for _, sign in results.values()]
        lost = ", ".join(f"{name} ({ratio:.2f})" for name, (ratio, sign) in results.items() if sign > 0) or "none"
        counts = " | ".join(str(signs.count(sign)) for sign in (-1, 0, 1))
        low, middle, high = (
            f"{value:.2g}" if value < 10.0 else f"{value:.0f}"
            for value in np.quantile(_time_ratios(cells, peer), (0.25, 0.5, 0.75))
        )
        spent = f"{middle} ({low} to {high})"
        lines.append(f"| {peer} | {len(shared)} | {mean:.3f} | {counts} | {lost} | {spent} |")
    return "\n".join(lines)


def _time_ratios(cells: Cells, peer: str) -> list[float]:
    """Seconds of our fit over those of a peer's, on the same rows; what each of them chooses included."""
    seconds = {(cell["set"], cell["seed"], cell["method"]): cell["fit_s"] for cell in cells}
    return [
        seconds[data, seed, OURS] / max(spent, 1e-9)
        for (data, seed, method), spent in seconds.items()
        if method == peer and (data, seed, OURS) in seconds
    ]


def errors(cells: Cells) -> str:
    """Share of variance not rebuilt on held-out rows, mean and standard error over splits; the least is bold."""
    names = _methods(cell for cell in cells if "fvu" in cell)
    lines = [f"| set | {' | '.join(names)} |", "|---" * (len(names) + 1) + "|"]
    for data in _ordered(cell["set"] for cell in cells):
        values = {n: [c["fvu"] for c in cells if c["set"] == data and c["method"] == n and "fvu" in c] for n in names}
        means = {n: float(np.mean(v)) for n, v in values.items() if v}
        if not means:
            continue
        least = min(means.values())
        shown = []
        for n in names:
            if n not in means:
                shown.append("")
                continue
            text = f"{means[n]:.3g}" if means[n] >= 0.001 else f"{means[n]:.1e}"
            text += f" ± {np.std(values[n], ddof=1) / math.sqrt(len(values[n])):.1g}" if len(values[n]) > 1 else ""
            shown.append(f"**{text}**" if means[n] == least else text)
        lines.append(f"| {data} | {' | '.join(shown)} |")
    return "\n".join(lines)


# ---------------------------------------------------------------- heads


def _scores(cells: Cells, head: str) -> dict[str, dict[str, dict[int, float]]]:
    """Set to method to split to score."""
    found: dict[str, dict[str, dict[int, float]]] = {}
    for cell in cells:
        if head in cell.get("heads", {}):
            found.setdefault(cell["set"], {}).setdefault(cell["method"], {})[cell["seed"]] = cell["heads"][head]
    return found


def head_duels(cells: Cells) -> str:
    """Our autoencoder's codes against three others, head by head; level: within one standard error over splits."""
    rivals = ("PCA", "KernelPCA (scikit-learn), tuned", "network", "raw inputs")
    lines = [
        f"| head on {OURS} codes: better, level, worse than | {' | '.join(rivals)} |",
        "|---" * (len(rivals) + 1) + "|",
    ]
    for head in HEADS:
        scores = _scores(cells, head)
        shown = []
        for rival in rivals:
            pairs = [(s[OURS], s[rival]) for s in scores.values() if OURS in s and rival in s]
            signs = [_sign(a, b) for a, b in pairs]
            shown.append(f"{signs.count(1)}, {signs.count(0)}, {signs.count(-1)}")
        lines.append(f"| {head} | {' | '.join(shown)} |")
    return "\n".join(lines)


def _sign(a: dict[int, float], b: dict[int, float]) -> int:
    difference = np.array([a[seed] - b[seed] for seed in sorted(a.keys() & b.keys())])
    if not len(difference):
        return 0
    error = difference.std(ddof=1) / math.sqrt(len(difference)) if len(difference) > 1 else 0.005
    return 0 if abs(difference.mean()) <= max(error, 1e-9) else int(np.sign(difference.mean()))


def heads(cells: Cells) -> str:
    """Mean rank of every method a head, over the sets on which all of them were measured, with what would differ."""
    vectors = [cell for cell in cells if not cell["gram"]]
    measured = [cell for cell in vectors if "heads" in cell]
    total = len({cell["set"] for cell in measured})
    # A method of which most cells are missing would leave few sets to rank on.
    names = [n for n in _methods(measured) if 2 * len({c["set"] for c in measured if c["method"] == n}) > total]
    lines = [
        f"| mean rank (mean score) | {' | '.join(names)} | sets | critical difference |",
        "|---" * (len(names) + 3) + "|",
    ]
    for head in HEADS:
        scores = _scores(vectors, head)
        table = [[np.mean(list(s[n].values())) for n in names] for s in scores.values() if all(n in s for n in names)]
        if len(table) < 2 or len(names) < 2:
            continue
        ranks = np.mean([rankdata([-value for value in row]) for row in table], 0)
        mean = np.mean(table, 0)
        shown = [f"{rank:.1f} ({value:.3f})" for rank, value in zip(ranks, mean, strict=True)]
        lines.append(
            f"| {head} | {' | '.join(shown)} | {len(table)} | {critical_difference(len(names), len(table)):.1f} |"
        )
    return "\n".join(lines)


def critical_difference(methods: int, tasks: int, level: float = 0.05) -> float:
    """Nemenyi's, Demsar (2006), section 3.2.2: mean ranks further apart than this differ."""
    q = float(studentized_range.ppf(1.0 - level, methods, np.inf)) / math.sqrt(2.0)
    return q * math.sqrt(methods * (methods + 1) / (6.0 * tasks))


# ---------------------------------------------------------------- refined codes and times


def refined(cells: Cells) -> str:
    """Ratio of the errors of refined and plain codes by set, and where the refined ones are worse."""
    lines = ["| set | components | refined / plain | |", "|---|---|---|---|"]
    ratios, worse = [], 0
    for level in (10, 2):
        chosen = [cell for cell in cells if cell["level"] == level]
        fine, plain = _by_set(chosen, OURS), _by_set(chosen, OURS, "plain_rows")
        for name in fine:
            if name in plain:
                ratio, sign = compare(fine[name], plain[name])
                ratios.append(ratio)
                worse += sign > 0
                lines.append(f"| {name} | {level} | {ratio:.3f} | {('better', 'level', '**worse**')[sign + 1]} |")
    if not ratios:
        return "not measured"
    mean = math.exp(np.mean(np.log(np.maximum(ratios, 1e-12))))
    first = f"Geometric mean {mean:.3f} over {len(ratios)} tasks; largest {max(ratios):.3f}; worse beyond one standard "
    first += f"error on {worse}."
    return first + "\n\n" + "\n".join(lines)


def times(cells: Cells) -> str:
    """Median and largest seconds to fit, what a method chooses included, and to encode the test part; one thread."""
    lines = ["| method | fit, median | fit, largest | encode, median |", "|---|---|---|---|"]
    for name in _methods(cells):
        fits = [cell["fit_s"] for cell in cells if cell["method"] == name]
        codes = [cell["encode_s"] for cell in cells if cell["method"] == name]
        lines.append(f"| {name} | {np.median(fits):.3g} | {max(fits):.3g} | {np.median(codes):.3g} |")
    return "\n".join(lines)


def _methods(cells: Iterable[dict[str, Any]]) -> list[str]:
    """Ours first, each group by name."""
    found = {(not cell["ours"], cell["method"]) for cell in cells}
    return [name for _, name in sorted(found, key=lambda pair: (pair[0], pair[1] != OURS, pair[1]))]


def _ordered(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(names))
