"""Data-dependent sizes used as numbers: one trace serves many sizes and returns the bits of eager
mode, gradients included."""

import operator
import threading

import numpy as np
import pytest

import dualflow as df
from dualflow._core import apply, evaluate, get_op, make_attrs


def floats(*shape, seed=0):
    return df.constant(np.random.default_rng(seed).normal(size=shape).astype(np.float32))


def masks(*shape):
    """Return masks with no, all, one and several elements true."""
    n = int(np.prod(shape))
    rng = np.random.default_rng(1)
    rows = [np.zeros(n, bool), np.ones(n, bool), np.arange(n) == n // 2,
            *(rng.random(n) < p for p in (0.3, 0.6))]
    return [df.constant(m.reshape(shape)) for m in rows]


def first_rows(n, kept):
    return df.constant(np.arange(n) < kept)


def bits(results):
    return [(y.dtype, y.shape, y.numpy().tobytes()) for y in results]


def with_gradient(f):
    """Return `f`'s results, and the gradient of the first with respect to the first argument."""
    def both(x, *rest):
        with df.GradientTape() as tape:
            tape.watch(x)
            out = f(x, *rest)
        out = out if isinstance(out, tuple) else (out,)
        return (*out, tape.gradient(out[0], x))
    return both


def masked_mean(x, mask):
    y = df.boolean_mask(x, mask)
    return df.reduce_mean(y * y)


def masked_statistics(x, mask):
    y = df.boolean_mask(x, mask)
    return df.reduce_sum(df.math.reduce_std(y, axis=-1) * df.math.reduce_variance(y, axis=-1)), y


def two_sizes(x, mask):
    y, z = df.boolean_mask(x, mask), df.boolean_mask(x, ~mask)
    return df.reduce_mean(y) * df.reduce_sum(z * z), df.concat([y, z], 0)


def nested_masks(x, mask):
    y = df.boolean_mask(x, mask)
    z = df.boolean_mask(y, df.reduce_sum(y, -1) > 0)
    return df.reduce_sum(df.exp(z) * z), z


def where_and_gather(x, mask):
    rows = df.where(mask)[:, 0]
    y = df.gather(x, rows)
    return df.reduce_sum(df.tanh(y) / df.cast(df.shape(y)[0] + 1, df.float32))


def reshaped(x, mask):
    y = df.boolean_mask(x, mask)
    n = y.shape[0]
    flat = df.reshape(y, [n * y.shape[1]])
    return df.reduce_sum(df.reshape(flat, [-1]) * 2.0) * n + n // 2 - (n % 2) / 4, flat


def scattered(x, mask):
    at = df.where(mask)
    y = df.gather_nd(x, at)
    filled = df.zeros(y.shape) + df.ones_like(y)
    return df.reduce_sum(df.scatter_nd(at, y * filled, x.shape) * x)


def linear(x, mask):
    y = df.boolean_mask(x, mask)
    w = df.constant(np.linspace(-1, 1, 12).reshape(4, 3).astype(np.float32))
    h = df.nn.softmax(df.nn.relu(y @ w + df.constant([.1, .2, .3])))
    return df.reduce_sum(df.reduce_mean(h, 0) ** 2), df.transpose(h)


def broadcast(x, mask):
    """Broadcast data-dependent sizes with 1; they may be 1 themselves."""
    y = df.boolean_mask(df.transpose(x), df.constant([True, False, True, True]))
    z = y[:, :1] + df.boolean_mask(x, mask)[:, 0]
    return df.reduce_sum(z * (df.reduce_mean(x, 0, keepdims=True)[:, :1] + 1.0)), z


def halves(x, mask):
    y = df.boolean_mask(x, mask)
    n = y.shape[0] // 2
    return df.reduce_sum(y[:n] ** 2) + df.reduce_sum(df.tile(y[n:], [2, 1])), y[n:]


ON_MASKS = [halves, broadcast, masked_mean, masked_statistics, two_sizes, nested_masks,
            where_and_gather, reshaped, scattered, linear]


@pytest.mark.parametrize("passes", [True, False])
@pytest.mark.parametrize("f", ON_MASKS)
def test_masks(f, passes):
    both = with_gradient(f)
    traced = df.function(both, passes=passes)
    x = floats(7, 4)
    for mask in masks(7):
        assert bits(traced(x, mask)) == bits(both(x, mask))
    assert traced.experimental_get_tracing_count() == 1


