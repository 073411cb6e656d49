"""How regressors are fitted: targets in coordinates, a Gram matrix per term, paths, gaps in targets."""

__all__: list[str] = []  # inside the estimators
