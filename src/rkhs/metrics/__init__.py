"""Measures of representations and predictions."""

from rkhs.metrics.dci import Disentanglement, dci
from rkhs.metrics.disentanglement import irs, latent_report, mig, mutual_information, sap

__all__ = ["Disentanglement", "dci", "irs", "latent_report", "mig", "mutual_information", "sap"]
