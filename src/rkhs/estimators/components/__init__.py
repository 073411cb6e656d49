"""How kernel PCA is fitted to parts of the rows, and with robust losses."""

__all__: list[str] = []  # inside the estimators