@pytest.mark.parametrize("f", ON_MASKS)
def test_masks_and_unknown_dimensions(f):
    both = with_gradient(f)
    traced = df.function(both, input_signature=[df.TensorSpec([None, 4]),
                                                df.TensorSpec([None], df.bool_)])
    for n in (5, 9, 3):
        x = floats(n, 4, seed=n)
        for mask in masks(n):
            assert bits(traced(x, mask)) == bits(both(x, mask))
    assert traced.experimental_get_tracing_count() == 1


def sums_by_id(x, ids):
    values, index = df.unique(ids)
    sums = df.math.unsorted_segment_sum(x, index, values.shape[0])
    return df.reduce_sum(sums * sums) / values.shape[0], values


@pytest.mark.parametrize("ids", [[3, 3, 1, 7, 1], [0, 0, 0, 0, 0], [5, 4, 3, 2, 1]])
def test_unique_and_segment_sum(ids):
    both = with_gradient(sums_by_id)
    x, ids = floats(5, 2), df.constant(ids)
    assert bits(df.function(both)(x, ids)) == bits(both(x, ids))


def test_second_order():
    def f(x, mask):
        with df.GradientTape() as tape:
            tape.watch(x)
            g = with_gradient(masked_mean)(x, mask)[-1]
            target = df.reduce_sum(g * g * g)
        return tape.gradient(target, x),

    traced = df.function(f)
    for mask in masks(6):
        assert bits(traced(floats(6, 2), mask)) == bits(f(floats(6, 2), mask))


def test_variables_written_from_dynamic_values():
    v = df.Variable(df.zeros([4]))
    opt = df.Variable(0.0)

    def step(x, mask):
        with df.GradientTape() as tape:
            y = df.boolean_mask(x, mask) - v
            loss = df.reduce_mean(y * y)
        v.assign_sub(0.1 * tape.gradient(loss, v))
        opt.assign(df.reduce_sum(y))
        return loss, v + 0.0, opt + 0.0

    x, found = floats(6, 4), []
    for run in (step, df.function(step)):
        v.assign(df.zeros([4]))
        found.append([bits(run(x, mask)) for mask in masks(6)[1:]])
    assert found[0] == found[1]


def test_results_are_unchanged_by_later_runs():
    traced = df.function(lambda x, mask: df.boolean_mask(x, mask))
    x = floats(7, 4)
    made = [(traced(x, m), df.boolean_mask(x, m)) for m in masks(7)]
    for got, want in made:
        assert bits([got]) == bits([want])


def test_number_arguments():
    def f(x, mask, scale):
        y = df.boolean_mask(x, mask)
        return df.reduce_sum(y) * (y.shape[0] * scale),

    traced = df.function(f)
    x = floats(7, 4)
    for scale in (0.5, 1.5, 2.5, 3.25):
        for mask in masks(7):
            assert bits(traced(x, mask, scale)) == bits(f(x, mask, scale))


def test_unpacking_a_data_dependent_number_of_rows_raises():
    @df.function
    def f(x, mask):
        rows = df.boolean_mask(x, mask)
        return list(map(df.exp, [rows[k] for k in range(rows.shape[0])]))

    with pytest.raises(df.errors.TracedValueError, match="depends on data"):
        f(floats(7, 4), masks(7)[1])


def test_failed_guard_names_the_line():
    @df.function
    def f(x, mask):
        y = df.boolean_mask(x, mask)
        if tuple(y.shape) != (2, 4):                        # decided while tracing
            return y
        return y * 2.0

    x = floats(7, 4)
    assert f(x, first_rows(7, 3)).shape == (3, 4)
    with pytest.raises(df.errors.ShapeError, match=r"depends on data.*test_dynamic.py"):
        f(x, first_rows(7, 2))


@pytest.mark.parametrize("compare", ["eq", "ne", "lt", "le", "gt", "ge"])
def test_guards_of_each_comparison(compare):
    def f(x, mask):
        y = df.boolean_mask(x, mask)
        return y if getattr(operator, compare)(y.shape[0], 3) else y * 2.0

    traced = df.function(f)
    x = floats(7, 4)
    for kept in (2, 3, 4):
        mask = first_rows(7, kept)
        assert bits([traced(x, mask)]) == bits([f(x, mask)])


def test_errors_name_op_and_line():
    @df.function
    def f(x, mask):
        y = df.boolean_mask(x, mask)
        return df.reshape(y, [y.shape[0], 3])

    with pytest.raises(df.errors.DualflowError, match=r"reshape"):
        f(floats(7, 4), masks(7)[1])

    @df.function
    def g(x, mask):
        y = df.boolean_mask(x, mask)
        return y + df.boolean_mask(x, ~mask)

    x = floats(6, 4)
    assert g(x, df.constant([True, False] * 3)).shape == (3, 4)
    with pytest.raises(df.errors.ShapeError, match=r"add.*test_dynamic.py"):
        g(x, df.constant([True] * 2 + [False] * 4))


