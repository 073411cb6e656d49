"""Items as a fit in memory reads them: Gram matrix, targets in coordinates, scores to start from."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from torch import Tensor

from rkhs._core.arrays import as_numpy, to_tensor
from rkhs._core.copies import copies
from rkhs._core.linalg import Factor, factorize
from rkhs.estimators.autoencoder.dense import JOINT, ItemStages
from rkhs.estimators.autoencoder.settings import Settings
from rkhs.estimators.autoencoder.stages import Choice, Fit, Start, as_array, fit_stages
from rkhs.estimators.run import Run, items_bytes
from rkhs.estimators.training import Training
from rkhs.kernels.base import Kernel
from rkhs.kernels.vectors.functional import grid_weights
from rkhs.models import AutoencoderModel, Rebuilt
from rkhs.outputs import RKHS, Euclidean
from rkhs.problems.coordinates import jittered_factor
from rkhs.problems.initial_codes import kernel_pca_scores
from rkhs.problems.semiparametric import LinearFactor, PrincipalCoordinates, kernel_unit, linear_unit
from rkhs.spaces import training_gram
from rkhs.spaces.features import WholeMap


@dataclass(frozen=True, eq=False)
class OpenedItems:
    """What fits read of items, whatever their regularisers, so that the Gram matrix itself can be let go."""

    given: Training  # as it was read
    training: Training  # with noisy copies, where there is noise
    kernel: Kernel  # resolved
    rebuilt: Rebuilt
    target: Tensor  # (n, q): coordinates of the targets
    factor: Factor  # ``F F^T = K``
    axes: PrincipalCoordinates | None  # what a free linear part reads
    linear: Tensor | None  # (n, k): these coordinates
    scores: Tensor | None  # (n, k): principal component scores to start from
    gram: Tensor | None  # (n, n): ``K``, for the solvers of the joint problem only
    cut: Tensor | None  # (n, n): ``K``, for choices on parts of it where items rebuild their own features
    largest: float  # of ``k(x, x)``

    @property
    def copies(self) -> np.ndarray:
        """A number for each item, shape (n,): one for copies with equal targets."""
        gram = self.gram if self.gram is not None else self.cut
        F = self.factor.matrix
        return copies([F @ F.mT if gram is None else gram], self.target)

    def coordinates(self, reg: float, p: int) -> Factor | LinearFactor:
        """Coordinates of codes in ``p`` dimensions, with columns for a free linear part in units of its penalty."""
        return self.factor if self.linear is None else LinearFactor(self.factor, self.linear[:, :p] * linear_unit(reg))

    @cached_property
    def map(self) -> WholeMap:
        """What new items are read through."""
        items = None if self.kernel.domain == "gram" else as_numpy(self.training.items)
        return WholeMap(self.kernel, items, len(self.training))

    def fit(self, choice: Choice, run: Run, previous: AutoencoderModel | None = None) -> Fit:
        """Fit all layers, from a previous model of these items or that of the choice."""
        settings, n = choice.settings, len(self.given)
        start = _start_of(previous, settings, run, n) or _start_of(choice.start, settings, run, n)
        return fit_stages(ItemStages(settings, run, self), choice, start, self.given.items)

    def reopened(self, settings: Settings, run: Run) -> OpenedItems:
        """The same items as other kernels read them."""
        return open_items(settings, self.given, run)


def open_items(settings: Settings, training: Training, run: Run) -> OpenedItems:
    """Factor the Gram matrix of the inputs, put the targets in coordinates, and find the scores to start from."""
    if not run.announced_bytes:  # parts of what was announced are smaller
        columns = training.items.shape[1] if settings.kernel.domain == "vectors" else 0
        run.announce_dense(
            len(training) * settings.n_copies, 4.5, columns, items_bytes(settings.kernel, training.items)
        )
    given, training = training, settings.noisy_copies(training)
    items, weights, widths = training.items, training.weights, settings.widths
    kernel = settings.kernel.resolve(items, weights)
    K = training_gram(kernel, items, run.options)
    rebuilt, U = _fit_outputs(settings, run, training, kernel, K)
    axes, linear, scores = None, None, None
    if settings.linear_part == "free":
        axes, linear = _principal_coordinates(settings, items, weights, K)
        scores = linear * axes.scale if settings.init == "kpca" else None
    elif settings.init == "kpca":
        scores, _ = kernel_pca_scores(K, min(max(widths), len(K)), weights)
    factor = factorize(K) if settings.code_set is None else jittered_factor(K)
    gram = K if isinstance(settings.solver, JOINT) else None
    alone = given.self_targets and settings.output_kernel is settings.kernel and settings.noise is None
    cut, largest = K if alone and settings.candidates else None, float(K.diagonal().max())
    return OpenedItems(given, training, kernel, rebuilt, U, factor, axes, linear, scores, gram, cut, largest)


def _principal_coordinates(
    settings: Settings, items: Any, weights: Tensor | None, K: Tensor
) -> tuple[PrincipalCoordinates, Tensor]:
    """What a free linear part reads: of vectors, of rows of a sparse matrix, or of features."""
    if settings.kernel.domain == "vectors":
        axes = PrincipalCoordinates.of_vectors(items, max(settings.widths), weights)
        return axes, axes.of(items)
    products = settings.output_kernel._gram(items).to(K) if settings.rows and settings.output_kernel else K
    axes = PrincipalCoordinates.of_gram(products, max(settings.widths), weights)
    return axes, axes.of(products)


def _start_of(model: AutoencoderModel | None, settings: Settings, run: Run, n: int) -> Start | None:
    """Codes of layer 1 and coefficients of the layers 2..L-1 of a model, if they fit these data."""
    if model is None or len(model.layer_codes[0]) != n:
        return None
    widths = tuple(c.shape[1] for c in model.layer_codes)
    if widths != settings.widths and not (settings.shortcut and widths == (min(settings.widths),)):
        return None
    codes, *hidden = (to_tensor(c, **run.options) for c in (model.layer_codes[0], *model.encoder_coefficients[1:]))
    return Start([codes], hidden)


def _fit_outputs(settings: Settings, run: Run, training: Training, kernel: Kernel, K: Tensor) -> tuple[Rebuilt, Tensor]:
    """Resolve the output kernel and put the targets in coordinates; ``K`` is the Gram matrix of the items."""
    options = {"center": bool(settings.center), "scale": bool(settings.scale)}
    targets, weights, self_targets, resolved = (
        training.targets,
        training.weights,
        training.self_targets,
        settings.output_kernel,
    )
    items, diagonal = None, None
    space: Euclidean | RKHS
    if resolved is None:
        columns = grid_weights(kernel, targets.shape[1]) if self_targets else None
        space, U = Euclidean.fit(targets, weights, **options, column_weights=columns, rotate=settings.loss.isotropic)
    else:
        settings.loss.check_isotropic()
        resolved = resolved.resolve(targets, weights)
        shared = self_targets and resolved == kernel  # other targets have another Gram matrix
        G = K if shared else training_gram(resolved, targets, run.options)
        space, U = RKHS.fit(G, weights, **options)
        if resolved.domain == "gram":
            diagonal = as_array((K.diagonal() if shared else resolved._diag(targets)).clone())
        elif not self_targets:
            items = as_numpy(targets)
    if settings.linear_part == "free" and settings.scale:  # the unit is what free linear parts leave
        unit = kernel_unit(U, min(settings.widths), weights)
        space, U = (space, U) if unit == 1.0 else (space.in_units(unit), U / unit)
    return Rebuilt(space, resolved, self_targets, items, diagonal), U
