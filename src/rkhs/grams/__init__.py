"""How a Gram matrix is stored."""
