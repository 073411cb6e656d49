"""Fitting a two-layer autoencoder in finite features: linear in the rows, which are read block by block."""

from __future__ import annotations

import sys
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from rkhs._core.checks import check_seed
from rkhs._core.errors import InputError
from rkhs._core.linalg import divisor, factorize, principal_axes
from rkhs.engines import ArrayRows, Engine, Rows, Serial, Threads, row_blocks, thread_limit
from rkhs.estimators.autoencoder_fit import Fit, as_array, codes_again, collapse_warnings
from rkhs.estimators.autoencoder_settings import BATCHED, Settings, read_settings
from rkhs.estimators.run import recorded
from rkhs.estimators.storage import announce_features
from rkhs.estimators.tiles import read_row_weights, read_rows
from rkhs.estimators.training import Training, read_targets
from rkhs.features import Storage
from rkhs.features.base import sample_rows
from rkhs.models import AutoencoderModel, Expansion, Layer, Pricing, Rebuilt
from rkhs.models.code_metric import code_map
from rkhs.outputs import RKHS, Euclidean
from rkhs.outputs.base import scale_factor
from rkhs.problems.landmark_autoencoder import LandmarkAutoencoder
from rkhs.problems.minibatch_autoencoder import Batches, MiniBatchAutoencoder
from rkhs.problems.start import best_scale, normalise_scale
from rkhs.protocols import Monitor, Solution
from rkhs.solvers import LBFGS, MiniBatch
from rkhs.spaces import (
    BLOCK,
    Data,
    FeatureMoments,
    Source,
    fit_euclidean,
    gather_rows,
    open_source,
    positive_rows,
)

if TYPE_CHECKING:
    from rkhs.estimators.kernel_autoencoder import KernelAutoencoder

__all__ = ["fit_landmarks"]


def fit_landmarks(model: KernelAutoencoder, storage: Storage, X: Any, targets: Any, sample_weight: Any) -> Fit:
    """Fit a :class:`KernelAutoencoder` of two layers in the features of a storage."""
    kernel = model._kernel_for(X)
    settings = read_settings(model, kernel, refined=bool(model.refine) and targets is None)
    data = read_rows(model, X, kernel)
    _refuse(model, storage, settings, data, targets)
    given = None if targets is None and not model._noisy else read_targets(model, targets, data, kernel, settings)
    data, goal, weights, weight = read_row_weights(model, sample_weight, data, kernel, given)
    n = data.shape[0] if isinstance(data, Rows) else len(data)
    clean = data
    if goal is not None and model._noisy:
        data, goal, weights = _noisy(model, Training(data, goal, targets is None, None, 1.0, None, n), weights)
    columns = data.shape[1] if isinstance(data, (Rows, Tensor)) else storage.m
    outputs = storage.m if settings.features else columns if goal is None else goal.shape[1]
    announce_features(model._run, storage, n * model.n_copies, columns, outputs, settings.widths[0], layers=2)
    source = open_source(model._options, storage, kernel, data, weights, goal)
    settings.check_rows(source.n if weights is None else int((weights > 0.0).sum()), None)
    engine = model._run.engine_for(source.blocks)
    with thread_limit(None if model._options["device"].type != "cpu" else 1):  # the engine sets it once, not per pass
        solution, fitted, total = _descend(
            model, settings, source, data, engine, Pricing("power", weight), own=targets is None
        )
    if model._noisy:
        fitted = replace(fitted, codes=codes_again(model, fitted, clean))
    return Fit(fitted, solution, tuple(collapse_warnings(solution.value, 0.5 * total, fitted.reg)))


