"""``./dev data``: check and fill the folder of the data sets."""

from studies.harness.data import main
from studies.harness.scripts import run_script

run_script(lambda: exit(main()))
