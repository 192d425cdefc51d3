"""`__df_tensor__`: objects of other packages that hold a Tensor or Variable are accepted wherever
a tensor is, and gradients pass through them."""

import numpy as np
import pytest

import dualflow as df
from dualflow._core import Operand


class Held:
    """A holder like a Keras variable: a value, its array, and no operators."""

    def __init__(self, value):
        self.value = value

    def __array__(self, dtype=None, copy=None):
        return np.array(self.value.numpy(), dtype)

    def __df_tensor__(self):
        return self.value


class WithOperators(Held):
    """A holder with operators, whose == compares elements."""

    __hash__ = None

    def __add__(self, other):
        return self.value + other

    def __eq__(self, other):
        return self.value == other


def modes(f):
    return {"eager": f, "traced": df.function(f)}.items()


@pytest.fixture(params=[Held, WithOperators])
def v(request):
    return request.param(df.Variable([1., 2., 3.]))


OPS = {
    "left": lambda v, x: x * v, "right": lambda v, x: df.multiply(v, x),
    "operator": lambda v, x: x - v, "comparison": lambda v, x: df.where(x > v, v, x),
    "matmul": lambda v, x: x @ v, "unary": lambda v, x: df.exp(v),
    "cast": lambda v, x: df.cast(v, df.float64), "mean": lambda v, x: df.reduce_mean(v),
    "list": lambda v, x: df.stack([v, x]) * 2., "concat": lambda v, x: df.concat([v, x], 0),
    "nested list": lambda v, x: df.constant([[v, v], [x, x]]) * 3.,
    "sum": lambda v, x: df.add_n([v, x, v]), "constant": lambda v, x: df.constant(v) * x,
    "converted": lambda v, x: df.convert_to_tensor(v) * x,
    "slice": lambda v, x: df.reverse(v, [0])[:2],
    "reduce": lambda v, x: df.reduce_sum(v * x) * df.norm(v),
    "einsum": lambda v, x: df.einsum("i,i->", v, x), "transpose": lambda v, x: df.transpose(v) + x,
    "clip": lambda v, x: df.clip_by_value(v, 1.5, x), "like": lambda v, x: df.zeros_like(v) + v,
    "unstack": lambda v, x: df.unstack(v)[1], "gather": lambda v, x: df.gather(v, [2, 0]),
    "pow": lambda v, x: x ** df.abs(v), "pad": lambda v, x: df.pad(v, [[1, 1]]),
}


@pytest.mark.parametrize("name", OPS)
def test_ops_and_their_gradients(v, name):
    def step(held):
        with df.GradientTape() as tape:
            y = OPS[name](held, df.constant([2., 3., 4.]))
        return y, tape.gradient(y, held)

    want = [a.numpy() for a in step(v.value)]
    for mode, run in modes(lambda: step(v)):
        for got, expected in zip(run(), want, strict=True):
            assert got.numpy().tobytes() == expected.tobytes(), mode


def test_holders_as_tape_sources_and_targets(v):
    tensor = Held(df.constant([3., 4.]))
    for _, run in modes(lambda: _gradients(v, tensor)):
        a, b, c = run()
        assert a["v"].tolist() == [2., 4., 6.] and b.tolist() == [6., 8.] and c.tolist() == [1., 1.]


def _gradients(v, tensor):
    with df.GradientTape(persistent=True) as tape:
        tape.watch([tensor])
        y = df.reduce_sum(df.square(v)) + df.reduce_sum(df.square(tensor))
    return (tape.gradient(y, {"v": v}), tape.gradient(Held(y), tensor),
            tape.gradient(tensor, tensor))


def test_grad_and_value_and_grad_of_holders(v):
    assert df.grad(lambda x: df.reduce_sum(x * x))(v).tolist() == [2., 4., 6.]
    both = df.value_and_grad(lambda x: df.reduce_sum(x * v))
    assert [y.tolist() for y in both(v)] == [y.tolist() for y in both(v.value)]


@pytest.mark.parametrize("make", [lambda: df.optimizers.SGD(0.5), lambda: df.optimizers.Adam(0.5)])
def test_optimizers_update_the_held_variable(v, make):
    plain, loss = df.Variable([1., 2., 3.]), lambda x: df.reduce_sum(df.square(x))
    for opt, x in ((make(), plain), (make(), v)):
        opt.build([x])
        opt.minimize(lambda x=x: loss(x), [x])

        @df.function
        def step(x=x, opt=opt):
            with df.GradientTape() as tape:
                y = loss(x)
            opt.apply_gradients([(tape.gradient(y, x), x)])

        step()
        step()
    assert v.value.numpy().tobytes() == plain.numpy().tobytes()


