"""The command line: ``rkhs COMMAND``."""

__all__: list[str] = []
