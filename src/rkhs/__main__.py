"""``python -m rkhs``: the command line, where the program ``rkhs`` is not on the path."""

import sys

from rkhs.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
