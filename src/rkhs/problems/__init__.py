"""The papers' mathematics as frozen problems: objective, gradient, certificates; no solver inside."""

__all__: list[str] = []
