"""Benchmarks, one file or folder each; ``./dev bench NAME`` runs one."""
