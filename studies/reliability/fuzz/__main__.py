"""Run the fuzz from the command line."""

from studies.reliability.fuzz.runner import main

raise SystemExit(main())