def test_assignment_from_holders(v):
    w = df.Variable([0., 0., 0.])
    ones = Held(df.constant([1., 1., 1.]))
    for _, run in modes(lambda: w.assign(v).assign_add(v).assign_sub(ones)):
        run()
        assert w.numpy().tolist() == [1., 3., 5.]
    assert df.Variable(v).numpy().tolist() == [1., 2., 3.]
    assert df.Variable(v, dtype=df.float64).dtype == df.float64


def test_holders_as_function_arguments(v):
    @df.function
    def f(a, b):
        return df.reduce_sum(df.square(a) * b)

    b = Held(df.constant([1., 1., 2.]))
    for k in (1., 2.):
        v.value.assign([k, k, k])
        with df.GradientTape() as tape:
            tape.watch(b)
            y = f(v, b)
        gv, gb = tape.gradient(y, [v, b])
        assert y.item() == 4 * k * k
        assert gv.tolist() == [2 * k, 2 * k, 4 * k] and gb.tolist() == [k * k] * 3
    assert f.experimental_get_tracing_count() == 1
    f(v, Held(df.constant([5., 5., 5.])))
    # A held tensor is a tensor argument.
    assert f.experimental_get_tracing_count() == 1


def test_trace_reads_the_current_value_of_a_captured_holder(v):
    f = df.function(lambda: df.identity(v))
    f()
    v.value.assign([7., 8., 9.])
    assert f().tolist() == [7., 8., 9.]


def test_df_tensor_must_return_a_tensor():
    class Wrong:
        def __df_tensor__(self):
            return 3

    with pytest.raises(df.errors.DTypeError, match="__df_tensor__ returned a int"):
        df.exp(Wrong())


def test_dtype_is_the_dtype_of_the_held_value(v):
    assert df.constant(v, df.float64).tolist() == [1., 2., 3.]
    assert df.convert_to_tensor(v, df.float32).dtype is df.float32
    with pytest.raises(df.errors.DTypeError, match="use cast"):
        df.convert_to_tensor(v, df.float64)


def test_constant_copies_arrays():
    a = np.ones(3, np.float32)
    x = df.constant(a)
    a[0] = 5
    assert x.tolist() == [1., 1., 1.]


def test_round_of_integers_with_digits_keeps_them():
    for x in (df.constant([2, 25]), df.Variable([2, 25])):
        assert round(x, 1).dtype == df.int32 and round(x, 1).tolist() == [2, 25]


class Pair(Operand):
    """An operand that applies ops itself: it records the calls."""

    def __init__(self):
        self.calls = []

    def _apply_op(self, op, inputs, attrs, name):
        self.calls.append((op, inputs, attrs, name))
        return f"{op} of a pair"

    @property
    def ndim(self):
        return 2


def test_operands_apply_ops():
    x, p, q, v = df.constant([1., 2.]), Pair(), Pair(), df.Variable(1.)
    for f in (lambda: x + p, lambda: df.add(x, p), lambda: df.add([1, 2], p),
              lambda: df.add(np.ones(2), p), lambda: df.add(v, p)):
        assert f() == "add of a pair"
        assert df.function(lambda f=f: [f(), x][1])().tolist() == [1., 2.]
    assert all(call[0] == "add" and call[1][1] is p for call in p.calls)
    p.calls.clear()
    assert df.concat([x, p, q], 0) == "concat of a pair" and not q.calls
    assert p.calls == [("concat", (x, p, q), {"axis": 0}, None)]
    p.calls.clear()
    assert df.reduce_sum(p) == "reduce_sum of a pair" and df.reverse(p, 0) == "reverse of a pair"
    assert p.calls[0][2] == {"axes": (0, 1), "keepdims": False}
    assert df.function(lambda x: [x + p, x * 2.][1])(x).tolist() == [2., 4.]
    assert df.is_tensor(p)


def test_operands_without_a_method_are_refused():
    class Bare(Operand):
        pass

    with pytest.raises(df.errors.DTypeError, match="add: got an object of type Bare"):
        df.constant(1.) + Bare()
    with pytest.raises(AttributeError, match="ndim"):
        len(range(Bare().ndim))
    with pytest.raises((TypeError, df.errors.DTypeError)):
        df.Variable(1.).assign_add(Bare())