def _refuse(model: KernelAutoencoder, storage: Storage, settings: Settings, data: Any, targets: Any) -> None:
    """Refuse what needs an exact factor of the Gram matrix, and say what to use."""

    def needs_dense(what: str, instead: str) -> InputError:
        return InputError(f"{what} needs storage='dense'; {instead} with storage={storage!r}")

    if len(settings.widths) > 1:
        raise needs_dense("a deep autoencoder", "use one number of components")
    if model.constraint != "none":
        raise needs_dense(f"constraint={model.constraint!r}", "use constraint='none'")
    if not (isinstance(model.loss, str) and model.loss == "squared"):
        raise needs_dense(f"loss={model.loss!r}", "use loss='squared'")
    if settings.linear_part != "kernel":
        raise needs_dense(f"linear_part={model.linear_part!r}", "use linear_part='kernel'")
    if model.operators is not None:
        raise needs_dense("operators", "use operators=None")
    if model.solver not in ("lbfgs", *BATCHED):
        raise needs_dense(f"solver={model.solver!r}", "use solver='lbfgs', 'minibatch' or 'doubly_stochastic'")
    if isinstance(data, Rows) and (targets is not None or model._noisy):
        raise InputError("targets and noise need inputs in memory; got rows that are read from a file")
    if settings.candidates:
        raise needs_dense("reg='auto'", "use reg=None or numbers")
    if settings.features:
        if not storage.keeps_items:
            raise InputError("features as outputs need landmarks; use storage=Nystroem(m), or output_kernel=None")
        if settings.output_kernel != model._input_kernel():
            raise needs_dense("an output_kernel that is not the input kernel", "use output_kernel='same'")
        if targets is not None or model._noisy:
            raise needs_dense("features of other targets as outputs", "leave targets out")


def _noisy(
    model: KernelAutoencoder, training: Training, weights: np.ndarray | None
) -> tuple[Tensor, Tensor, np.ndarray | None]:
    """Noisy copies of the items, with their targets and weights."""
    given = None if weights is None else torch.as_tensor(weights).to(training.items)
    seed = int(check_seed(model.random_state).randint(2**31))
    noisy = replace(training, weights=given).noisy(float(model.noise_std), int(model.n_copies), seed)
    w = None if noisy.weights is None else noisy.weights.to("cpu", torch.float64).numpy()
    return noisy.items, noisy.goal, w


def _descend(
    model: KernelAutoencoder,
    settings: Settings,
    source: Source,
    data: Any,
    engine: Engine,
    pricing: Pricing,
    *,
    own: bool,
) -> tuple[Solution, AutoencoderModel, float]:
    """Solve, and return the solution, the model and the total variance of the targets.

    Steps are computed in the dtype of the model; the last layer that is kept, and the objective, are in float64.
    """
    problem, space, total = _problem(model, settings, source, engine)
    solution, V = _solve(model, settings, source, problem)
    exact = replace(problem, sweep=problem.sweep.in_double()).with_safe_ridge(V)
    gram = source.kernel.domain == "gram"
    diagonal = source.kernel._diag(data).cpu().numpy() if gram else None
    rebuilt = Rebuilt(space, source.kernel if settings.features else None, own, diagonal=diagonal)
    fitted, value = _model(model, settings, source, exact, V, rebuilt, pricing)
    return replace(solution, value=value), fitted, total


def _problem(
    model: KernelAutoencoder, settings: Settings, source: Source, engine: Engine
) -> tuple[LandmarkAutoencoder, RKHS | Euclidean, float]:
    """The reduced objective on all rows, the space of the targets, and their total variance."""
    progress = _progress(model, len(source.blocks))
    passes = Data(engine.place(source.rows), source.blocks, engine, progress, model._run.journal)
    sweep = replace(source.sweep(model._options), kernel=settings.decoder_kernels[0])
    anchors = _anchors(model, source)
    plain = LandmarkAutoencoder(passes, sweep, anchors, (settings.reg[0], settings.reg[-1]))
    if settings.features:
        features, total = _landmark_space(model, source, plain.moments())
        return replace(plain, sweep=replace(sweep, space=features, own_features=True)), features, total
    space = fit_euclidean(passes, source, center=bool(model.center), scale=bool(model.scale))
    return replace(plain, sweep=replace(sweep, space=space)), space, 1.0


