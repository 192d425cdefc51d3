"""The checks that each rank of a job runs; test_ranks.py starts them under mpiexec.

    mpiexec -n N python -m tests.distribute.cases FOLDER [gathered]

A case is a function that runs on all ranks; its result must be equal for every number of ranks.
With `gathered`, all cases run a second time, and exchange headers as among many ranks.
"""

import copy
import hashlib
import json
import pickle
import sys
import traceback
from pathlib import Path

import numpy as np
import pytest

import dualflow as df
from dualflow.distribute import headers, progress, transport

d = df.distribute
DTYPES = ["float32", "float64", "float16", "bfloat16", "int8", "int16", "int32", "int64", "uint8",
          "uint16", "uint32", "uint64"]
SHARDS = 12


def given(rank, shape, dtype="float32"):
    """Return the data of a rank: values of both signs and many magnitudes, none of them zero."""
    rng = np.random.default_rng([rank, *shape])
    x = rng.normal(size=shape) * 10. ** rng.integers(-3, 4, shape) if "float" in dtype else (
        rng.integers(1, 5, shape))
    return df.cast(df.constant(x), dtype)


def of_all(shape, dtype="float32"):
    return [given(r, shape, dtype) for r in range(d.size())]


def tree(op, xs):
    """Reduce by definition: the left child has the largest power of two below n as leaves."""
    if len(xs) == 1:
        return xs[0]
    half = 1 << (len(xs) - 1).bit_length() - 1
    return op(tree(op, xs[:half]), tree(op, xs[half:]))


def same_bits(a, b):
    assert a.dtype is b.dtype and tuple(a.shape) == tuple(b.shape), (a, b)
    assert a.numpy().tobytes() == b.numpy().tobytes()


OPS = {"sum": df.add, "min": df.minimum, "max": df.maximum, "product": df.multiply}


def case_reductions():
    for op, fn in OPS.items():
        for dtype in DTYPES:
            want = tree(fn, of_all((7, 3), dtype))
            same_bits(d.allreduce(given(d.rank(), (7, 3), dtype), op), want)


def case_complex_numbers():
    """The parts are added; there is no maximum, minimum or product."""
    for dtype in ("complex64", "complex128"):
        part = df.as_dtype(dtype).real_dtype.name
        xs = [df.complex(given(r, (7, 3), part), given(r + 9, (7, 3), part))
              for r in range(d.size())]
        want = tree(df.add, xs)
        same_bits(d.allreduce(xs[d.rank()], "sum"), want)
        same_bits(d.allreduce(xs[d.rank()]), want / float(d.size()))
        same_bits(d.broadcast(xs[d.rank()], 0), xs[0])
        with df.GradientTape() as tape:
            tape.watch(xs[d.rank()])
            y = d.allreduce(xs[d.rank()], "sum")
        g = tape.gradient(y, xs[d.rank()], output_gradients=xs[d.rank()])
        same_bits(g, want)
        for op in ("max", "min", "product"):
            with pytest.raises(df.errors.DTypeError, match=f"no {op} of {dtype}"):
                d.allreduce(xs[0], op)


def case_bools():
    x = df.constant([True, False, d.rank() == 0])
    assert d.allreduce(x, "max").tolist() == [True, False, True]
    assert d.allreduce(x, "min").tolist() == [True, False, d.size() == 1]
    with pytest.raises(df.errors.DTypeError, match="no sum of bool"):
        d.allreduce(x, "sum")
    with pytest.raises(df.errors.DTypeError, match="no average of int32"):
        d.allreduce(1)


def case_sizes():
    """Cover small messages, shared memory in one and several parts, and slices sent by MPI."""
    group = d.global_process_set.transport
    for n in (0, 1, 17, 4095, 4097, 100_003, 700_001):
        x, want = given(d.rank(), (n,)), tree(df.add, of_all((n,)))
        same_bits(d.allreduce(x, "sum"), want)
        before, group._shares = group._shares, False
        same_bits(d.allreduce(x, "sum"), want)
        group._shares = before


def case_large_again():
    """Reduce repeatedly in the same memory."""
    want = tree(df.add, of_all((300_000,)))
    x = given(d.rank(), (300_000,))
    for _ in range(20):
        same_bits(d.allreduce(x, "sum"), want)


