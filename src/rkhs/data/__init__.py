"""Reading tables, Gram matrices, molecules and other objects, writing codes, and a small bundled real set.

Only the ground floor of the library is needed here; pandas (parquet) and RDKit (fingerprints) are imported when asked
for.
"""

from rkhs.data.bundled import Molecules, load_molecules
from rkhs.data.chunks import read_chunks
from rkhs.data.dataset import Curves, Dataset, SkippedRow
from rkhs.data.fingerprints import Fingerprints, molecular_fingerprints, morgan_fingerprints
from rkhs.data.graph_files import Graphs, read_graphs
from rkhs.data.irregular import curves_on_grid
from rkhs.data.items import read_items
from rkhs.data.mixed import read_mixed
from rkhs.data.readers import read_table
from rkhs.data.sequences import Sequences, read_fasta
from rkhs.data.series_files import Series, read_series
from rkhs.data.strings import read_strings
from rkhs.data.writers import write_codes

__all__ = [
    "Curves",
    "Dataset",
    "Fingerprints",
    "Graphs",
    "Molecules",
    "Sequences",
    "Series",
    "SkippedRow",
    "curves_on_grid",
    "load_molecules",
    "molecular_fingerprints",
    "morgan_fingerprints",
    "read_chunks",
    "read_fasta",
    "read_graphs",
    "read_items",
    "read_mixed",
    "read_series",
    "read_strings",
    "read_table",
    "write_codes",
]
