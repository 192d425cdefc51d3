"""The positions at which programs start reductions and wait for them."""

import pytest

import dualflow as df

pytest.importorskip("mpi4py", reason="training on many machines needs mpi4py")


def lines_of(passes, **options):
    """Return the instructions of a training step of three layers, by name."""
    df.distribute.init()
    vs = [df.Variable(df.random.normal([8, 8], seed=k), name=f"v{k}") for k in range(3)]
    optimizer = df.distribute.DistributedOptimizer(df.optimizers.SGD(0.1), bucket_bytes=1,
                                                   **options)

    @df.function(passes=passes)
    def step(x):
        with df.GradientTape() as tape:
            for v in vs:
                x = df.tanh(df.matmul(x, v))
            loss = df.reduce_sum(x)
        optimizer.apply_gradients(zip(tape.gradient(loss, vs), vs, strict=True))
        return loss

    text = step.compiled_for(df.ones([4, 8])).spec.text(lines=False)
    words = ("host_start", "host_wait", "matmul", "sgd_update")
    return [word for line in text.splitlines() for word in words if word in line]


def test_reductions_start_when_ready_and_wait_when_needed():
    start, wait, product = "host_start", "host_wait", "matmul"
    assert lines_of(True) == [
        *[product] * 4, start, *[product] * 2, start, *[product] * 2, start,
        *[wait, "sgd_update"] * 3]


def test_updates_do_not_wait_for_other_buckets():
    """Ops on a result, such as casts and averages, are computed with it."""
    assert lines_of(True, compression=df.float16)[-6:] == ["host_wait", "sgd_update"] * 3


def test_reductions_in_a_graph_overlap():
    df.distribute.init()

    @df.function
    def f(x):
        a, b = df.distribute.allreduce(x @ x, "sum"), df.distribute.grouped_allreduce([x, x + 1.])
        y = df.matmul(x, x, transpose_b=True)
        return a, b, y

    text = f.compiled_for(df.ones([4, 4])).spec.text(lines=False)
    assert [word for line in text.splitlines() for word in ("matmul", "host_start", "host_wait")
            if word in line and "= " in line] == [
        "matmul", "host_start", "host_start", "matmul", "host_wait", "host_wait"]
    a, (b, c), _ = f(df.ones([4, 4]))
    assert (a[0, 0].item(), b[0, 0].item(), c[0, 0].item()) == (4., 1., 2.)


def test_order_without_passes():
    start, wait, product = "host_start", "host_wait", "matmul"
    assert [word for word in lines_of(False) if word in (start, wait, product)] == [
        *[product] * 8, *[start] * 3, *[wait] * 3]


def test_numerics_of_micro_batches_are_checked():
    """Outputs of outstanding reductions are not checked; completed ones are."""
    df.distribute.init()
    v = df.Variable([1., 2.])
    optimizer = df.distribute.DistributedOptimizer(df.optimizers.SGD(0.5), shards=2)
    update = df.function(lambda g: optimizer.apply_gradients([(g, v)]))
    df.debugging.enable_check_numerics()
    try:
        for x in (1., 3.):
            update(df.constant([x, x]))
        assert v.numpy().tolist() == [0., 1.]
        update(df.constant([1., 1.]))
        with pytest.raises(df.errors.InvalidArgumentError, match="NaN"):
            update(df.constant([float("nan"), 1.]))
    finally:
        df.debugging.disable_check_numerics()
