"""Fitting a two-layer autoencoder in finite features: linear in the rows, which are read block by block."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from rkhs._core.linalg import divisor, principal_axes
from rkhs.engines import ArrayRows, Rows, Serial, Threads, row_blocks, thread_limit
from rkhs.estimators.autoencoder.fit import Choice, Fit, as_array, codes_again, collapse_warnings
from rkhs.estimators.autoencoder.opened_rows import landmark_space
from rkhs.estimators.autoencoder.settings import Settings
from rkhs.estimators.run import Run, recorded
from rkhs.estimators.storage import announce_features
from rkhs.estimators.training import Training
from rkhs.models import AutoencoderModel, Expansion, Layer, Pricing, Rebuilt, code_map
from rkhs.outputs import RKHS, Euclidean
from rkhs.problems.initial_codes import best_start, normalise_scale
from rkhs.problems.landmark_autoencoder import LandmarkAutoencoder
from rkhs.problems.minibatch_autoencoder import Batches, MiniBatchAutoencoder
from rkhs.protocols import Monitor, Solution
from rkhs.solvers import DoublyStochastic, MiniBatch
from rkhs.spaces import BLOCK, Data, Source, fit_euclidean, gather_rows, open_source, positive_rows
from rkhs.spaces.features.base import sample_rows

__all__ = ["choose_nothing", "open_landmarks"]


@dataclass(frozen=True, eq=False)
class _Opened:
    """Items that are read block by block."""

    training: Training

    def fit(self, choice: Choice, run: Run, previous: AutoencoderModel | None = None) -> Fit:
        """Fit two layers."""
        return fit_landmarks(choice.settings, self.training, run, previous)


def open_landmarks(settings: Settings, training: Training, run: Run) -> _Opened:
    """The items as they are."""
    return _Opened(training)


def choose_nothing(opened: _Opened, settings: Settings, run: Run) -> tuple[_Opened, Choice]:
    """The settings as they are."""
    return opened, Choice(settings)


def fit_landmarks(settings: Settings, training: Training, run: Run, previous: AutoencoderModel | None) -> Fit:
    """Fit two layers in the features of a storage; ``previous`` is a model to start from."""
    clean, own, storage = training.items, training.own, settings.feature_storage
    columns = clean.shape[1] if isinstance(clean, (Rows, Tensor)) else storage.m
    outputs, n = storage.m if settings.features else training.goal.shape[1], len(training) * settings.n_copies
    announce_features(run, storage, n, columns, outputs, settings.widths[0], layers=2)
    training = settings.noisy_copies(training)
    goal = None if own and settings.noise is None else training.goal
    weights = training.row_weights
    source = open_source(run.options, storage, settings.kernel, training.items, weights, goal)
    device = run.options["device"]
    with thread_limit(None if device.type != "cpu" else 1):  # the engine sets it once, not per pass
        problem, output, total = _problem(settings, source, run)
        solution, V = _solve(settings, run, source, problem, previous)
        # Steps are computed in the dtype of the model; the last layer that is kept, and the objective, are in float64.
        exact = replace(problem, sweep=problem.sweep.in_double()).with_safe_ridge(V)
        diagonal = source.kernel._diag(training.items).cpu().numpy() if training.gram else None
        rebuilt = Rebuilt(output, source.kernel if settings.features else None, own, diagonal=diagonal)
        model, codes, value = _model(settings, source, exact, V, rebuilt, Pricing("power", training.total))
    if settings.noise is not None:
        model = replace(model, codes=codes_again(settings, run, model, clean))
    warned = collapse_warnings(value, 0.5 * total, model.reg)
    return Fit(model, replace(solution, value=value), codes, source.diag, tuple(warned))


def _problem(settings: Settings, source: Source, run: Run) -> tuple[LandmarkAutoencoder, RKHS | Euclidean, float]:
    """The reduced objective on all rows, the space of the targets, and their total variance."""
    engine = run.engine_for(source.blocks)
    progress = _progress(len(source.blocks)) if run.verbose else None
    passes = Data(engine.place(source.rows), source.blocks, engine, progress, run.journal)
    sweep = replace(source.sweep(run.options), kernel=settings.decoder_kernels[0])
    anchors = _anchors(settings, source)
    plain = LandmarkAutoencoder(passes, sweep, anchors, (settings.reg[0], settings.reg[-1]))
    if settings.features:
        centred = {"center": bool(settings.center), "scale": bool(settings.scale)}
        features, total = landmark_space(source.features, plain.moments().raw_mean, source.diag, **centred)
        return replace(plain, sweep=replace(sweep, space=features, own_features=True)), features, total
    space = fit_euclidean(passes, source, center=bool(settings.center), scale=bool(settings.scale))
    return replace(plain, sweep=replace(sweep, space=space)), space, 1.0


def _anchors(settings: Settings, source: Source) -> Tensor:
    """Raw features of the anchors: the landmarks, or as many training rows, once each, for random features."""
    raw = source.features.kept_raw()
    if raw is not None:
        return raw
    chosen = positive_rows(source.n, settings.feature_storage.m, source.weights, np.random.RandomState(0))
    rows = np.unique(gather_rows(source.rows, chosen)[:, : source.columns], axis=0)
    return source.evaluated.raw(torch.from_numpy(rows)).to(torch.float64)


def _progress(blocks: int) -> Callable[[int, int], None] | None:
    """Show how far a pass is and how long it will still take, where it takes long enough to ask."""
    if blocks < 16:
        return None
    clock = {"start": time.perf_counter(), "shown": 0.0}

    def show(done: int, total: int) -> None:
        now = time.perf_counter()
        if done <= 1 or done < clock.get("done", 0):
            clock["start"] = now
        clock["done"] = done
        if now - clock["shown"] > 0.5 and done > 1:
            clock["shown"] = now
            left = (now - clock["start"]) / max(done - 1, 1) * (total - done)
            sys.stderr.write(f"\r  block {done} of {total}, {left:.0f} s left of this pass\x1b[K")
            sys.stderr.flush()

    return show


def _solve(
    settings: Settings, run: Run, source: Source, problem: LandmarkAutoencoder, previous: AutoencoderModel | None
) -> tuple[Solution, Tensor]:
    """Descend on a sample of the rows where there are many, then on all of them; or step from batch to batch."""
    solver = settings.solver
    if isinstance(solver, (MiniBatch, DoublyStochastic)):
        return _step(settings, run, solver, source, problem, previous)
    small, rng = _sampled_problem(source, problem), settings.generator()
    first, tried = problem if small is None else small, []
    for attempt, V in _starts(settings, source, first, previous, rng):
        first = first.with_safe_ridge(V)
        if small is not None or settings.n_init > 1:
            label = f"{run.name}, {first.sweep.n} rows, start {attempt + 1}/{settings.n_init}"
            kept = recorded(first, run.journal, "sample")
            tried.append(solver.solve(kept, V, Monitor(verbose=run.verbose, label=label)))
    best = min(tried, key=lambda one: one.value, default=None)
    V = V if best is None else best.point.reshape(V.shape)
    whole = replace(problem, factor=max(problem.factor, first.factor)).with_safe_ridge(V)
    whole = replace(whole, curvature=() if best is None else best.curvature)
    monitor = Monitor(verbose=run.verbose, label=f"{run.name}, {problem.sweep.n} rows")
    solution = solver.solve(recorded(whole, run.journal), V, monitor)
    passes = [*((one, first.sweep.n) for one in tried), (solution, problem.sweep.n)]
    history = tuple({**row, "rows": n} for one, n in passes for row in one.history)
    evaluations = sum(one.n_evaluations for one, _ in passes)
    return replace(solution, history=history, n_evaluations=evaluations), solution.point.reshape(V.shape)


def _step(
    settings: Settings,
    run: Run,
    solver: MiniBatch | DoublyStochastic,
    source: Source,
    problem: LandmarkAutoencoder,
    previous: AutoencoderModel | None,
) -> tuple[Solution, Tensor]:
    """Steps on batches of rows; the objective of all rows in the end."""
    small, rng = _sampled_problem(source, problem), settings.generator()
    first = problem if small is None else small
    tried: list[tuple[Solution, Tensor]] = []
    engine = problem.data.engine if isinstance(problem.data.engine, Threads) else Serial()
    variances, axes = torch.linalg.eigh(first.moments().covariance)
    scales = variances.clamp_min(1e-2 * float(variances[-1]) + 1e-300).sqrt()
    for attempt, V in _starts(settings, source, first, previous, rng):
        safe = replace(problem, factor=first.with_safe_ridge(V).factor)
        batches = Batches(problem.data.rows, solver.batch_size, int(rng.randint(2**31)), source.weights)
        journal = run.journal if attempt == 0 else None
        label = f"{run.name}, batches of {solver.batch_size}, start {attempt + 1}/{settings.n_init}"
        monitor = Monitor(verbose=run.verbose, label=label)
        seen = MiniBatchAutoencoder(safe, batches, engine, scales, axes, part=solver.share, journal=journal)
        found = solver.solve(seen, seen.point(V), monitor)
        V = seen.parameters(found.point)
        safe = safe.with_safe_ridge(V)
        tried.append((replace(found, value=safe.value(V)), V))
    return min(tried, key=lambda one: one[0].value)


def _sampled_problem(source: Source, problem: LandmarkAutoencoder) -> LandmarkAutoencoder | None:
    """The problem on a sample of the rows; None where it would not be much smaller."""
    size = max(4 * BLOCK, 16 * problem.dim)
    if source.n < 3 * size:
        return None
    chosen = sample_rows(source.n, size, np.random.RandomState(1))
    assert chosen is not None
    weights = None if source.weights is None else source.weights[chosen] / source.weights[chosen].sum()
    blocks = row_blocks(size, BLOCK)
    rows = problem.data.engine.place(ArrayRows(gather_rows(source.rows, chosen)))
    data = Data(rows, blocks, problem.data.engine, journal=problem.data.journal)
    return replace(problem, data=data, sweep=replace(problem.sweep, n=size, weights=weights))


def _starts(
    settings: Settings,
    source: Source,
    problem: LandmarkAutoencoder,
    previous: AutoencoderModel | None,
    rng: np.random.RandomState,
) -> Iterator[tuple[int, Tensor]]:
    """Numbers and parameters of the starts: those of a model with the same features, if there is one, are the first."""
    p, known = settings.widths[0], None if previous is None else previous.encoder.coefficients
    for attempt in range(settings.n_init):
        if attempt == 0 and known is not None and known.shape == (source.features.width, p):
            yield attempt, source.features.unwhiten(torch.as_tensor(known))
        else:
            yield attempt, _start(problem, p, rng, random=attempt > 0 or settings.init == "random")


def _start(problem: LandmarkAutoencoder, p: int, rng: np.random.RandomState, *, random: bool) -> Tensor:
    """Kernel PCA scores, or random codes, at the best of six scales."""
    moments = problem.moments()
    dim = problem.dim
    if random:
        V = torch.as_tensor(rng.standard_normal((dim, p)))
    else:
        values, vectors = torch.linalg.eigh(moments.covariance)
        kept = min(p, dim)
        V = torch.zeros(dim, p, dtype=torch.float64)
        V[:, :kept] = vectors.flip(1)[:, :kept] * (values.flip(0)[:kept] > 1e-12 * float(values[-1]))
        # Codes around zero: the features that come nearest to the constant 1 carry the mean.
        second = moments.covariance + torch.outer(moments.mean, moments.mean)
        second.diagonal().add_(1e-10 * float(second.diagonal().mean()) + 1e-300)
        one = torch.linalg.solve(second, moments.mean)
        V -= torch.outer(one, moments.mean @ V)
    part = replace(problem, data=replace(problem.data, blocks=problem.data.blocks[:1]))
    Z = part.codes(V)[: BLOCK // 2].to(torch.float64)
    w = None if problem.sweep.weights is None else torch.as_tensor(problem.sweep.weights[: len(Z)])
    unit = normalise_scale(Z, w if w is None or not float(w.sum()) > 0.0 else w / w.sum())
    size = float((unit * unit).sum() / divisor((Z * Z).sum())) ** 0.5
    if not size > 0.0:
        return V

    return best_start(problem.value, lambda scale: V * (size * scale))


def _model(
    settings: Settings,
    source: Source,
    problem: LandmarkAutoencoder,
    V: Tensor,
    rebuilt: Rebuilt,
    pricing: Pricing,
) -> tuple[AutoencoderModel, Tensor, float]:
    """The model of parameters, its codes on principal axes, and the objective."""
    codes, kernel = problem.codes(V), settings.decoder_kernels[0]
    w = None if source.weights is None else torch.as_tensor(source.weights)
    if kernel.rotation_invariant:
        Q = principal_axes(codes, None if w is None else w.to(codes))
        V, codes = V @ Q.to(V), codes @ Q
    layer, power = problem.last_layer(V)[0], float(settings.code_metric)
    M = code_map(codes.to(torch.float64), layer.anchors, kernel, layer.coefficients, None, power, w)
    fitted = AutoencoderModel(
        source.kernel,
        Expansion(source.features, as_array(source.features.whiten(V))),
        None,
        (Layer(kernel, as_array(layer.anchors), as_array(layer.coefficients)),),
        rebuilt,
        settings.reg,
        np.empty(0),
        None if M is None else as_array(M),
        pricing,
        support=np.arange(len(layer.anchors)),
        row_weights=source.weights,
    )
    fitted = replace(fitted, codes=fitted.shown(codes).cpu().numpy())
    return fitted, codes, layer.value + 0.5 * problem.reg[0] * float((V * V).sum())
