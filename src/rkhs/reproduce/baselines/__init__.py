"""Neural baselines, trained as carefully as our own models; for comparisons only."""

from rkhs.reproduce.baselines.network_autoencoder import NetworkAutoencoder

__all__ = ["NetworkAutoencoder"]
