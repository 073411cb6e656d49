"""Fuzzers, mutants and campaigns of kills that measure docs/reliability.md; ``./dev reliability`` runs them."""
