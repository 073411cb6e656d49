"""The papers' mathematics as frozen problems: objective, gradient, certificates; no solver inside."""