def case_factors():
    x = given(d.rank(), (5,))
    want = tree(df.add, [y * 0.5 for y in of_all((5,))])
    same_bits(d.allreduce(x, "sum", prescale_factor=0.5, postscale_factor=3.), want * 3.)
    same_bits(d.allreduce(x), tree(df.add, of_all((5,))) / float(d.size()))
    half = tree(df.add, [df.cast(y, df.float16) for y in of_all((5,))])
    same_bits(d.allreduce(x, "sum", compression=df.float16), df.cast(half, df.float32))


def case_grouped():
    shapes = [(3,), (400_000,), (), (2, 2)]
    found = d.grouped_allreduce([given(d.rank(), s) for s in shapes], "sum")
    for y, s in zip(found, shapes, strict=True):
        same_bits(y, tree(df.add, of_all(s)))


def case_graph_has_the_same_bits():
    def f(x):
        y = d.allreduce(x * 2., "sum")
        return y + d.allgather(x)[:3] + d.broadcast(x), d.reducescatter(x, "sum")

    x = given(d.rank(), (3, 4))
    for a, b in zip(f(x), df.function(f)(x), strict=True):
        same_bits(a, b)


def case_graph_of_any_size():
    f = df.function(lambda x: d.allreduce(x, "sum") + 1.,
                    input_signature=[df.TensorSpec([None], df.float32)])
    for n in (3, 5):
        same_bits(f(given(d.rank(), (n,))), tree(df.add, of_all((n,))) + 1.)
    positive = df.function(lambda x: d.allreduce(df.boolean_mask(x, x > 0.), "max"))
    x = given(7, (20,))
    same_bits(positive(x), df.boolean_mask(x, x > 0.))


def case_allgather():
    rank, size = d.rank(), d.size()
    x = df.fill([rank + 1, 2], float(rank))
    want = [[float(r)] * 2 for r in range(size) for _ in range(r + 1)]
    assert d.allgather(x).tolist() == want
    assert d.allgather(x[:0]).shape == (0, 2)


def case_alltoall():
    rank, size = d.rank(), d.size()
    x = df.constant([10. * rank + k for k in range(size)])
    assert d.alltoall(x).tolist() == [10. * r + rank for r in range(size)]
    splits = [1 + k for k in range(size)]
    x = df.fill([sum(splits), 2], float(rank))
    y, received = d.alltoall(x, splits)
    assert received.tolist() == [rank + 1] * size
    assert y[:, 0].tolist() == [float(r) for r in range(size) for _ in range(rank + 1)]
    with pytest.raises(df.errors.ShapeError, match=r"on ranks \[0\] the splits"):
        d.alltoall(x, splits if rank else [99] * size)


def case_gradients():
    """Check gradients of a sum over ranks, weighted by each rank, against the definition."""
    rank, size = d.rank(), d.size()
    x = given(rank, (4, 2))
    weights = [given(100 + r, (4, 2)) for r in range(size)]
    every = [given(200 + r, (4 * size, 2)) for r in range(size)]

    def grad(f):
        with df.GradientTape() as tape:
            tape.watch(x)
            y = f()
        eager = tape.gradient(y, x)

        @df.function
        def traced(x_in):
            nonlocal x
            before, x = x, x_in
            with df.GradientTape() as tape:
                tape.watch(x)
                y = f()
            made = tape.gradient(y, x)
            x = before
            return made

        same_bits(traced(x), eager)
        return eager

    total = tree(df.add, weights)
    same_bits(grad(lambda: df.reduce_sum(d.allreduce(x, "sum") * weights[rank])), total)
    same_bits(grad(lambda: df.reduce_sum(d.allreduce(x) * weights[rank])), total / float(size))
    same_bits(grad(lambda: df.reduce_sum(d.broadcast(x, size - 1) * weights[rank])),
              total if rank == size - 1 else df.zeros_like(total))
    same_bits(grad(lambda: df.reduce_sum(d.allgather(x) * every[rank])),
              tree(df.add, every)[4 * rank:4 * rank + 4])

    best = grad(lambda: df.reduce_sum(d.allreduce(x, "max") * weights[rank]))
    wins = x.numpy() == tree(df.maximum, of_all((4, 2))).numpy()
    np.testing.assert_array_equal(best.numpy(), np.where(wins, total.numpy(), 0))


