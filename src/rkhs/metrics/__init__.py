"""Measures of representations and predictions."""

from rkhs.metrics.dci import Disentanglement, dci
from rkhs.metrics.disentanglement import irs, latent_report, mig, mutual_information, sap
from rkhs.metrics.ranking import hamming_error, top_k_accuracy, truth_ranks

__all__ = [
    "Disentanglement",
    "dci",
    "hamming_error",
    "irs",
    "latent_report",
    "mig",
    "mutual_information",
    "sap",
    "top_k_accuracy",
    "truth_ranks",
]
