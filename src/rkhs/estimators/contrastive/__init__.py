"""How contrastive codes are fitted: pairs of items, and the loss on them."""

__all__: list[str] = []  # inside the estimators