def case_gradient_of_rows():
    rank, size = d.rank(), d.size()
    x = df.ones([2 * size + 1, 3])
    with df.GradientTape() as tape:
        tape.watch(x)
        y = df.reduce_sum(d.reducescatter(x, "sum") * (rank + 1.))
    counts = [3] + [2] * (size - 1)
    want = [r + 1. for r in range(size) for _ in range(counts[r])]
    assert tape.gradient(y, x)[:, 0].tolist() == want
    x = df.ones([size])
    with df.GradientTape() as tape:
        tape.watch(x)
        y = df.reduce_sum(d.alltoall(x) * (rank + 1.))
    assert tape.gradient(y, x).tolist() == [r + 1. for r in range(size)]


def case_second_order():
    x = df.constant(2.)
    with df.GradientTape() as outer:
        outer.watch(x)
        with df.GradientTape() as inner:
            inner.watch(x)
            y = d.allreduce(x, "sum") ** 2.
        g = inner.gradient(y, x)
    assert outer.gradient(g, x).item() == 2. * d.size() ** 2


def case_objects():
    rank, size = d.rank(), d.size()
    assert d.allgather_object({"rank": rank}) == [{"rank": r} for r in range(size)]
    assert d.broadcast_object(["x"] * rank, size - 1) == ["x"] * (size - 1)
    v = df.Variable([float(rank)] * 3)
    d.broadcast_variables([v], size - 1)
    assert v.numpy().tolist() == [size - 1.] * 3


def case_process_sets():
    rank, size = d.rank(), d.size()
    even = d.add_process_set(range(0, size, 2))
    if even.included():
        assert even.rank() == rank // 2 and even.size() == (size + 1) // 2
        x = given(rank, (3,))
        same_bits(d.allreduce(x, "sum", process_set=even),
                  tree(df.add, [given(r, (3,)) for r in range(0, size, 2)]))
    else:
        with pytest.raises(df.errors.InvalidArgumentError, match="this rank is not in it"):
            d.allreduce(1., process_set=even)
    d.remove_process_set(even)


MISMATCHES = {      # (rank 0's call, the others' call, words of the error)
    "shape": (lambda: d.allreduce(df.zeros([2]), name="w"),
              lambda: d.allreduce(df.zeros([3]), name="w"),
              r"allreduce w: ranks differ in dtypes and shapes: .*\(2,\).* on rank 0; .*\(3,\)"),
    "dtype": (lambda: d.allgather(df.zeros([2])), lambda: d.allgather(df.zeros([2], df.float64)),
              "allgather: ranks differ in dtype: float32 on rank 0; float64 on rank"),
    "kind": (lambda: d.allreduce(1.), d.barrier,
             "ranks differ in the operation: allreduce on rank 0; barrier on rank"),
    "name": (lambda: d.allreduce(1., name="a"), lambda: d.allreduce(1., name="b"),
             "ranks differ in the name: a on rank 0; b on rank"),
    "op": (lambda: d.allreduce(1., "sum"), lambda: d.allreduce(1., "max"),
           "ranks differ in op: sum on rank 0; max on rank"),
    "root": (lambda: d.broadcast(1., 0), lambda: d.broadcast(1., 1), "ranks differ in root"),
}


def case_mismatches():
    if d.size() == 1:
        return
    for first, others, message in MISMATCHES.values():
        with pytest.raises(df.errors.InvalidArgumentError, match=message):
            (others if d.rank() else first)()
        assert d.allreduce(1., "sum").item() == d.size()        # in step again


def case_late_rank():
    """A late rank is named. The call uses a separate process set, so that the job continues."""
    if d.size() == 1:
        return
    for wrap in (lambda f: f, df.function):
        pair = d.add_process_set([0, 1])
        before, d.timeout = d.timeout, 0.3
        if d.rank() == 0:
            f = wrap(lambda x, pair=pair: d.allreduce(x + 1., name="late", process_set=pair) * 2.)
            with pytest.raises(df.errors.DeadlineExceededError,
                               match=r"allreduce late: waited 0.3 s for rank 1, which did not"):
                f(df.ones([5000]))
            for _ in range(2):
                with pytest.raises(df.errors.InUseError, match="out of step"):
                    f(df.ones([5000]))
        d.timeout = before


def case_join():
    """Rank 0 has the most batches."""
    means = []
    for _ in range(d.size() - d.rank()):
        means.append(d.allreduce(float(d.rank() + 1)).item())
    assert d.join() == 0
    size = d.size()
    assert means == [sum(range(1, n + 1)) / n for n in range(size, d.rank(), -1)]


