"""What codes are good for: protocols that judge them on a task."""

from rkhs.evaluation.few_labels import FewLabelRow, few_label_methods, few_labels, split_rows

__all__ = ["FewLabelRow", "few_label_methods", "few_labels", "split_rows"]
