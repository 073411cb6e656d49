"""The errors and warnings of the library: to catch them, to silence them, and to raise them in classes of your own.

Every error is also one of Python's: ``except ValueError`` catches an ``InputError`` as well.
"""

from rkhs._core import errors as _errors
from rkhs._core.errors import *  # noqa: F403

__all__ = [name for name in _errors.__all__ if name[0].isupper()]  # the others are functions of the library