def case_metric():
    mean = d.MetricAverage()
    mean.update(float(d.rank()), d.rank() + 1)
    n = [r + 1 for r in range(d.size())]
    assert mean.result() == sum(r * k for r, k in enumerate(n)) / sum(n)


def case_tape():
    v, w = df.Variable([1., 2.]), df.Variable(3.)
    with df.GradientTape() as tape:
        y = df.reduce_sum(v * v) * (d.rank() + 1.) + w
    found = d.DistributedGradientTape(tape, "sum").gradient(y, {"v": v, "w": [w]})
    total = d.size() * (d.size() + 1) / 2
    assert found["v"].tolist() == [2. * total, 4. * total] and found["w"][0].item() == d.size()


def trained(graph, sparse, noise=False, **options):
    """Return a digest of the variables after updates by SHARDS micro-batches, in order."""
    rng = np.random.default_rng(3)
    images = rng.normal(size=(SHARDS, 5, 7)).astype("float32")
    rows = rng.integers(0, 6, (SHARDS, 5)).astype("int32")
    w = df.Variable(rng.normal(size=(7, 9)).astype("float32"), name="w")
    table = df.Variable(rng.normal(size=(6, 9)).astype("float32"), name="table")
    b = df.Variable(np.zeros(9, "float32"), name="b")
    variables = [w, b, table] if sparse else [w, b]
    optimizer = d.DistributedOptimizer(df.optimizers.Adam(0.01, global_clipnorm=1.), shards=SHARDS,
                                       bucket_bytes=100, **options)
    assert isinstance(optimizer, df.optimizers.Adam)

    def step(x, k):
        with df.GradientTape() as tape:
            y = df.matmul(df.nn.dropout(x, 0.5) if noise else x, w) + b
            loss = df.reduce_mean((y + df.nn.embedding_lookup(table, k) if sparse else y) ** 2.)
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))

    step = df.function(step) if graph else step
    each = SHARDS // d.size()
    df.random.set_seed(5)
    for n in range(3):
        for k in range(d.rank() * each, (d.rank() + 1) * each):
            with d.shard(n, k):
                step(df.constant(images[k]), df.constant(rows[k]))
    assert optimizer.iterations.numpy() == 3
    return hashlib.md5(b"".join(v.numpy().tobytes() for v in variables)).hexdigest()


def case_loss_scale():
    """All ranks skip an update if the gradient of one of them is infinite; with micro-batches the
    result is the same for any number of ranks."""
    found = []
    for graph in False, True:
        for shards in None, SHARDS:
            v = df.Variable([4., 8.], dtype=df.float16, name="v")
            inner = d.DistributedOptimizer(df.optimizers.SGD(0.5), shards=shards)
            optimizer = df.optimizers.LossScaleOptimizer(inner, initial_scale=4.)

            def update(g, optimizer=optimizer, v=v):
                optimizer.apply_gradients([(g, v)])

            update = df.function(update) if graph else update
            each = 1 if shards is None else SHARDS // d.size()
            last = float("inf") if d.rank() == d.size() - 1 else 4.
            for step, final in enumerate([4., last, 8.]):
                for k in range(each):
                    with d.shard(step, d.rank() * each + k):
                        g = final if k == each - 1 else 8. if step == 2 else 4.
                        update(df.constant([g, 2. * g], df.float16))
            assert optimizer.iterations.item() == 2 and optimizer.dynamic_scale.item() == 2.
            assert d.allgather_object(v.tolist()) == [[1.5, 3.]] * d.size(), v.tolist()
            found.append(v.tolist())
    return found


def case_shards():
    """The bits do not depend on how micro-batches are distributed, in eager mode and in a graph."""
    found = []
    for options in ({}, {"compression": df.float16}, {"noise": True}, {"op": "max"}):
        for sparse in (False,) if "op" in options else (False, True):
            eager, graph = trained(False, sparse, **options), trained(True, sparse, **options)
            assert eager == graph
            assert d.allgather_object(eager) == [eager] * d.size()
            found.append(eager)
    return found


def case_copies():
    """A copy and a pickle continue like the optimizer."""
    def update(v, optimizer):
        optimizer.apply_gradients([(df.constant([1. + d.rank(), 2.]), v)])
        return v.numpy().tolist()

    v = df.Variable([1., 2.])
    optimizer = d.DistributedOptimizer(df.optimizers.Adam(0.1))
    update(v, optimizer)
    copied = copy.deepcopy((v, optimizer))
    pickled = pickle.loads(pickle.dumps((v, optimizer)))
    want = update(v, optimizer)
    assert update(*copied) == update(*pickled) == want