def _landmark_space(model: KernelAutoencoder, source: Source, moments: FeatureMoments) -> tuple[RKHS, float]:
    """Features of the kernel as targets, in coordinates of the span of the landmarks."""
    features = source.features
    K = features.kept_raw()
    assert K is not None
    center = bool(model.center)
    gram_mean = moments.raw_mean if center else torch.zeros_like(moments.raw_mean)
    total = float(moments.mean @ moments.mean) if center else 0.0
    C = (K - gram_mean[:, None]).sub_(gram_mean[None, :]).add_(total)
    variance = max(source.diag - total, 0.0)
    factor = scale_factor(variance) if model.scale else 1.0
    factored = factorize(C.div_(factor**2))
    mean = features.whiten(moments.mean[:, None])[:, 0].numpy() if center else None
    space = RKHS(mean, gram_mean.numpy(), total, factor, factored.triangle.numpy(), factored.pivots.numpy())
    return space, variance / factor**2


def _anchors(model: KernelAutoencoder, source: Source) -> Tensor:
    """Raw features of the anchors: the landmarks, or as many training rows, once each, for random features."""
    raw = source.features.kept_raw()
    if raw is not None:
        return raw
    chosen = positive_rows(source.n, model.storage.m, source.weights, np.random.RandomState(0))
    rows = np.unique(gather_rows(source.rows, chosen)[:, : source.columns], axis=0)
    return source.evaluated.raw(torch.from_numpy(rows)).to(torch.float64)


def _progress(model: KernelAutoencoder, blocks: int) -> Any:
    """Show how far a pass is and how long it will still take, where it takes long enough to ask."""
    if not model.verbose or blocks < 16:
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
    model: KernelAutoencoder, settings: Settings, source: Source, problem: LandmarkAutoencoder
) -> tuple[Solution, Tensor]:
    """Descend on a sample of the rows where there are many, then on all of them; or step from batch to batch."""
    if model.solver in BATCHED:
        return _step(model, settings, source, problem)
    small = _sampled_problem(model, source, problem)
    first = problem if small is None else small
    rng = check_seed(model.random_state)
    best: tuple[float, Tensor, tuple[Any, ...]] | None = None
    history: list[dict[str, Any]] = []
    evaluations = 0
    previous = _previous(model, source, settings.widths[0])
    for attempt in range(model.n_init):
        if attempt == 0 and previous is not None:
            V = previous
        else:
            V = _start(model, first, settings.widths[0], rng, random=attempt > 0 or model.init == "random")
        first = first.with_safe_ridge(V)
        if small is not None or model.n_init > 1:
            label = f"{type(model).__name__}, {first.sweep.n} rows, start {attempt + 1}/{model.n_init}"
            kept = recorded(first, model._run.journal, "sample")
            found = LBFGS(model.max_iter, model.tol).solve(kept, V, Monitor(verbose=model.verbose, label=label))
            history += [{**row, "rows": first.sweep.n} for row in found.history]
            evaluations += found.n_evaluations
            V, value, curvature = found.point.reshape(V.shape), found.value, found.curvature
        else:
            value, curvature = 0.0, ()
        if best is None or value < best[0]:
            best = (value, V, curvature)
    assert best is not None
    whole = replace(problem, factor=max(problem.factor, first.factor)).with_safe_ridge(best[1])
    whole = replace(whole, curvature=best[2])
    monitor = Monitor(verbose=model.verbose, label=f"{type(model).__name__}, {problem.sweep.n} rows")
    solution = LBFGS(model.max_iter, model.tol).solve(recorded(whole, model._run.journal), best[1], monitor)
    history += [{**row, "rows": problem.sweep.n} for row in solution.history]
    solution = replace(solution, history=tuple(history), n_evaluations=solution.n_evaluations + evaluations)
    return solution, solution.point.reshape(best[1].shape)


