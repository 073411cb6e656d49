"""The default call against the same call in a process of one thread, on an idle machine and beside busy loops.

Run: ./dev bench threads [--rows 150 300 900 2000] [--busy 2] [--runs 1]. Rows are digits. Every call has a process of
its own, with ``OMP_NUM_THREADS=1`` and without, in turn; the least of the runs counts. Imports are not counted.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys

from studies.harness.arguments import bench_arguments

_CALL = """
import io, json, sys, tempfile, time, warnings
from contextlib import redirect_stdout
from pathlib import Path
import numpy as np
from sklearn.datasets import load_digits
import rkhs.evaluation, rkhs.plots, rkhs.reports, sklearn.ensemble
from rkhs import KernelAutoencoder
from rkhs.cli.main import main
warnings.simplefilter("ignore")
name, n = sys.argv[1], int(sys.argv[2])
X, y = load_digits(return_X_y=True)
X, y = np.concatenate([X, X + 0.5])[:n], np.concatenate([y, y])[:n]
folder = tempfile.TemporaryDirectory()
table = Path(folder.name, "table.csv")
columns = [f"p{j}" for j in range(X.shape[1])]
np.savetxt(table, np.column_stack([X, y]), delimiter=",", header=",".join([*columns, "y"]), comments="")
files = [str(table), "-o", str(Path(folder.name, "page"))]
model = KernelAutoencoder(2).fit(X) if name == "transform" else None
calls = {
    "fit": lambda: KernelAutoencoder(2).fit(X),
    "transform": lambda: model.transform(X + 0.25),
    "map": lambda: main(["map", *files[:2], files[2] + ".png", "--color", "y"]),
    "report": lambda: main(["report", *files[:2], files[2] + ".html", "--predict", "y"]),
    "compare": lambda: main(["compare", str(table), "--predict", "y"]),
}
processor, clock = time.process_time(), time.perf_counter()
with redirect_stdout(io.StringIO()):
    calls[name]()
print(json.dumps([time.process_time() - processor, time.perf_counter() - clock]))
"""


def seconds(name: str, n: int, *, one: bool) -> list[float]:
    """Processor time and time by the clock of one call."""
    env = {key: value for key, value in os.environ.items() if not key.endswith("NUM_THREADS")}
    env |= {"OMP_NUM_THREADS": "1"} if one else {}
    command = [sys.executable, "-c", _CALL, name, str(n)]
    found = subprocess.run(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True)
    times: list[float] = json.loads(found.stdout.splitlines()[-1])
    return times


def main() -> None:
    args = bench_arguments(
        __doc__,
        rows=[150, 300, 900, 2000],
        calls=["fit", "transform", "map", "report", "compare"],
        busy={"type": int, "default": 0, "help": "busy loops beside"},
        runs=1,
    )
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(args.busy)]
    try:
        print("call, rows: processor seconds of one thread and by default, ratio; by the clock, ratio", flush=True)
        for name in args.calls:
            for n in args.rows:
                runs = [[seconds(name, n, one=one) for one in (True, False)] for _ in range(args.runs)]
                (p, c), (q, d) = ([min(times) for times in zip(*(run[i] for run in runs), strict=True)] for i in (0, 1))
                print(f"{name:9} {n:5}: {p:7.2f} {q:7.2f} {q / p:5.2f}; {c:7.2f} {d:7.2f} {d / c:5.2f}", flush=True)
    finally:
        for loop in loops:
            loop.kill()


if __name__ == "__main__":
    main()
