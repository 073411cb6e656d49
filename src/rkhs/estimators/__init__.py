"""Thin scikit-learn shells: validate, build a problem, solve it, store the answer."""
