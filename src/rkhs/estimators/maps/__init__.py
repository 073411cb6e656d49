"""How a map that keeps neighbours is fitted."""

__all__: list[str] = []  # inside the estimators
