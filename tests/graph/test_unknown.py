"""Composed functions, which are not ops themselves, with unknown dimensions: one trace for all
sizes, and the bits of eager mode, gradients included."""

from typing import Any, NamedTuple

import numpy as np
import pytest

import dualflow as df

N = None                            # a dimension of size 5, 3, 9 and then 1


class Row(NamedTuple):
    """A function and the shapes of its operands. If `high` is given, operands of rank 1 and of
    shape (N, 2) are integers below it."""

    name: str
    call: Any
    shapes: Any
    high: int = 0


def row(name, f, *shapes, high=0):
    return Row(name, f, shapes, high)


ROWS = [
    row("einsum matmul", lambda a, b: df.einsum("ij,jk->ik", a, b), [N, 4], [4, N]),
    row("einsum batch", lambda a, b: df.einsum("bij,bkj->bik", a, b), [N, 3, 4], [N, 2, 4]),
    row("einsum attention", lambda a, b: df.einsum("bthd,bshd->bhts", a, b), [N, 3, 2, 4],
        [N, 3, 2, 4]),
    row("einsum trace", lambda a: df.einsum("ii->", a), [N, N]),
    row("einsum sum", lambda a: df.einsum("ij->j", a), [N, 4]),
    row("tensordot 1", lambda a, b: df.tensordot(a, b, 1), [N, 4], [4, N]),
    row("tensordot axes", lambda a, b: df.tensordot(a, b, [[0], [0]]), [N, 4], [N, 3]),
    row("meshgrid", lambda a, b: df.meshgrid(a, b), [N], [4]),
    row("meshgrid ij", lambda a, b: df.meshgrid(a, b, indexing="ij"), [N], [N]),
    row("tile", lambda a: df.tile(a, [2, 3]), [N, 4]),
    row("tile one", lambda a: df.tile(a, [1, 3]), [N, 1]),
    row("repeat", lambda a: df.repeat(a, 3, axis=0), [N, 2]),
    row("repeat flat", lambda a: df.repeat(a, 2), [N, 2]),
    row("one_hot", lambda i: df.one_hot(i, 7), [N], high=7),
    row("one_hot axis", lambda i: df.one_hot(i, 7, axis=0), [N, 2], high=7),
    row("flatten", lambda a: df.reshape(a, [a.shape[0], -1]), [N, 3, 2]),
    row("flatten by number", lambda a: df.reshape(a, [a.shape[0] * 3, 2]), [N, 3, 2]),
    row("by df.shape", lambda a: df.reshape(a, [df.shape(a)[0], 6]), [N, 3, 2]),
    row("mean by hand", lambda a: df.reduce_sum(a, 0) / a.shape[0], [N, 3]),
    row("normalized", lambda a: (a - df.reduce_mean(a, -1, keepdims=True))
        / df.sqrt(df.math.reduce_variance(a, -1, keepdims=True) + 1e-5), [N, 3]),
    row("zeros", lambda a: df.zeros([a.shape[0], 3]) + df.ones_like(a), [N, 3]),
    row("fill", lambda a: df.fill([a.shape[0], 2], 3.0) * a, [N, 2]),
    row("range", lambda a: a * df.cast(df.range(a.shape[0]), df.float32), [N]),
    row("eye", lambda a: df.eye(a.shape[0]) * a, [N, N]),
    row("linspace", lambda a: a * df.linspace(0.0, 1.0, 4), [N, 4]),
    row("bias_add", lambda a, b: df.nn.bias_add(a, b), [N, 4], [4]),
    row("moments", lambda a: df.nn.moments(a, [0]), [N, 4]),
    row("dropout", lambda a: df.nn.dropout(a, 0.0), [N, 4]),
    row("l2_normalize", lambda a: df.nn.l2_normalize(a, axis=-1), [N, 4]),
    row("norm", lambda a: df.norm(a), [N, 4]),
    row("norm axis", lambda a: df.norm(a, axis=1), [N, 4]),
    row("softmax cross entropy", lambda a, b: df.nn.softmax_cross_entropy_with_logits(
        labels=df.nn.softmax(a), logits=b), [N, 4], [N, 4]),
    row("embedding_lookup", lambda i: df.nn.embedding_lookup(
        df.constant(np.arange(21.).reshape(7, 3)), i), [N], high=7),
    row("clip_by_norm", lambda a: df.clip_by_norm(a, 1.0), [N, 4]),
    row("clip_by_global_norm", lambda a, b: df.clip_by_global_norm([a, b], 1.0)[0], [N, 4], [4]),
    row("global_norm", lambda a, b: df.linalg.global_norm([a, b]), [N, 4], [4]),
    row("trace", lambda a: df.linalg.trace(a), [N, 4]),
    row("diag", lambda a: df.linalg.diag(a), [N, 3]),
    row("diag_part", lambda a: df.linalg.diag_part(a), [N, 3, 4]),
    row("matvec", lambda a, b: df.linalg.matvec(a, b), [N, 4], [4]),
    row("dot", lambda a, b: df.math.reduce_sum(a * b, -1), [N, 4], [N, 4]),
    row("matmul transposed", lambda a, b: df.matmul(a, b, transpose_b=True), [N, 4], [N, 4]),
    row("matmul 3d", lambda a, b: df.matmul(a, b), [N, 2, 4], [4, 3]),
    row("stack", lambda a, b: df.stack([a, b], 1), [N, 4], [N, 4]),
    row("concat", lambda a, b: df.concat([a, b], 0), [N, 4], [N, 4]),
    row("split", lambda a: df.split(a, 2, axis=1), [N, 4]),
    row("unstack", lambda a: df.unstack(a, axis=1), [N, 4]),
    row("pad", lambda a: df.pad(a, [[1, 2], [0, 1]]), [N, 4]),
    row("pad reflect", lambda a: df.pad(a, [[0, 0], [1, 2]], mode="REFLECT"), [N, 4]),
    row("reverse", lambda a: df.reverse(a, [0]), [N, 4]),
    row("roll", lambda a: df.roll(a, 1, 0), [N, 4]),
    row("slice", lambda a: df.slice(a, [0, 1], [-1, 2]), [N, 4]),
    row("index", lambda a: a[:, 1:3], [N, 4]),
    row("first", lambda a: a[0], [N, 4]),
    row("last", lambda a: a[-1], [N, 4]),
    row("from the end", lambda a: a[:, ::-1][:-1], [N, 4]),
    row("new axis", lambda a: a[:, None] - a[None], [N, 4]),
    row("every second", lambda a: a[::2], [N, 4]),
    row("gather", lambda a: df.gather(a, [0, 0]), [N, 4]),
    row("sort", lambda a: df.sort(a, axis=0), [N, 4]),
    row("argsort", lambda a: df.argsort(a, axis=-1), [N, 4]),
    row("top_k", lambda a: df.math.top_k(a, 2), [N, 4]),
    row("cumsum", lambda a: df.cumsum(a, axis=0), [N, 4]),
    row("cumprod", lambda a: df.math.cumprod(a, axis=0), [N, 4]),
    row("argmax", lambda a: df.argmax(a, -1), [N, 4]),
    row("reduce_prod", lambda a: df.reduce_prod(a, 0), [N, 4]),
    row("reduce_max", lambda a: df.reduce_max(a, 0), [N, 4]),
    row("logsumexp", lambda a: df.reduce_logsumexp(a, 0), [N, 4]),
    row("std", lambda a: df.math.reduce_std(a, 0), [N, 4]),
    row("variance", lambda a: df.math.reduce_variance(a), [N, 4]),
    row("segment_sum", lambda a: df.math.unsorted_segment_sum(
        a, df.range(a.shape[0]) % 2, 2), [N, 4]),
    row("scatter_nd", lambda a: df.scatter_nd(df.range(a.shape[0])[:, None], a,
                                              [a.shape[0] + 1, 4]), [N, 4]),
    row("where", lambda a: df.where(a > 0, a, 0.0), [N, 4]),
    row("boolean_mask", lambda a: df.boolean_mask(a, a > 0), [N, 4]),
    row("mask index", lambda a: a[a[:, 0] > 0], [N, 4]),
    row("batch_normalization", lambda a: df.nn.batch_normalization(
        a, *df.nn.moments(a, [0]), offset=0.5, scale=2.0, variance_epsilon=1e-3), [N, 4]),
    row("layer_norm", lambda a, b: df.nn.layer_norm(a, b, b), [N, 4], [4]),
    row("sigmoid cross entropy", lambda a, b: df.nn.sigmoid_cross_entropy_with_logits(
        labels=df.sigmoid(a), logits=b), [N, 4], [N, 4]),
    row("l2_loss", lambda a: df.nn.l2_loss(a), [N, 4]),
    row("zero_fraction", lambda a: df.nn.zero_fraction(df.nn.relu(a)), [N, 4]),
    row("dropout drawn", lambda a: df.nn.dropout(a, 0.5), [N, 4]),
    row("dropout seeded", lambda a: df.nn.dropout(a, 0.5, seed=3), [N, 4]),
    row("dropout noise_shape", lambda a: df.nn.dropout(a, 0.5, noise_shape=[a.shape[0], 1]),
        [N, 4]),
    row("uniform", lambda a: a + df.random.uniform(a.shape), [N, 4]),
    row("normal", lambda a: a + df.random.normal([a.shape[0], 1]), [N, 4]),
    row("truncated_normal", lambda a: a + df.random.truncated_normal(df.shape(a)), [N, 4]),
    row("shuffle", lambda a: df.random.shuffle(a), [N, 4]),
    row("glorot", lambda a: a @ df.initializers.glorot_uniform([4, 3], seed=1), [N, 4]),
    row("bincount", lambda i: df.math.bincount(i, minlength=7), [N], high=7),
    row("confusion_matrix", lambda i, j: df.math.confusion_matrix(i, j, 7), [N], [N], high=7),
    row("tril", lambda a: df.linalg.tril(a), [N, N]),
    row("searchsorted", lambda a: df.searchsorted(df.sort(a), a), [N, 4]),
    row("unique", lambda i: df.unique(i), [N], high=3),
    row("half", lambda a: a[:(a.shape[0] + 1) // 2], [N, 4]),
    row("up to the last", lambda a: a[:a.shape[0] - 1, ..., 1], [N, 4]),
    row("index and tensor", lambda a: a[a.shape[0] - 1, :, [0, 1]], [N, 3, 4]),
    row("all but", lambda a: a[a.shape[0] - 1], [N, 4]),
    row("pad to", lambda a: df.pad(a, [[0, 10 - a.shape[0]], [0, 0]]), [N, 4]),
    row("tile by size", lambda a, b: df.tile(b, [a.shape[0], 1]), [N, 4], [2, 4]),
    row("split sizes", lambda a: df.split(a, [1, 3], axis=-1), [N, 4]),
    row("rank and size", lambda a: a * df.cast(df.size(a) + df.rank(a), df.float32), [N, 4]),
    row("element of shape", lambda a: a * df.cast(df.shape(a)[0], df.float32), [N, 4]),
    row("sequence mask", lambda a, i: df.where(
        df.range(a.shape[1])[None] < i[:, None], a, 0.0), [N, 4], [N], high=4),
    row("attention", lambda a: df.nn.softmax(
        df.matmul(a, a, transpose_b=True) / df.sqrt(df.cast(df.shape(a)[-1], df.float32))) @ a,
        [N, N, 4]),
    row("squeeze", lambda a: df.squeeze(a, 1), [N, 1, 4]),
    row("expand_dims", lambda a: df.expand_dims(a, 0), [N, 4]),
    row("broadcast_to", lambda a: df.broadcast_to(a, [3, a.shape[0], 4]), [N, 4]),
    row("bias", lambda a, b: a + b, [N, 4], [1, 4]),
    row("bias by column", lambda a, b: a * b, [N, 4], [N, 1]),
]


def tensor(shape, n, seed, high):
    rng = np.random.default_rng(seed)
    sizes = [n if d is None else d for d in shape]
    if high and (len(shape) == 1 or shape == [N, 2]):
        return df.constant(rng.integers(0, high, sizes).astype(np.int32))
    return df.constant(rng.normal(size=sizes).astype(np.float32))


def flat(out):
    if isinstance(out, df.Tensor):
        return [out]
    return [y for x in out for y in flat(x)]


def differentiated(f):
    """Return `f`'s results and the gradients of the floating ones."""
    def both(*args):
        floats = [x for x in args if x.dtype.is_floating]
        with df.GradientTape() as tape:
            for x in floats:
                tape.watch(x)
            out = flat(f(*args))
            loss = [df.sin(y) * y for y in out if y.dtype.is_floating]
        if not floats or not loss:
            return out
        return out + tape.gradient(loss, floats, unconnected_gradients="zero")
    return both


def bits(results):
    return [(y.dtype, y.shape, y.numpy().tobytes()) for y in results]


def run(f, args):
    df.random.set_seed(7)
    return bits(f(*args))


@pytest.mark.parametrize("row", ROWS, ids=lambda r: r.name)
def test_one_trace_for_all_sizes(row):
    both = differentiated(row.call)
    args = {n: [tensor(s, n, k + n, row.high) for k, s in enumerate(row.shapes)]
            for n in (5, 3, 9, 1)}
    traced = df.function(both, input_signature=[df.TensorSpec(s, x.dtype) for s, x in
                                                zip(row.shapes, args[1], strict=True)])
    for n in (5, 3, 9):
        assert run(traced, args[n]) == run(both, args[n]), n
    assert traced.experimental_get_tracing_count() == 1
    # With a dimension of size 1 the gradient may need an unbroadcasting sum: it may be another
    # trace.
    assert run(traced, args[1]) == run(both, args[1])


def test_einsum_plans_of_symbolic_and_fixed_sizes_are_separate():
    """Einsum caches plans by sizes, and a symbolic size compares equal to numbers."""
    def f(a, b):
        return df.einsum("ij,jk->ik", a, b)

    traced = df.function(f, input_signature=[df.TensorSpec([None, 4]), df.TensorSpec([4, None])])
    for n in (6, 7, 6):
        a, b = tensor([n, 4], 0, 1, 0), tensor([4, n], 0, 2, 0)
        assert bits([traced(a, b)]) == bits([f(a, b)])
    assert traced.experimental_get_tracing_count() == 1


SHAPED = {                          # by the op that returns a given shape
    "zeros": lambda x, n: df.zeros([n, 3]),
    "reshape": lambda x, n: df.reshape(x, [n, 3]),
    "broadcast_to": lambda x, n: df.broadcast_to(x[:1, :1], [n, 3]),
    "random": lambda x, n: df.random.normal([n, 3]),
    "conv2d_transpose": lambda x, n: df.nn.conv2d_transpose(
        df.reshape(x, [n, 1, 1, 3]), df.ones([2, 2, 3, 3]), [n, 2, 2, 3], 2)[:, 0, 0],
    "scatter_nd": lambda x, n: df.scatter_nd([[0]], x[:1], [n, 3]),
}


@pytest.mark.parametrize("name", SHAPED)
def test_fixed_sizes_in_a_shape_stay_known(name):
    """Plain numbers in a given shape stay static next to symbolic sizes."""
    seen = []

    @df.function(input_signature=[df.TensorSpec([None, 3])])
    def f(x):
        y = SHAPED[name](x, df.shape(x)[0])
        seen.append(y.known_shape)
        return y

    for n in (2, 5):
        assert tuple(f(df.ones([n, 3])).shape) == (n, 3)
    assert set(seen) == {(None, 3)}


def test_size_leaked_from_a_trace_is_unusable():
    kept = []

    @df.function(input_signature=[df.TensorSpec([None, 2])])
    def f(x):
        kept.append(x.shape[0])
        return x

    with pytest.warns(df.errors.RetracingWarning, match="changed kept"):
        f(df.ones([3, 2]))
    for use in (lambda n: df.zeros([n]), lambda n: df.reshape([1., 2., 3.], [n]),
                lambda n: df.one_hot([1], n)):
        with pytest.raises(df.errors.TracedValueError, match="was kept while"):
            use(kept[0])


SIZES_AS_ARGUMENTS = {
    "bincount": lambda x, n: df.math.bincount([0, 1], minlength=n),
    "confusion_matrix": lambda x, n: df.math.confusion_matrix([0, 1], [1, 0], n),
    "slice": lambda x, n: x[:n - 1],
    "slice and new": lambda x, n: x[n // 2:, None],
    "diag": lambda x, n: df.linalg.diag(x, num_rows=n + 1, num_cols=n),
    "segment_sum": lambda x, n: df.math.unsorted_segment_sum(x, df.range(n), n + 1),
    "segment_max": lambda x, n: df.math.unsorted_segment_max(x, df.range(n), n),
}


@pytest.mark.parametrize("name", SIZES_AS_ARGUMENTS)
def test_traced_sizes_as_arguments(name):
    f = SIZES_AS_ARGUMENTS[name]
    for options in ({}, {"input_signature": [df.TensorSpec([None])]}):
        traced = df.function(lambda x: f(x, df.shape(x)[0]), **options)
        for n in (2, 4, 3):
            want = f(df.ones([n]), n)
            assert traced(df.ones([n])).tolist() == want.tolist()
            assert f(df.ones([n]), df.constant(n)).tolist() == want.tolist()
