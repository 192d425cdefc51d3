"""Failed runs leave variables as in eager mode: updates before the failing step are done, later
ones are not, whatever the passes do."""

import threading

import numpy as np
import pytest

import dualflow as df
from dualflow.errors import DualflowError
from tests.programs import failures

LARGE = df.constant(np.linspace(0., 1., 80_000).astype("float32"))
NAN = df.constant([1., np.nan])


def gather(k):
    return df.gather(df.constant([1., 2.]), k)


def between(w, other, k):
    w.assign_add([1., 1.])
    y = gather(k)
    w.assign_add([1., 1.])
    return y


def between_reads(w, other, k):
    w.assign(df.tanh(w))
    y = gather(k) * w
    w.assign(w * y)
    return w.value()


def cluster_behind(w, other, k):
    """A sibling of the first update's operand follows the failure and is fused with that
    operand."""
    y = df.tanh(w.value())
    w.assign(y)
    z = gather(k)
    return df.sin(y) * 2. + z


def cluster_that_waits(w, other, k):
    """The failing step reads a cluster that could grow past the later update."""
    y = df.tanh(other.value())
    z = df.gather(y, k)
    w.assign_add([1., 1.])
    return z, df.exp(y) * 2.


def only_for_an_update(w, other, k):
    """The update may move up, but not above the update before it."""
    at = df.stack([k, k])
    y = df.cumsum(df.tanh(w))
    w.assign(y * 2.)
    other.assign(gather(at))
    return y


def dead(w, other, k):
    """The result of the failing step is unused: it is overwritten."""
    w.assign_add([1., 1.])
    other.assign(df.broadcast_to(gather(k), [2]))
    other.assign([5., 5.])
    gather(k)


def side_by_side(w, other, k):
    """Large single-threaded steps could form a wave ahead of the update."""
    counted = df.cast(LARGE > 2., df.int32) + (2 - k)
    a = df.concat([LARGE, LARGE], 0)
    w.assign_add(a[2:4])
    b = df.math.confusion_matrix(counted, counted, 3)
    c = df.concat([LARGE, LARGE, LARGE], 0)
    other.assign_add([1., 1.])
    return a, b, c


def scattered(w, other, k):
    """An update in place that fails itself, after an update in the same place."""
    at = df.stack([[0], [1]])
    w.scatter_nd_add(at, [1., 2.])
    w.scatter_nd_update(df.stack([[0], [k - 1]]), [7., 8.])
    other.scatter_nd_max(df.reshape(k - 1, [1, 1]), [9.])


def data_sized(w, other, k):
    w.assign_add([1., 1.])
    y = df.boolean_mask(w, df.range(2) < 3 - k) + df.ones([2])
    w.assign_add(y)


def asserted(w, other, k):
    w.assign_add([1., 1.])
    df.debugging.assert_less(k, 3)
    w.assign_add([1., 1.])
    other.assign_add(w)


def in_a_rule(w, other, k):
    """A custom gradient rule fails."""
    @df.custom_gradient
    def f(x):
        return x * 1., lambda g: g * gather(k)

    with df.GradientTape() as tape:
        loss = df.reduce_sum(f(w * 2.))
    w.assign_add([1., 1.])
    grad = tape.gradient(loss, w)
    other.assign_add([1., 1.])
    w.assign_add(grad)


def an_optimizer(w, other, k):
    with df.GradientTape() as tape:
        loss = df.reduce_sum(w * w) + df.reduce_sum(other * w)
    g, h = tape.gradient(loss, [w, other])
    OPTIMIZER.apply_gradients([(g, w)])
    OPTIMIZER.apply_gradients([(h * gather(k), other)])
    return loss


OPTIMIZER = df.optimizers.SGD(.1, momentum=.5)


def aftermath(f, wrap):
    w, other = df.Variable([1., 2.], name="w"), df.Variable([.5, .25], name="other")
    OPTIMIZER.build([w, other])
    run = wrap(lambda k: f(w, other, k))
    seen = []
    for k in (1, 3, 0, 3):
        try:
            run(df.constant(k))
            seen.append(None)
        except DualflowError as error:
            seen.append(type(error))
        seen += [w.numpy().tolist(), other.numpy().tolist()]
    return seen


@pytest.mark.parametrize("f", [between, between_reads, cluster_behind, cluster_that_waits,
                               only_for_an_update, dead, side_by_side, scattered, data_sized,
                               asserted, in_a_rule, an_optimizer], ids=lambda f: f.__name__)
