"""Neural baselines, trained as carefully as our own models; for comparisons only."""

from rkhs.reproduce.baselines.network_autoencoder import NetworkAutoencoder
from rkhs.reproduce.baselines.network_contrastive import NetworkContrastive
from rkhs.reproduce.baselines.network_denoiser import NetworkDenoiser

__all__ = ["NetworkAutoencoder", "NetworkContrastive", "NetworkDenoiser"]
