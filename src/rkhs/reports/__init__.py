"""One self-contained page about a model and its items: the map, the errors, and what to know before codes are used."""

from rkhs.reports.report import Report, make_report

__all__ = ["Report", "make_report"]
