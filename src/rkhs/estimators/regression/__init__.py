"""How regressors are fitted: targets in coordinates, a Gram matrix a term, paths, gaps in targets."""

__all__: list[str] = []  # inside the estimators
