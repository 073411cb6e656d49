"""Foundations of the library: arrays, checks, configuration, files and linear algebra.

Nothing here knows a kernel or a model.
"""
