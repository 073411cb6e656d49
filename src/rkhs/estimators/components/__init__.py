"""Incremental and robust kernel PCA."""

__all__: list[str] = []  # inside the estimators
