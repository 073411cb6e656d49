"""Measures of representations and predictions, and what theory promises about them."""

from rkhs.metrics.bounds import (
    Bound,
    Stability,
    autoencoder_bound,
    contrastive_bound,
    downstream_bound,
    sphere_autoencoder_bound,
    stability_bound,
    stability_constants,
)
from rkhs.metrics.dci import Disentanglement, dci
from rkhs.metrics.disentanglement import irs, latent_report, mig, mutual_information, sap
from rkhs.metrics.ranking import hamming_error, top_k_accuracy, truth_ranks

__all__ = [
    "Bound",
    "Disentanglement",
    "Stability",
    "autoencoder_bound",
    "contrastive_bound",
    "dci",
    "downstream_bound",
    "hamming_error",
    "irs",
    "latent_report",
    "mig",
    "mutual_information",
    "sap",
    "sphere_autoencoder_bound",
    "stability_bound",
    "stability_constants",
    "top_k_accuracy",
    "truth_ranks",
]
