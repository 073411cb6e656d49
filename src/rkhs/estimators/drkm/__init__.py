"""How the deep restricted kernel machine is fitted, and the encoders of its layers."""

__all__: list[str] = []  # inside the estimators
