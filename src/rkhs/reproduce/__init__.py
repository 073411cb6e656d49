"""Tables and figures of the papers, one module each, with the baselines that they are compared with."""

__all__: list[str] = []
