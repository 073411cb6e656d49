"""Run the fuzz from the command line."""

from tests.reliability.fuzz.runner import main

raise SystemExit(main())
