"""How a map that keeps neighbours is fitted."""
