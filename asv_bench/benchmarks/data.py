"""Batches of data: iteration over 20,000 rows of 64 float32 and their labels, 32 at a time."""

import time

import dualflow as df

N, BATCH = 20_000, 32


def scaled(x, y):
    return x / 255., y


PIPELINES = {
    "rows": lambda d: d.batch(BATCH),
    "shuffled": lambda d: d.shuffle(N, seed=1).batch(BATCH),
    "in windows": lambda d: d.shuffle(1000, seed=1).batch(BATCH),
    "repeated": lambda d: d.shuffle(N, seed=1).repeat(2).batch(BATCH),
    "prefetched": lambda d: d.shuffle(N, seed=1).batch(BATCH).prefetch(df.data.AUTOTUNE),
    "mapped by a program": lambda d: d.shuffle(N, seed=1).batch(BATCH).map(df.function(scaled)),
    "and prefetched": lambda d: d.shuffle(N, seed=1).batch(BATCH).map(df.function(scaled)).prefetch(
        df.data.AUTOTUNE),
    "mapped one by one": lambda d: d.shuffle(N, seed=1).map(scaled).batch(BATCH),
}


class Batches:
    """Time per batch in microseconds, including the computation of the order."""

    params = [list(PIPELINES)]
    param_names = ["pipeline"]

    def setup(self, pipeline):
        x = df.random.normal([N, 64], seed=1)
        rows = df.data.Dataset.from_tensor_slices((x, df.range(N)))
        self.dataset = PIPELINES[pipeline](rows)

    def a_pass(self):
        start, n = time.perf_counter(), 0
        for _ in self.dataset:
            n += 1
        return (time.perf_counter() - start) / n * 1e6

    def track_batch(self, pipeline):
        return min(self.a_pass() for _ in range(5))

    track_batch.unit = "us"

    def peakmem_pass(self, pipeline):
        self.a_pass()


class States:
    """The cost of saving and restoring the state of an iterator."""

    def setup(self):
        rows = df.data.Dataset.from_tensor_slices(df.zeros([N, 64]))
        self.iterator = iter(rows.shuffle(N, seed=1).batch(BATCH))
        next(self.iterator)
        self.state = self.iterator.state()

    def time_state(self):
        self.iterator.state()

    def time_restore_and_next(self):
        self.iterator.restore(self.state)
        next(self.iterator)
