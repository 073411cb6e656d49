from rkhs.data.bundled import Molecules as Molecules, load_molecules as load_molecules
from rkhs.data.curves import curves_on_grid as curves_on_grid
from rkhs.data.dataset import Curves as Curves, Dataset as Dataset, SkippedRow as SkippedRow
from rkhs.data.items import read_items as read_items
from rkhs.data.molecule_files import (
    Fingerprints as Fingerprints,
    molecular_fingerprints as molecular_fingerprints,
)
from rkhs.data.writers import write_codes as write_codes