def test_eight_threads():
    both = with_gradient(masked_mean)
    traced = df.function(both)
    x, wrong = floats(7, 4), []
    want = [bits(both(x, m)) for m in masks(7)]

    def work():
        for _ in range(100):
            for m, expected in zip(masks(7), want, strict=True):
                if bits(traced(x, m)) != expected:
                    wrong.append(m)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def test_dynamic_attrs_applies_its_op():
    op = get_op("dynamic_attrs")
    reshape = get_op("reshape").index
    attrs = make_attrs(op, index=reshape, outputs=(df.float32.index, 2, -1, 2),
                       encoded=(2, 1, 1, 0, -1))
    (y,) = evaluate(op, [df.constant([1., 2., 3., 4.]), df.constant([7, 2], df.int64)], attrs)
    assert y.tolist() == [[1, 2], [3, 4]]


@pytest.mark.parametrize("index, outputs, code", [
    (-1, (8, 1, -1), (1, 0, 4)), (10**6, (8, 1, -1), (1, 0, 4)),        # no such op
    (None, (8, 1, -1), (1, 0)), (None, (8, 1, -1), (5, 0, 4)),
    (None, (8, 1, -1), (1, 0, 4, 4)), (None, (8, 1, -1), (1, 1, 2)),
    (None, (8, 1, -1), (1, 2, 0)), (None, (99, 1, -1), (1, 0, 4)),
    (None, (8, 3, -1, -1, -1), (1, 0, 4)), (None, (7, 1, -1), (1, 0, 4)),
    (None, (8, 1, -1), (1, 0, 5)), (None, (8, 1, 3), (1, 0, 4)),        # wrong size
    (None, (8, 1), (1, 0, 4)), (None, (8, 1, -2), (1, 0, 4)), (None, (8, 1, -1, 8), (1, 0, 4)),
])
def test_dynamic_attrs_rejects_invalid_attributes(index, outputs, code):
    op = get_op("dynamic_attrs")
    attrs = make_attrs(op, index=get_op("reshape").index if index is None else index,
                       outputs=outputs, encoded=code)
    with pytest.raises(df.errors.DualflowError):
        evaluate(op, [df.constant([1., 2., 3., 4.]), df.constant([7, 2], df.int64)], attrs)


def test_assert_sizes():
    one, two = df.constant(1.0, df.float64), df.constant(2.0, df.float64)
    apply("assert_sizes", one, two, by=1, answer=True)
    with pytest.raises(df.errors.ShapeError, match="1 < 2 is true, but was false"):
        apply("assert_sizes", one, two, by=1, answer=False)


# --- combined with known sizes ---

DESCENT = df.optimizers.SGD(0.5)


@pytest.mark.parametrize("passes", [True, False])
@pytest.mark.parametrize("update", [
    lambda v, y: v.assign(y), lambda v, y: v.assign_add(y), lambda v, y: v.assign_sub(y * 2.0),
    lambda v, y: DESCENT.apply_gradients([(y, v)]),
])
def test_updates_of_known_shape_by_data_dependent_values(update, passes):
    def f(v, x, mask):
        update(v, df.boolean_mask(x, mask))
        return v * 2.0, v + df.boolean_mask(x, mask)

    x, found = floats(5, 2), []
    for run in (f, df.function(f, passes=passes)):
        v = df.Variable(floats(3, 2, seed=1))
        found.append([bits([*run(v, x, first_rows(5, 3)), v]) for _ in range(2)])
        for kept in (0, 1, 4):                          # no broadcasting
            with pytest.raises(df.errors.ShapeError):
                run(v, x, first_rows(5, kept))
        found[-1].append(bits([v]))
    assert found[0] == found[1]


@pytest.mark.parametrize("f", [
    lambda y, a: df.matmul(y, df.transpose(a)),
    lambda y, a: df.matmul(a, df.transpose(y)),
    lambda y, a: df.matmul(df.transpose(df.transpose(y)), df.transpose(a)),
    lambda y, a: df.nn.relu(df.matmul(y, df.transpose(a)) + 1.0),
    lambda y, a: df.matmul(y, a, transpose_b=True) * 2.0,
    lambda y, a: df.reduce_sum(df.matmul(y, df.transpose(a)), 1) / 3.0,
    lambda y, a: df.linalg.matvec(y, a[0]) + df.tensordot(y, a[1], 1),
])
@pytest.mark.parametrize("passes", [True, False])
def test_products_of_few_rows(f, passes):
    """A product with one row adds in another order than a product with two."""
    both = with_gradient(lambda x, mask: f(df.boolean_mask(x, mask), floats(37, 53, seed=1)))
    traced = df.function(both, passes=passes)
    x = floats(7, 53)
    for kept in (7, 2, 1, 0):
        mask = first_rows(7, kept)
        assert bits(traced(x, mask)) == bits(both(x, mask)), kept


