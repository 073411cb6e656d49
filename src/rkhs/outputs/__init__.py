"""Output spaces in isometric coordinates."""
