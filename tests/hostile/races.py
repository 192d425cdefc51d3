"""Owners that write to shared memory while an op reads it: `python -m tests.hostile.races SECONDS
[NAME]`. The op may return anything or raise, but must not crash or return invalid indices."""

import sys
import threading
import time

import numpy as np

import dualflow as df

N = 200_000
ROWS = 1000
WILD = {"int32": 2**31 - 1, "int64": 2**62, "bool": 255, "float32": np.nan}


def confusion(labels):
    return df.math.confusion_matrix(labels, labels, num_classes=ROWS)


def spread(ids):
    with df.GradientTape() as tape:
        x = df.ones((N,))
        tape.watch(x)
        y = df.math.unsorted_segment_sum(x, ids, ROWS)
    return tape.gradient(y, x)


def update(rows):
    with df.GradientTape() as tape:
        x = df.ones((N,))
        tape.watch(x)
        y = df.tensor_scatter_nd_update(df.zeros((ROWS, 2)), df.reshape(rows, (-1, 1)),
                                        df.stack([x, x], 1))
    return tape.gradient(y, x)


# name: (dtype of the shared operand, op on it)
OPS = {
    "where": ("bool", df.where),
    "boolean_mask": ("bool", lambda m: df.boolean_mask(df.range(N), m)),
    "gather": ("int64", lambda i: df.gather(df.ones((ROWS,)), i)),
    "gather rows": ("int32", lambda i: df.gather(df.ones((ROWS, 5)), i)),
    "gather_nd": ("int64", lambda i: df.gather_nd(df.ones((ROWS, 3)), df.reshape(i, (-1, 1)))),
    "gather gradient": ("int64", lambda i: df.grad(
        lambda t: df.reduce_sum(df.gather(t, i)))(df.ones((ROWS,)))),
    "scatter_nd": ("int32", lambda i: df.scatter_nd(df.reshape(i, (-1, 1)), df.ones((N,)),
                                                    (ROWS,))),
    "tensor_scatter_nd_update": ("int64", update),
    "segment_sum": ("int32", lambda i: df.math.segment_sum(df.ones((N,)), i)),
    "unsorted_segment_sum": ("int64", spread),
    "bincount": ("int64", df.math.bincount),
    "confusion_matrix": ("int64", confusion),
    "one_hot": ("int32", lambda i: df.one_hot(i, 3)),
    "in_top_k": ("int32", lambda i: df.math.in_top_k(i, df.ones((N, 2)), 1)),
    "sparse labels": ("int32", lambda i: df.nn.sparse_softmax_cross_entropy_with_logits(
        i, df.ones((N, 2)))),
    "argmax": ("float32", df.argmax),
    "sort": ("float32", df.sort),
    "argsort": ("int64", df.argsort),
    "top_k": ("float32", lambda x: df.math.top_k(x, 5)),
    "searchsorted": ("int64", lambda x: df.searchsorted(x, x)),
    "unique": ("int64", df.unique),
}


INDICES = ("where", "argmax", "argsort")        # ops that return indices into their operand


def main(name, seconds):
    dtype, op = OPS[name]
    traced = df.function(op)
    owner = np.zeros(N, dtype)
    shared = df.from_dlpack(owner)
    bits = owner.view("uint8") if dtype == "bool" else owner
    stop = threading.Event()

    def write():
        middle = slice(N // 2, N // 2 + 500)
        while not stop.is_set():
            bits[middle] = WILD[dtype]
            bits[:] = 1
            bits[middle] = -WILD[dtype] if dtype != "bool" else 2
            bits[:] = 0

    writer = threading.Thread(target=write)
    writer.start()
    until = time.monotonic() + seconds
    try:
        for turn in range(1_000_000):
            try:
                found = (op if turn % 2 else traced)(shared)
                if name in INDICES and found.size:
                    assert 0 <= found.numpy().min() <= found.numpy().max() < N
            except (ValueError, IndexError, OverflowError, MemoryError):
                pass
            if time.monotonic() > until:
                break
    finally:
        stop.set()
        writer.join()


if __name__ == "__main__":
    sys.setswitchinterval(1e-5)
    for chosen in sys.argv[2:] or OPS:
        print(chosen, flush=True)
        main(chosen, float(sys.argv[1]))
