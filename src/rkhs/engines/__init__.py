"""Who computes the blocks of a plan: this thread, several threads, or a Dask cluster; the same bits from each."""

from rkhs._core.threads import count_threads, thread_limit
from rkhs.engines.base import Engine, Serial, Threads
from rkhs.engines.block_sums import Block, Node, TreeSum, block_generator, row_blocks
from rkhs.engines.distributed import Dask
from rkhs.engines.journal import Checkpoint, Journal, fingerprint
from rkhs.engines.registry import make_engine
from rkhs.engines.rows import ArrayRows, DaskRows, FileRows, ParquetRows, Rows
from rkhs.engines.sources import as_rows

__all__ = [
    "ArrayRows",
    "Block",
    "Checkpoint",
    "Dask",
    "DaskRows",
    "Engine",
    "FileRows",
    "Journal",
    "Node",
    "ParquetRows",
    "Rows",
    "Serial",
    "Threads",
    "TreeSum",
    "as_rows",
    "block_generator",
    "count_threads",
    "fingerprint",
    "make_engine",
    "row_blocks",
    "thread_limit",
]
