"""Reading tables, Gram matrices and molecules, writing codes, and a small bundled real set.

Only the ground floor of the library is needed here; pandas (parquet) and RDKit (fingerprints) are imported when asked
for.
"""

from rkhs.data.bundled import Molecules, load_molecules
from rkhs.data.chunks import read_chunks
from rkhs.data.dataset import Dataset, SkippedRow
from rkhs.data.fingerprints import Fingerprints, molecular_fingerprints, morgan_fingerprints
from rkhs.data.graph_files import Graphs, read_graphs
from rkhs.data.mixed import read_mixed
from rkhs.data.readers import read_table
from rkhs.data.sequences import Sequences, read_fasta
from rkhs.data.writers import write_codes

__all__ = [
    "Dataset",
    "Fingerprints",
    "Graphs",
    "Molecules",
    "Sequences",
    "SkippedRow",
    "load_molecules",
    "molecular_fingerprints",
    "morgan_fingerprints",
    "read_chunks",
    "read_fasta",
    "read_graphs",
    "read_mixed",
    "read_table",
    "write_codes",
]
