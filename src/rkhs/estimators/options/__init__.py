"""What parameters may be: their types, what goes with what, what they need, what they were once called."""

__all__: list[str] = []  # inside the estimators
