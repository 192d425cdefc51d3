"""Times the product of a sparse and a dense matrix beside SciPy's and PyTorch's, in one process.

    PYTHONPATH=. python asv_bench/sparse_side_by_side.py [--threads 1] [--rounds 60]

A row is the median over rounds of dualflow's time divided by the median of the other library; the
libraries alternate within a round. Requires SciPy, PyTorch, or both. SciPy uses one thread.
"""

from __future__ import annotations

import argparse
import statistics
import time
from importlib import import_module

import numpy as np

SIZES = [(10_000, 100_000, 16), (10_000, 100_000, 64), (10_000, 100_000, 256),
         (2_708, 13_264, 16), (2_708, 13_264, 1)]


def entries(rows: int, count: int) -> np.ndarray:
    """Return distinct positions in the order of rows."""
    flat = np.random.default_rng(1).choice(rows * rows, count, replace=False)
    return np.stack(np.divmod(np.sort(flat), rows), 1)


def products(rows: int, count: int, columns: int, threads: int) -> dict:
    """Return a function without arguments for each library that is installed."""
    import dualflow as df

    df.config.set_num_threads(threads)
    rng = np.random.default_rng(2)
    at, values = entries(rows, count), rng.normal(size=count).astype("float32")
    dense = rng.normal(size=(rows, columns)).astype("float32")
    a, b = df.SparseTensor(at, values, (rows, rows)), df.constant(dense)
    found = {"dualflow": lambda: df.sparse.sparse_dense_matmul(a, b),
             "dualflow, transposed": lambda: df.sparse.sparse_dense_matmul(a, b, adjoint_a=True)}
    try:
        csr = import_module("scipy.sparse").csr_matrix((values, tuple(at.T)), (rows, rows))
        found["scipy"] = lambda: csr @ dense
    except ImportError:
        pass
    try:
        torch = import_module("torch")
        torch.set_num_threads(threads)
        coo = torch.sparse_coo_tensor(at.T, values, (rows, rows)).coalesce()
        of_csr, of_dense = coo.to_sparse_csr(), torch.from_numpy(dense)
        found["torch COO"] = lambda: torch.sparse.mm(coo, of_dense)
        found["torch CSR"] = lambda: torch.sparse.mm(of_csr, of_dense)
    except ImportError:
        pass
    want = np.asarray(found["dualflow"]())
    for name, run in found.items():
        if "transposed" not in name:
            np.testing.assert_allclose(np.asarray(run()), want, rtol=1e-4, atol=1e-4)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=60)
    given = parser.parse_args()
    for rows, count, columns in SIZES:
        runs = products(rows, count, columns, given.threads)
        times: dict[str, list[float]] = {name: [] for name in runs}
        for _ in range(given.rounds):
            for name, run in runs.items():
                start = time.perf_counter()
                run()
                times[name].append(time.perf_counter() - start)
        medians = {name: statistics.median(t) for name, t in times.items()}
        mine = medians["dualflow"]
        print(f"{rows} x {rows}, {count} entries, {columns} columns: {mine * 1e6:.0f} us; "
              + ", ".join([f"{name} {t * 1e6:.0f} us ({mine / t:.2f})"
                           for name, t in medians.items() if name != "dualflow"]), flush=True)


if __name__ == "__main__":
    main()