@pytest.mark.parametrize("passes", [True, False])
def test_variables_after_a_failure(f, passes):
    want = aftermath(f, lambda g: g)
    assert want[3] is not None and want[9] is not None
    assert aftermath(f, lambda g: df.function(g, passes=passes)) == want


@pytest.mark.parametrize("traced", [False, True])
def test_numerics_check_precedes_the_update(traced):
    """A value that fails the check is not written to its variable."""
    def f(x):
        w.assign_add([1., 1.])
        w.assign(x * x)

    w = df.Variable([1., 1.])
    run = df.function(f) if traced else f
    df.debugging.enable_check_numerics()
    try:
        with pytest.raises(DualflowError, match="multiply"):
            run(NAN)
    finally:
        df.debugging.disable_check_numerics()
    assert w.numpy().tolist() == [2., 2.]


def test_constants_that_fail_are_not_folded():
    w = df.Variable([1., 1.])

    @df.function
    def f():
        w.assign_add([1., 1.])
        return df.gather(df.constant([1., 2.]), df.constant([7]))

    with pytest.raises(DualflowError, match="gather"):
        f()
    assert w.numpy().tolist() == [2., 2.]


@pytest.mark.parametrize("seed", range(30))
def test_random_programs(seed):
    failures.check(seed)


def test_many_random_programs(request):
    if not request.config.getoption("exhaustive"):
        pytest.skip("slow: run with --exhaustive")
    for seed in range(30, 5000):
        failures.check(seed)


@pytest.mark.parametrize("passes", [True, False])
def test_incompatible_assignment_raises_although_overwritten(passes):
    v = df.Variable([1., 2.])

    @df.function(passes=passes)
    def f(mask):
        v.assign(df.boolean_mask(df.constant([5., 6., 7.]), mask))
        v.assign([0., 0.])

    f(df.constant([True, False, True]))
    v.assign([1., 2.])
    with pytest.raises(df.errors.ShapeError):
        f(df.constant([True, True, True]))
    assert v.tolist() == [1., 2.]


@pytest.mark.parametrize("passes", [True, False])
def test_random_draws_after_a_failure_are_rolled_back(passes):
    """One draw directly follows the failing step, another one precedes it."""
    def f(generator, i):
        before = generator.normal([2])
        df.gather(df.constant([1., 2.]), i)
        return before + generator.normal([2]) + generator.uniform([2])

    eager, traced = df.random.Generator(3), df.random.Generator(3)
    g = df.function(lambda i: f(traced, i), passes=passes)
    for i in (1, 5, 0, 7, 7, 1):
        i = df.constant(i)
        if i.item() < 2:
            assert f(eager, i).tolist() == g(i).tolist()
        else:
            for call in (lambda i=i: f(eager, i), lambda i=i: g(i)):
                with pytest.raises(df.errors.OutOfRangeError):
                    call()
        assert eager.counter == traced.counter


def test_random_draws_of_other_threads_are_not_rolled_back():
    generator = df.random.Generator(3)

    def elsewhere(x):
        thread = threading.Thread(target=generator.normal, args=([2],))
        thread.start()
        thread.join()
        raise ValueError

    @df.function
    def f(x):
        x = df.ops.control_flow.host.host_call(elsewhere, [x], "elsewhere")
        return generator.normal([2])

    with pytest.raises(ValueError):
        f(df.constant(1.))
    assert generator.counter == 2


def test_random_draws_of_a_branch_are_rolled_back():
    """The program also writes the generator's state, and has released it by then."""
    def f(generator, x, k):
        df.debugging.assert_less(k, 4)
        y = generator.normal([2])
        return df.cond(x > 0., lambda: generator.normal([2]), lambda: y) + y

    eager, traced = df.random.Generator(1), df.random.Generator(1)
    g = df.function(lambda x, k: f(traced, x, k))
    for x, k in [(1., 1), (1., 7), (-1., 7), (-1., 1), (1., 2)]:
        made = []
        for call in (lambda *xs: f(eager, *xs), g):
            try:
                made.append(call(df.constant(x), df.constant(k)).numpy().tobytes())
            except DualflowError as error:
                made.append(str(error).split(" (made at")[0])
        assert made[0] == made[1], (x, k)


def test_loop_body_that_raises_while_traced():
    """The user's error is raised, also if variables were read before the loop."""
    v = df.Variable(1.)

    def body(k, x):
        raise KeyError("mine")

    @df.function
    def f(x):
        return df.while_loop(lambda k, x: k < 3, body, (0, x + v))

    with pytest.raises(KeyError, match="mine"):
        f(df.constant(1.))