def _step(
    model: KernelAutoencoder, settings: Settings, source: Source, problem: LandmarkAutoencoder
) -> tuple[Solution, Tensor]:
    """Steps on batches of rows; the objective of all rows in the end."""
    small, rng = _sampled_problem(model, source, problem), check_seed(model.random_state)
    first = problem if small is None else small
    best: tuple[float, Tensor, Solution] | None = None
    previous = _previous(model, source, settings.widths[0])
    rate = 3e-2 if model.learning_rate is None else model.learning_rate
    solver = MiniBatch(rate, model.max_iter)
    part = model.coefficient_share if model.solver == "doubly_stochastic" else 1.0
    engine = problem.data.engine if isinstance(problem.data.engine, Threads) else Serial()
    variances, axes = torch.linalg.eigh(first.moments().covariance)
    scales = variances.clamp_min(1e-2 * float(variances[-1]) + 1e-300).sqrt()
    for attempt in range(model.n_init):
        random = attempt > 0 or model.init == "random"
        V = previous if attempt == 0 else None
        V = _start(model, first, settings.widths[0], rng, random=random) if V is None else V
        safe = replace(problem, factor=first.with_safe_ridge(V).factor)
        batches = Batches(problem.data.rows, model.batch_size, int(rng.randint(2**31)), source.weights)
        journal = model._run.journal if attempt == 0 else None
        label = f"{type(model).__name__}, batches of {model.batch_size}, start {attempt + 1}/{model.n_init}"
        monitor = Monitor(verbose=model.verbose, label=label)
        seen = MiniBatchAutoencoder(safe, batches, engine, scales, axes, part=part, journal=journal)
        found = solver.solve(seen, seen.point(V), monitor)
        V = seen.parameters(found.point)
        safe = safe.with_safe_ridge(V)
        value = safe.value(V)
        if best is None or value < best[0]:
            best = value, V, replace(found, value=value)
    assert best is not None
    return best[2], best[1]


def _sampled_problem(
    model: KernelAutoencoder, source: Source, problem: LandmarkAutoencoder
) -> LandmarkAutoencoder | None:
    """The problem on a sample of the rows; None where it would not be much smaller."""
    size = max(4 * BLOCK, 16 * problem.dim)
    if source.n < 3 * size:
        return None
    chosen = sample_rows(source.n, size, np.random.RandomState(1))
    assert chosen is not None
    weights = None if source.weights is None else source.weights[chosen] / source.weights[chosen].sum()
    blocks = row_blocks(size, BLOCK)
    rows = problem.data.engine.place(ArrayRows(gather_rows(source.rows, chosen)))
    data = Data(rows, blocks, problem.data.engine, journal=model._run.journal)
    return replace(problem, data=data, sweep=replace(problem.sweep, n=size, weights=weights))


def _previous(model: KernelAutoencoder, source: Source, p: int) -> Tensor | None:
    """Parameters of the last fit, if it had the same features."""
    last: AutoencoderModel | None = getattr(model, "model_", None) if model.warm_start else None
    if last is None or last.encoder.coefficients.shape != (source.features.width, p):
        return None
    return source.features.unwhiten(torch.as_tensor(last.encoder.coefficients))


def _start(model: KernelAutoencoder, problem: LandmarkAutoencoder, p: int, rng: Any, *, random: bool) -> Tensor:
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

    def value(scale: float) -> float:
        try:
            return problem.value(V * (size * scale))
        except InputError:  # a system that is singular at this scale
            return float("inf")

    return V * (size * best_scale(value)[0])


def _model(
    model: KernelAutoencoder,
    settings: Settings,
    source: Source,
    problem: LandmarkAutoencoder,
    V: Tensor,
    rebuilt: Rebuilt,
    pricing: Pricing,
) -> tuple[AutoencoderModel, float]:
    """The model of parameters, its codes on principal axes, and the objective."""
    codes, kernel = problem.codes(V), settings.decoder_kernels[0]
    w = None if source.weights is None else torch.as_tensor(source.weights)
    if kernel.rotation_invariant:
        Q = principal_axes(codes, None if w is None else w.to(codes))
        V, codes = V @ Q.to(V), codes @ Q
    layer, power = problem.last_layer(V)[0], float(model.code_metric)
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
    fitted = replace(fitted, codes=model._to_output(fitted.shown(codes)))
    model._warn_of_rounding(source.diag, fitted.encoder.coefficients, codes)
    return fitted, layer.value + 0.5 * problem.reg[0] * float((V * V).sum())
