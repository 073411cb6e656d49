"""Neural baselines, trained as carefully as our own models; for comparisons only."""

from studies.networks.network_autoencoder import NetworkAutoencoder
from studies.networks.network_contrastive import NetworkContrastive
from studies.networks.network_denoiser import NetworkDenoiser

__all__ = ["NetworkAutoencoder", "NetworkContrastive", "NetworkDenoiser"]