def case_update_overlaps():
    """One micro-batch per rank: asynchronous reductions in several buckets, run by the waiting
    thread or by the progress thread."""
    digests, before = [], progress.ProgressThread.wanted
    for graph, progress.ProgressThread.wanted in ((False, False), (True, False), (True, True)):
        vs = [df.Variable(given(7 + k, (20, 20))) for k in range(4)]
        optimizer = d.DistributedOptimizer(df.optimizers.SGD(0.1), bucket_bytes=3000)

        def step(x, vs=vs, optimizer=optimizer):
            with df.GradientTape() as tape:
                y = x
                for v in vs:
                    y = df.tanh(df.matmul(y, v))
                loss = df.reduce_sum(y)
            optimizer.apply_gradients(zip(tape.gradient(loss, vs), vs, strict=True))
            return loss

        step = df.function(step) if graph else step
        for _ in range(5):
            step(given(d.rank(), (3, 20)))
        digests.append([v.numpy().tobytes() for v in vs])
    progress.ProgressThread.wanted = before
    assert digests[0] == digests[1] == digests[2]
    same = hashlib.md5(b"".join(digests[0])).hexdigest()
    assert d.allgather_object(same) == [same] * d.size()


def case_gradients_in_graphs():
    """Reduce from and to the program's memory: small and large gradients, in one and many buckets,
    with and without compression; one gradient is the value of an updated variable."""
    shapes = [(3,), (300_000,), (17, 5), (1,), (40, 40)]
    vs = [df.Variable(given(20 + k, shape)) for k, shape in enumerate(shapes)]
    xs = [given(d.rank(), shape) for shape in shapes]
    for op in ("average", "sum", "max"):
        for options in ({}, {"compression": df.float16}, {"bucket_bytes": 1000}):
            def step(op=op, options=options):
                with df.GradientTape() as tape:
                    loss = df.add_n([df.reduce_sum(v * x) for v, x in zip(vs, xs, strict=True)])
                    loss += df.reduce_sum(vs[0] * vs[0]) / 2.       # its gradient is vs[0]
                    loss -= df.reduce_sum(vs[0] * xs[0])
                tape = d.DistributedGradientTape(tape, op, **options)
                return [df.identity(g) for g in tape.gradient(loss, vs)]

            eager, graph = step(), df.function(step)
            for _ in range(2):
                for a, b in zip(eager, graph(), strict=True):
                    same_bits(a, b)


def case_failure_between_start_and_wait():
    """All ranks fail there: outstanding reductions complete, and the ranks are in step again."""
    v = df.Variable(given(5, (200_000,)))
    tape_of = d.DistributedGradientTape

    @df.function
    def step(x, k):
        with df.GradientTape() as tape:
            loss = df.reduce_sum(v * x)
        g = tape_of(tape, "sum").gradient(loss, v)
        share = df.constant([12]) // k
        return g + df.cast(share, df.float32)

    x = given(d.rank(), (200_000,))
    want = tree(df.add, of_all((200_000,))) + 3.
    for _ in range(3):
        with pytest.raises(df.errors.InvalidArgumentError, match="divi"):
            step(x, df.constant(0))
        same_bits(step(x, df.constant(4)), want)
        same_bits(d.allreduce(x, "sum") + 3., want)


def run_cases(results, prefix=""):
    """Run all cases until one fails; return True if none did."""
    for name, case in list(globals().items()):
        if name.startswith("case_"):
            try:
                results[prefix + name] = [True, case()]
            except BaseException:
                results[prefix + name] = [False, traceback.format_exc()]
                return False            # ranks may be out of step
    return True


def main():
    folder = Path(sys.argv[1])
    d.init()
    d.timeout = 30.
    assert transport.PART == 1 << 20
    assert type(d.global_process_set.meeting._headers) is headers.DirectHeaders
    results = {}
    if run_cases(results) and "gathered" in sys.argv:
        d.shutdown()
        headers.FEW = 0
        d.init()
        assert type(d.global_process_set.meeting._headers) is headers.AllgatherHeaders
        run_cases(results, "gathered ")
    (folder / f"{d.size()}_{d.rank()}.json").write_text(json.dumps(results))


if __name__ == "__main__":
    main()
