"""Memory does not grow over many calls, traces and errors; unreferenced objects are freed."""

import functools
import gc
import os
import resource
import weakref

import numpy as np
import pytest

import dualflow as df
from dualflow.graph.calls.concrete import MAX_PLANS
from tests.live import live_bytes
from tests.ops import harness
from tests.ops.cases import CASES
from tests.threads.child import run

pytestmark = [
    pytest.mark.filterwarnings("ignore::dualflow.errors.RetracingWarning"),
    pytest.mark.skipif("libasan" in os.environ.get("LD_PRELOAD", ""),
                       reason="the address sanitizer delays freeing"),
]


@pytest.fixture
def calls(request):
    return 100_000 if request.config.getoption("exhaustive") else 4_000


def resident():
    """Return the resident memory of this process in bytes."""
    with open("/proc/self/statm") as f:
        return int(f.read().split()[1]) * resource.getpagesize()


def stays(work, n, allowed=2 << 20, before=None):
    """Assert that n calls use no more memory than the first `before` calls, by default a tenth."""
    for _ in range(before or max(n // 10, 3)):
        work()
    live, start = live_bytes(), resident()
    for _ in range(n):
        work()
    assert live_bytes() == live
    assert resident() - start < allowed, resident() - start


def test_function_calls_do_not_leak(calls):
    x = df.ones([16])
    f = df.function(lambda a, b: (a + b, df.tanh(a) * b, a, df.constant(1.)))
    stays(lambda: f(x, x), calls)


LARGE = {"sort": lambda x: df.sort(x, 0), "argsort": lambda x: df.argsort(x, 1),
         "matmul": lambda x: x @ x, "sum": df.reduce_sum, "cumsum": lambda x: df.cumsum(x, 0),
         "top_k": lambda x: df.math.top_k(x, 7)}


def test_ops_do_not_leak():
    """Operands and workspace are freed without a collection, since there are no cycles."""
    def live():
        return df.config.memory_stats()["live"]

    x = df.constant(np.random.default_rng(0).normal(size=(300, 300)))
    work = {name: functools.partial(f, x) for name, f in LARGE.items()}
    for case in CASES:
        args = harness.make(case, case.dtypes[0])
        work[str(case)] = functools.partial(harness.run, case, args)
    kept = []
    for name, one in work.items():
        one()
        before = live()
        one()
        if live() != before:
            kept.append(name)
    assert not kept


def prints(x, n):
    df.print("x is", x, [n, x * n])
    return x * n


def shapes(x, n):
    return df.reshape(df.tile(x, [n]), [x.shape[0] * n, 1]) + df.zeros([n, 1])[:1] * n


def asserts(x, n):
    df.debugging.assert_less(x, 1e6, message="too large", summarize=n)
    return df.concat([x] * n, 0) if n > 2 else x


def differentiates(x, n):
    with df.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = df.custom_gradient(lambda z: (z * n, lambda g: g * tape.gradient(z, z) * n))(x)
    return tape.gradient(y, x)


@pytest.mark.filterwarnings("ignore::dualflow.errors.GradientWarning")
@pytest.mark.parametrize("f", [prints, shapes, asserts, differentiates])
def test_traces_are_freed(f, capsys):
    """The traces refer to themselves: from Python calls, and attributes that are sizes."""
    def use():
        g = df.function(f)
        for n in (1, 2, 3, 4):
            g(df.ones([n + 1]), n)
        with df.GradientTape() as tape:
            x = df.ones([7])
            tape.watch(x)
            y = g(x, 2)
        tape.gradient(y, x)
        return [weakref.ref(c.trace) for c in g._traces]

    use()
    before = live_bytes()
    traces = use()
    assert live_bytes() == before
    assert traces and not any(ref() for ref in traces)


def test_cached_memory_is_released_when_allocation_fails():
    """The system refuses an allocation, but the cache of freed buffers is large enough."""
    run("""
import resource
x = df.zeros([64 << 20], "int8")
del x
assert df.config.memory_stats()["cached"] >= 64 << 20
with open("/proc/self/statm") as f:
    now = int(f.read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (now + (8 << 20), resource.RLIM_INFINITY))
x = df.zeros([44 << 20], "int8")
assert df.config.memory_stats()["cached"] < 1 << 20
""")


def test_training_step_does_not_leak(calls):
    w = df.Variable(df.ones([8, 4]) * .1)
    x = df.ones([2, 8])
    adam = df.optimizers.Adam(1e-3)

    @df.function
    def step(x, rate):
        with df.GradientTape() as tape:
            loss = df.reduce_mean(df.nn.dropout(x @ w, .5) ** 2) * rate
        adam.apply_gradients([(tape.gradient(loss, w), w)])
        return {"loss": loss, "w": w.value()}

    rates = iter(range(10**9))
    stays(lambda: step(x, float(next(rates))), calls // 2)


def test_data_dependent_sizes_do_not_leak(calls):
    f = df.function(lambda x: df.boolean_mask(x, x > 0.))
    xs = [df.constant([1., -1.] * n) for n in range(1, 9)]
    turn = iter(range(10**9))
    stays(lambda: f(xs[next(turn) % 8]), calls // 5)


def test_errors_do_not_leak(calls):
    x, v = df.ones([4]), df.Variable(df.zeros([4]))

    @df.function
    def f(i):
        v.assign_add(x)
        return df.gather(x, i) * df.boolean_mask(x, x > 0.)[0]

    bad = df.constant(9)

    def work():
        with pytest.raises(IndexError):
            f(bad)

    stays(work, calls // 20)


def test_retracing_does_not_leak(calls):
    x = df.ones([8])
    f = df.function(lambda x, word: x * float(len(word)) + 1.)
    turn = iter(range(10**9))
    stays(lambda: f(x, f"{next(turn):08}"), max(calls // 20, 500), 16 << 20, 2 * MAX_PLANS)


def test_plans_do_not_leak(calls):
    f = df.function(lambda x: df.exp(x) * 2., input_signature=[df.TensorSpec([None])])
    turn = iter(range(10**9))
    stays(lambda: f(df.zeros([next(turn) % 1000])), max(calls // 10, 1000), 16 << 20, 2 * MAX_PLANS)


def test_created_and_dropped_functions_do_not_leak(calls):
    x = df.ones([8])

    def work():
        f = df.function(lambda x: df.tanh(x) + x)
        f(x)

    stays(work, calls // 50, allowed=6 << 20)


def test_functions_and_graphs_are_collectable():
    class Big:
        pass

    big = Big()
    x = df.ones([1000])

    def made_with(keep):
        return df.function(lambda y: df.tanh(y) + x if keep else y)

    f = made_with(big)
    f(df.ones([1000]))
    concrete = f.get_concrete_function(df.ones([1000]))
    compiled = f.compiled_for(df.ones([1000]))
    graph = df.Graph()
    with graph.as_default():
        df.exp(graph.placeholder([3])) + 1.
    gone = [weakref.ref(o) for o in (f, concrete, compiled, big, graph)]
    del f, concrete, compiled, big, graph
    gc.collect()
    assert [g() for g in gone] == [None] * 5


def test_arguments_and_results_are_freed():
    f = df.function(lambda x: x * 2.)
    x = df.ones([100])
    y = f(x)
    gone = weakref.ref(x), weakref.ref(y)
    del x, y
    gc.collect()
    assert [g() for g in gone] == [None, None]
