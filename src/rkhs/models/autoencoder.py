"""A fitted autoencoder: codes of items, what codes decode to, errors and distances there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from torch import Tensor

from rkhs._core.arrays import Items
from rkhs.constraints import Constraint
from rkhs.models import stored_autoencoder
from rkhs.models.layers import AutoencoderLayers
from rkhs.models.refined_codes import refined_codes


@dataclass(frozen=True, eq=False)
class AutoencoderModel(AutoencoderLayers):
    """Layers that encode new items, and go into files."""

    def encode(
        self,
        items: Items,
        raw: Tensor,
        *,
        onto: Constraint | None = None,
        refine: tuple[int, float] | None = None,
        rough: bool = False,
    ) -> list[Tensor]:
        """Codes of every hidden layer from items and their raw features of shape (m, w)."""
        codes = self.encoder.of(raw)
        if self.linear is not None:
            codes += self.linear.of(self.rows(items, raw))
        onto = self.pricing.onto if onto is None else onto
        codes = codes if onto is None else onto.project(codes)
        if self.resting is not None:  # of the one hidden layer
            codes = self.read(self.shown(codes))
        found = [codes if refine is None else refined_codes(self, items, raw, codes, refine, rough=rough)]
        for layer in self.layers[:-1]:
            found.append(layer.of(found[-1]))
        return found

    def in_file(self) -> Self:
        """The model without what its items say."""
        return stored_autoencoder.in_file(self)

    def check_stored(self) -> None:
        """Sizes must agree."""
        stored_autoencoder.check(self)

    def from_file(self) -> Self:
        """The model, which computes what the file lacks when it is asked for."""
        return stored_autoencoder.from_file(self)
