"""How the autoencoder is fitted: dense, on landmarks, in stages; how its settings are read and chosen."""

__all__: list[str] = []  # inside the estimators
