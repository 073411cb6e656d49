"""Measures of representations and predictions."""

from rkhs.metrics.disentanglement import Disentanglement, dci, irs, latent_report, mig, mutual_information, sap

__all__ = ["Disentanglement", "dci", "irs", "latent_report", "mig", "mutual_information", "sap"]
