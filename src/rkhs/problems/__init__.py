"""Optimisation problems of the papers as immutable objects: objective, gradient, certificates; no solvers."""

__all__: list[str] = []
