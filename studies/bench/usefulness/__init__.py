"""Which codes are useful: every method on every set; ``./dev bench usefulness``."""
