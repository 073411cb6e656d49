"""The fit of the deep restricted kernel machine, and the encoders of its layers."""

__all__: list[str] = []  # inside the estimators