@pytest.mark.parametrize("f", [
    lambda y, z: df.add_n([z, y]), lambda y, z: df.add_n([y, z[:1]]),
    lambda y, z: df.where(y > 0, z, z),
    lambda y, z: df.where(True, z, y),
    lambda y, z: df.reshape(df.squeeze(df.expand_dims(y, 0), 1), [1, 3]),
])
def test_passes_preserve_size_checks(f):
    """A rewrite that drops the only read of a value would lose the check of its size."""
    def g(x, mask):
        return f(df.boolean_mask(x, mask), floats(3, seed=1))

    traced = df.function(g)
    for kept in (3, 2, 1):
        try:
            want = bits([g(floats(3), first_rows(3, kept))])
        except df.errors.ShapeError:
            with pytest.raises(df.errors.DualflowError):
                traced(floats(3), first_rows(3, kept))
        else:
            assert bits([traced(floats(3), first_rows(3, kept))]) == want


def test_backward_program_takes_results_of_any_size():
    """The backward program of a call reads forward results of data-dependent size."""
    traced = df.function(lambda x, mask: df.boolean_mask(x, mask) ** 3)
    for kept in (3, 0, 1, 3):
        found = []
        for f in (traced, lambda x, mask: df.boolean_mask(x, mask) ** 3):
            x = floats(3, 2)
            with df.GradientTape() as outer:
                outer.watch(x)
                with df.GradientTape() as inner:
                    inner.watch(x)
                    y = f(x, first_rows(3, kept))
                g = inner.gradient(y, x)
            found.append(bits([y, g, outer.gradient(g, x)]))
        assert found[0] == found[1]
    assert traced.experimental_get_tracing_count() == 1


def test_inspection_with_data_dependent_sizes(tmp_path):
    traced = df.function(with_gradient(halves))
    call = floats(7, 4), masks(7)[3]
    assert "encoded=" in str(traced.graph_for(*call)) and "?" in traced.passes_for(*call)
    assert "dynamic" in traced.plan_for(*call)
    assert traced.draw(*call).startswith("<svg")
    assert any("unbroadcast" in str(row) for row in traced.profile(*call, runs=1).rows)


@pytest.mark.parametrize("g, like", [((3,), (3,)), ((3,), (1,)), ((2, 3), (3,)), ((2, 3), (2, 1)),
                                     ((4, 2, 3), (1, 3)), ((0, 3), (1, 3)), ((1, 3), (3,)),
                                     ((2, 3), ())])
def test_unbroadcast(g, like):
    x = floats(*g)
    want = x.numpy().sum(axis=tuple(range(len(g) - len(like))))
    ones = tuple(d for d, n in enumerate(like) if n == 1)
    want = want.sum(axis=ones, keepdims=True) if ones else want
    got = apply("unbroadcast", x, df.ones(like)).numpy()
    np.testing.assert_allclose(got, want, rtol=1e-6)
    assert got.shape == like


def test_unbroadcast_preserves_negative_zero_and_checks_shapes():
    zeros = apply("unbroadcast", df.constant([-0.0, 1.0]), df.ones([2]))
    assert np.signbit(zeros.numpy()[0])
    for g, like in (((3,), (2,)), ((3,), (1, 3)), ((2, 3), (3, 3))):
        with pytest.raises(df.errors.ShapeError, match="unbroadcast"):
            apply("unbroadcast", df.ones(g), df.ones(like))
    for g in ([True], [[True], [False]]):
        with pytest.raises(df.errors.DTypeError, match="expected a number dtype"):
            apply("unbroadcast", df.constant(g), df.constant([False]))


def test_stacked_rows_of_no_elements():
    def f(x, limit):
        row = df.boolean_mask(x, x < limit)
        return df.scan(lambda c, a: (c + a, row * a), 0., df.boolean_mask(x, x > 1.))[1]

    x = df.range(4.)
    for passes in (True, False):
        traced = df.function(f, passes=passes)
        assert traced(x, df.constant(2.)).tolist() == [[0., 2.], [0., 3.]]
        assert traced(x, df.constant(0.)).shape == (2, 0)
