"""The fit of neighbour embeddings."""

__all__: list[str] = []  # inside the estimators
