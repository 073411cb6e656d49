"""Representations with kernels in Hilbert spaces."""

__version__ = "0.1.0"
