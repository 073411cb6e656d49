"""Methods of a fitted autoencoder: encode, decode, rank candidates, reconstruction errors."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from rkhs._core.arrays import Items, give_back, to_tensor
from rkhs._core.checks import check_count, check_number
from rkhs._core.errors import InputError
from rkhs.estimators.bounded_preimages import PreimageMixin
from rkhs.estimators.fitted import Fitted, FittedKernel
from rkhs.estimators.given_matrices import read_items
from rkhs.estimators.ranked_candidates import Ranking, rank_by_codes, rank_codes, ranks_by_codes
from rkhs.kernels.base import Kernel
from rkhs.losses import Loss
from rkhs.models import FINE, AutoencoderModel, CandidateSets, Targets, leave_one_out_facts
from rkhs.outputs import RKHS, Euclidean

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from rkhs.augment import Augmentation
    from rkhs.estimators.options.arguments import (
        Columns,
        ConstraintLike,
        Device,
        Dtype,
        KernelLike,
        LossLike,
        Seed,
        StorageLike,
    )


@dataclass(eq=False, repr=False)
class BaseAutoencoder(FittedKernel, PreimageMixin):
    """Base of the autoencoders: all methods that use the fitted layers; subclasses fit them."""

    n_components: int | Sequence[int] = 2
    _: KW_ONLY
    kernel: KernelLike | Literal["auto"] = "auto"
    decoder_kernel: KernelLike | tuple[KernelLike, ...] | Literal["auto"] = "auto"
    output_kernel: KernelLike | Literal["same"] | None = None
    loss: LossLike = "squared"
    reg: Literal["auto"] | float | Sequence[float] | None = None
    columns: Columns = "raw"
    refine: bool = True
    storage: StorageLike | Literal["auto"] = "auto"
    random_state: Seed = None
    verbose: int | Literal["auto"] = "auto"
    linear_part: Literal["auto", "kernel", "free"] = "auto"
    operators: Sequence[ArrayLike | None] | None = None
    center: bool = True
    scale: bool = True
    code_metric: float = 0.75
    constraint: ConstraintLike = "none"
    noise: Augmentation | None = None
    init: Literal["kpca", "random", "uniform"] | np.ndarray = "kpca"
    n_init: int = 1
    max_iter: int = 500
    tol: float = 1e-4
    device: Device = "cpu"
    dtype: Dtype = "float64"

    model_: AutoencoderModel = field(init=False)
    _needs_differences = True
    _steps = FINE  # largest number of refinement steps, and tolerance

    codes_: ClassVar[Fitted[np.ndarray]] = Fitted("codes")
    layer_codes_: ClassVar[Fitted[list[np.ndarray]]] = Fitted("layer_codes")
    encoder_coefs_: ClassVar[Fitted[list[np.ndarray]]] = Fitted("encoder_coefficients")
    decoder_kernels_: ClassVar[Fitted[tuple[Kernel, ...]]] = Fitted("decoder_kernels")
    decoder_coef_: ClassVar[Fitted[np.ndarray]] = Fitted("last.coefficients")
    output_: ClassVar[Fitted[Euclidean | RKHS]] = Fitted("rebuilt.output")
    output_kernel_: ClassVar[Fitted[Kernel | None]] = Fitted("rebuilt.kernel", optional=True)
    train_diag_: ClassVar[Fitted[np.ndarray | None]] = Fitted("rebuilt.diagonal", optional=True)
    reg_: ClassVar[Fitted[tuple[float, ...]]] = Fitted("reg")
    loss_: ClassVar[Fitted[Loss]] = Fitted("loss")
    gap_: ClassVar[Fitted[float]] = Fitted("gap")
    support_: ClassVar[Fitted[np.ndarray]] = Fitted("support")
    saturated_: ClassVar[Fitted[np.ndarray]] = Fitted("saturated")
    code_map_: ClassVar[Fitted[np.ndarray | None]] = Fitted("code_map", optional=True)
    code_variance_: ClassVar[Fitted[str]] = Fitted("penalty.kind")
    candidates_: ClassVar[Fitted[np.ndarray | None]] = Fitted("compared.candidates", optional=True)
    candidate_errors_: ClassVar[Fitted[np.ndarray | None]] = Fitted("compared.errors", optional=True)
    held_out_error_: ClassVar[Fitted[float | None]] = Fitted("compared.held_out", optional=True)
    at_edge_: ClassVar[Fitted[dict[str, str] | None]] = Fitted("compared.open_ends", optional=True)
    kernel_choice_: ClassVar[Fitted[dict[str, float] | None]] = Fitted("compared.kinds", optional=True)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # Rows of a sparse matrix are rebuilt as features of a linear kernel, which needs dense storage and no noise.
        tags.input_tags.sparse &= isinstance(self.storage, str)
        tags.input_tags.sparse &= self.noise is None
        return tags

    @property
    def _refinement(self) -> tuple[int, float] | None:
        """Steps and tolerance of the refinement of new codes; None: no refinement."""
        return self._steps if self.refine and self.model_.refinable else None

    def transform(self, X: Any, layer: int | None = None) -> Any:
        """Encode items."""
        check_is_fitted(self)
        model = self.model_
        index = model.narrowest if layer is None else check_count(layer, "layer", at_most=len(model.layers)) - 1
        to_user = model.to_user if index == model.narrowest else Tensor.clone
        encode = partial(model.encode, refine=self._refinement)
        return give_back(self._in_tiles(X, lambda items: to_user(encode(items, self._cross_gram(items))[index])), X)

    def _user_codes(self, items: Items) -> Tensor:
        """Codes in user coordinates of items in the form that the kernel reads."""
        return self.model_.to_user(self._encode(items, self._cross_gram(items))[self.model_.narrowest])

    def _encode(self, items: Items, raw: Tensor, *, refined: bool = True) -> list[Tensor]:
        """Codes of every hidden layer, refined where the model can."""
        return self.model_.encode(items, raw, refine=self._refinement if refined else None)

    def _read_codes(self, codes: ArrayLike) -> Tensor:
        check_is_fitted(self)
        return self.model_.from_user(super()._read_codes(codes))

    def inverse_transform(self, codes: ArrayLike) -> Any:
        """Decode codes."""
        check_is_fitted(self)
        found = self._of_codes(self._read_codes(codes), lambda Z: self.model_.rebuilt.decode(self.model_.decode(Z)))
        if self.model_.rebuilds_rows:
            return give_back(self._to_output(self.model_.weighted_rows(found)), codes)
        return give_back(self._to_rows(found) if self.model_.rebuilt.vectors else self._to_output(found), codes)

    @property
    def _rebuilds_vectors(self) -> bool:
        return self.model_.rebuilt.vectors

    def _feature_weights(self, Z: Tensor) -> Tensor:
        return self.model_.rebuilt.decode(self.model_.decode(Z))

    def decode(
        self,
        codes: ArrayLike,
        candidates: Items | None = None,
        *,
        by: Literal["auto", "codes", "features"] = "auto",
        diag: ArrayLike | None = None,
        n_best: int | None = None,
    ) -> Ranking:
        """Rank candidates by their distance to what the codes decode to, or to the codes themselves."""
        check_is_fitted(self)
        rebuilt = self.model_.rebuilt
        domain = "vectors" if rebuilt.kernel is None else rebuilt.kernel.domain
        encodes = rebuilt.self_targets and domain == self.kernel_.domain
        if ranks_by_codes(by, diag, encodes=encodes, features=not self._rebuilds_vectors):
            return rank_by_codes(self, codes, candidates, n_best, self._user_codes)
        Z, reference = self._read_codes(codes), self._read_reference(candidates, "candidates", diag)

        def distances(part: Tensor) -> Tensor:
            return rebuilt.output.squared_distances(self.model_.decode(part), *reference, paired=False)

        return rank_codes(Z, distances, max(len(reference.rows), len(self.codes_)), n_best)

    def decode_set(
        self, codes: ArrayLike, candidates: Items | None, held_out: Any, *, coverage: float = 0.9, diag: Any = None
    ) -> CandidateSets:
        """Sets of candidates that hold the item of each code with probability ``coverage``, if it is among them.

        A set holds the candidates within the conformal quantile of the reconstruction errors of items that the fit did
        not see: with fewer than ``1 / (1 - coverage) - 1`` of these it holds all. Vovk, Gammerman and Shafer (2005).
        """
        check_number(coverage, "coverage", above=0.0, at_most=1.0)
        ranking = self.decode(codes, candidates, by="features", diag=diag)
        errors = self.reconstruction_error(held_out, diag=diag)
        return CandidateSets.nearest(*ranking, errors, coverage, self._guarantee_of(held_out))

    def reconstruction_error(
        self, X: Any, *, targets: Items | None = None, diag: ArrayLike | None = None, codes: ArrayLike | None = None
    ) -> np.ndarray:
        """Squared reconstruction error of each item; its mean is the MSRE."""
        Z = None if codes is None else self._read_codes(codes)
        reference = None if targets is None else self._read_reference(targets, "targets", diag)
        for name, rows in (("codes", Z), ("targets", None if reference is None else reference.rows)):
            if rows is not None and len(rows) != self._count_new(X):
                raise InputError(f"{name} must have one row for each row of X, {self._count_new(X)}; got {len(rows)}")
        return self._errors_of(X, diag, Z, reference)

    def _errors_of(
        self, X: Any, diag: ArrayLike | None, codes: Tensor | None, reference: Targets | None, *, refined: bool = True
    ) -> np.ndarray:
        """Squared errors of items, shape (m,); ``codes`` and targets (``reference``) are computed if they are None."""

        def errors(items: Items, diagonal: Tensor | None, known: Tensor | None, *given: Any) -> np.ndarray:
            raw = self._cross_gram(items)
            Z = self._encode(items, raw, refined=refined)[self.model_.narrowest] if known is None else known
            targets: Any = self._targets_of_items(items, raw, diagonal) if reference is None else given
            return self._finite(self.output_.squared_distances(self.model_.decode(Z), *targets, paired=True))

        diagonal = self._diagonal_of_items(X, diag) if reference is None else None
        return self._in_tiles(X, errors, diagonal, codes, *(reference or ()))

    def score(self, X: Any, y: Any = None) -> float:
        """Minus the mean squared reconstruction error (larger is better); ``y`` is ignored."""
        return -float(self.reconstruction_error(X).mean())

    def _plain_errors(self, X: Any) -> np.ndarray:
        """Squared errors of items whose codes are not refined, shape (m,)."""
        return self._errors_of(X, None, None, None, refined=False)

    def _target_spread(self, X: Any, *, diag: ArrayLike | None = None) -> np.ndarray:
        """Squared distance of each item to the mean of the training items, shape (m,)."""

        def spread(items: Items, diagonal: Tensor | None) -> np.ndarray:
            return self._finite(
                self.output_.squared_norms(*self._targets_of_items(items, self._cross_gram(items), diagonal))
            )

        return self._in_tiles(X, spread, self._diagonal_of_items(X, diag))

    def _targets_of_items(self, items: Items, raw: Tensor, diagonal: Tensor | None) -> Targets:
        if not self.model_.rebuilt.self_targets:
            raise InputError("targets must be given: the model was fitted with fit(X, targets=...)")
        return self.model_.targets_of_items(items, raw, diagonal)

    def _diagonal_of_items(self, X: Any, diag: ArrayLike | None) -> Tensor | None:
        """``k(x, x)`` of items that are rows of kernel values and their own targets."""
        check_is_fitted(self)
        kernel = self.model_.rebuilt.kernel
        gram = self.model_.rebuilt.self_targets and kernel is not None and kernel.domain == "gram"
        return self._new_diagonal(X, diag) if gram else None

    def _read_reference(self, given: Items | None, name: str, diag: ArrayLike | None) -> Targets:
        """Read given targets or candidates; None: the training targets."""
        rebuilt, kernel = self.model_.rebuilt, self.model_.rebuilt.kernel
        if kernel is None:
            if given is not None:
                return Targets(self._read_like(given, name, rebuilt.columns, targets=not rebuilt.self_targets))
            return Targets(self._kept_targets())
        if kernel.domain == "gram":
            if given is None:
                raise InputError(
                    "candidates must be kernel values (c, n) with the training items for kernel='precomputed'"
                )
            raw = self._cross_gram(self._candidate_rows(given))
            return Targets(raw, self._gram_diagonal(diag, raw))
        kept = self._target_items()
        if given is None:
            self._training_items()
            items = kept
        elif kernel.domain == "objects":
            items = read_items(kernel, given, name)
        else:
            items = self._read_like(given, name, kept.shape[1], targets=not rebuilt.self_targets)
        return Targets(kernel._gram(items, kept).to(**self._options), kernel._diag(items).to(**self._options))

    def _kept_targets(self) -> Tensor:
        """Training items that are vectors and their own targets."""
        kept = self.model_.map.whole and self.model_.map.kept is not None and self.noise is None
        if not (kept and self.model_.rebuilt.self_targets):
            raise InputError("candidates must be given: this model keeps no training targets to choose from")
        return self._support()

    def _left_out(self, gram: Tensor | None = None, at_most: int | None = None) -> tuple[dict[str, Any], Tensor | None]:
        """Diagnostics by name, and squared leave-one-out errors of the training items."""
        how: dict[str, Any] = {"plain": self.operators is None, "refine": self._refinement, "at_most": at_most}
        return leave_one_out_facts(self.model_, self._options, gram, **how)

    def _target_items(self) -> Any:
        items = self.model_.rebuilt.items
        if items is None:
            return self._support()
        return to_tensor(items, **self._options) if isinstance(items, np.ndarray) else items
