from rkhs._core.threads import count_threads as count_threads, thread_limit as thread_limit
from rkhs.engines.base import Engine as Engine, Serial as Serial, Threads as Threads, make_engine as make_engine
from rkhs.engines.block_sums import (
    Block as Block,
    Node as Node,
    TreeSum as TreeSum,
    row_blocks as row_blocks,
)
from rkhs.engines.distributed import Dask as Dask
from rkhs.engines.rows import (
    ArrayRows as ArrayRows,
    DaskRows as DaskRows,
    FileRows as FileRows,
    ParquetRows as ParquetRows,
    Rows as Rows,
)
from rkhs.engines.sources import as_rows as as_rows
