"""Measures of representations and predictions."""

from rkhs.metrics.ranking import hamming_error, top_k_accuracy, truth_ranks

__all__ = ["hamming_error", "top_k_accuracy", "truth_ranks"]
