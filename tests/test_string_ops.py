"""Text as the elements of tensors: ops that move them, traced functions, loops and branches."""

import io

import numpy as np
import pytest

import dualflow as df
from dualflow.ops import string_handles

WORDS = np.array([["a", "é", ""], ["bb", "a", "\0x"]], object)


def text():
    return df.constant(WORDS)


def as_bytes(array):
    return np.vectorize(lambda x: x.encode() if isinstance(x, str) else x, [object])(array)


# Each row is a function of df and of NumPy that moves elements.
MOVES = [
    (lambda s: df.gather(s, [1, 0, 1]), lambda a: a[[1, 0, 1]]),
    (lambda s: df.gather(s, [2, 2], axis=1), lambda a: a[:, [2, 2]]),
    (lambda s: df.gather_nd(s, [[1, 0], [0, 1]]), lambda a: a[[1, 0], [0, 1]]),
    (lambda s: df.concat([s, s], 1), lambda a: np.concatenate([a, a], 1)),
    (lambda s: df.concat([s, [["x", "y", "z"]]], 0),
     lambda a: np.concatenate([a, [["x", "y", "z"]]], 0)),
    (lambda s: df.stack([s, s], 2), lambda a: np.stack([a, a], 2)),
    (lambda s: df.stack(df.unstack(s, axis=1)), lambda a: a.T),
    (lambda s: df.split(s, [1, 2], 1)[1], lambda a: a[:, 1:]),
    (lambda s: df.reshape(s, [-1]), lambda a: a.reshape(-1)),
    (lambda s: df.expand_dims(s, 1), lambda a: a[:, None]),
    (lambda s: df.squeeze(s[:1]), lambda a: a[0]),
    (lambda s: df.transpose(s), lambda a: a.T),
    (lambda s: df.tile(s, [2, 1]), lambda a: np.tile(a, [2, 1])),
    (lambda s: df.repeat(s, 2, axis=0), lambda a: np.repeat(a, 2, 0)),
    (lambda s: df.reverse(s, [1]), lambda a: a[:, ::-1]),
    (lambda s: df.roll(s, 1, 1), lambda a: np.roll(a, 1, 1)),
    (lambda s: df.slice(s, [0, 1], [2, 2]), lambda a: a[:, 1:]),
    (lambda s: df.broadcast_to(s[0], [4, 3]), lambda a: np.broadcast_to(a[0], [4, 3])),
    (lambda s: df.pad(s, [[0, 1], [1, 0]]),
     lambda a: np.pad(a, [[0, 1], [1, 0]], constant_values="")),
    (lambda s: df.pad(s, [[0, 0], [1, 0]], constant_values="p"),
     lambda a: np.pad(a, [[0, 0], [1, 0]], constant_values="p")),
    (lambda s: df.where(s == "a", s, "other"), lambda a: np.where(a == "a", a, "other")),
    (lambda s: df.where([[True], [False]], "x", s), lambda a: np.where([[True], [False]], "x", a)),
    (lambda s: df.boolean_mask(s, [True, False]), lambda a: a[:1]),
    (lambda s: df.identity(s), lambda a: a),
    (lambda s: df.tensor_scatter_nd_update(s, [[0]], [["p", "q", "r"]]),
     lambda a: np.concatenate([[["p", "q", "r"]], a[1:]])),
    (lambda s: s[1, ::-1], lambda a: a[1, ::-1]),
    (lambda s: s[df.constant(1)], lambda a: a[1]),
    (lambda s: s + "!" + s, lambda a: a + "!" + a),
]


@pytest.mark.parametrize("f, numpy", MOVES)
@pytest.mark.parametrize("traced", [False, True])
def test_moves(f, numpy, traced):
    found = (df.function(f) if traced else f)(text())
    assert isinstance(found, df.strings.StringTensor) and found.dtype == df.string
    want = as_bytes(numpy(WORDS))
    assert found.shape == want.shape and found.tolist() == want.tolist()


@pytest.mark.parametrize("traced", [False, True])
def test_results_that_are_numbers(traced):
    def f(s, t):
        u = df.unique(df.reshape(s, [-1]))
        return df.equal(s, t), s != t, df.shape(s), df.size(s), df.rank(s), u.y, u.idx

    eq, ne, shape, size, rank, y, idx = (df.function(f) if traced else f)(text(), df.constant("a"))
    assert eq.numpy().tolist() == (WORDS == "a").tolist() == (~ne.numpy()).tolist()
    assert shape.tolist() == [2, 3] and size.item() == 6 and rank.item() == 2
    assert y.tolist() == [b"a", "é".encode(), b"", b"bb", b"\0x"] and idx.tolist() == [
        0, 1, 2, 3, 0, 4]


def test_empty_and_scalar():
    f = df.function(lambda s: (s + "!", df.concat([s, s], 0), s == s))
    empty = df.constant(np.empty((0, 2), object))
    for g in (f, f.python_function):
        a, b, c = g(empty)
        assert a.shape == (0, 2) and b.shape == (0, 2) and c.shape == (0, 2)
    assert df.reshape(df.constant("a"), [1, 1]).tolist() == [[b"a"]]
    assert df.function(lambda s: s)(df.constant(b"\xff\0")).numpy() == b"\xff\0"


def test_one_trace_serves_all_texts_of_a_shape():
    f = df.function(lambda s: df.where(s == "b", "yes", s + s))
    for k in range(5):
        assert f(df.constant(["b", str(k)])).tolist() == [b"yes", f"{k}{k}".encode()]
    assert f.experimental_get_tracing_count() == 1
    outer = df.function(lambda s: f(s) + f(df.constant(["x", "b"])))
    assert outer(df.constant(["q", "b"])).tolist() == [b"qqxx", b"yesyes"]
    nested = df.function(lambda d: {"k": (d["k"][0] + "1", d["k"][1])})
    assert nested({"k": (df.constant("a"), 2)})["k"][0].numpy() == b"a1"


def test_branches_and_loops():
    @df.function
    def f(s, n):
        chosen = df.cond(n > 2, lambda: df.constant("many"), lambda: s)
        if n > 2:           # noqa: SIM108  a statement that autograph converts
            word = df.constant("then")
        else:
            word = s
        line = df.constant("")
        for _ in df.range(n):
            line = line + s
        last = df.while_loop(lambda i, t: i < n, lambda i, t: (i + 1, t + "x"), (0, s))[1]
        return chosen, word, line, last

    for s, n in (("a", 1), ("b", 3), ("c", 0)):
        found = [x.numpy().decode() for x in f(df.constant(s), df.constant(n))]
        assert found == ["many" if n > 2 else s, "then" if n > 2 else s, s * n, s + "x" * n]


def test_printing_of_traced_text():
    file = io.StringIO()
    f = df.function(lambda s: df.print("s", s, {"k": s}, output_stream=file))
    for word in ("a", "b"):
        f(df.constant([word]))
    assert file.getvalue() == "".join([f"s [\"{w}\"] {{'k': [\"{w}\"]}}\n" for w in "ab"])


@pytest.mark.parametrize("f", [
    lambda s: df.reduce_sum(s), lambda s: s + 1, lambda s: df.constant(1) + s,
    lambda s: df.gather(s, s), lambda s: df.concat([s, [[1]]], 0), lambda s: df.where(s, 1, 2),
    lambda s: df.cast(s, df.int32), lambda s: df.matmul(s, s), lambda s: df.pad(s, [[1, 1]] * 2,
                                                                             constant_values=1.5),
    lambda s: df.where([True], s, 1), lambda s: df.linalg.inv(s), lambda s: df.sort(s),
    lambda s: df.nn.relu(s), lambda s: df.constant(1.) @ s, lambda s: df.argmax(s),
    lambda s: df.one_hot(s, 3), lambda s: df.nn.softmax(s), lambda s: df.Variable(s)])
def test_ops_of_numbers_refuse_text(f):
    for g in (f, df.function(f)):
        with pytest.raises((TypeError, ValueError, AttributeError)):
            g(text())


def test_values_of_traced_text_are_not_available():
    with pytest.raises(df.errors.TracedValueError):
        df.function(lambda s: s.numpy())(text())


def test_the_table_of_handles_is_bounded(monkeypatch):
    monkeypatch.setattr(string_handles, "TABLE", string_handles.HandleTable())
    monkeypatch.setattr(string_handles, "BUDGET", 10_000)
    table = string_handles.TABLE
    f = df.function(lambda s: s + "!" + df.constant("constant"))
    for k in range(200):
        assert f(df.constant([str(k)])).tolist() == [b"%d!constant" % k]
    assert table.used <= 10_000 and len(table.recent) < 100
    assert table.texts(table.handles([b"x", b""], False)) == [b"x", b""]
    assert df.gather(df.constant(["a"]), [0]).tolist() == [b"a"]
    with pytest.raises(df.errors.ResourceExhaustedError, match="more than"):
        f(df.constant([str(k) for k in range(500)]))


def test_specs_and_conversions_of_text():
    spec = df.TensorSpec([None], df.string)
    assert spec == df.TensorSpec([None], "string") and spec.dtype is df.string
    assert spec != df.TensorSpec([None], df.int64) and "string" in repr(spec)

    @df.function(input_signature=[spec, df.TensorSpec([], df.string)])
    def f(x, y):
        return df.concat([x, df.reshape(y, [1])], 0)

    assert f(df.constant(["a", "b"]), df.constant("c")).tolist() == [b"a", b"b", b"c"]
    assert f(["a"], "c").tolist() == [b"a", b"c"]
    assert f.experimental_get_tracing_count() == 1
    with pytest.raises(df.errors.ShapeError):
        f(df.constant("a"), df.constant("b"))
    with pytest.raises(df.errors.DualflowError):
        f(df.constant([1]), df.constant("b"))
    made = df.function(lambda x: x + "!").get_concrete_function(spec)(df.constant(["a"]))
    assert made.tolist() == [b"a!"]
    assert df.convert_to_tensor("a").numpy() == b"a"
    assert df.convert_to_tensor(["a", "b"], df.string).shape == (2,)
    with pytest.raises(df.errors.DTypeError):
        df.convert_to_tensor("a", df.int32)
    x = df.constant(["a", "b"])
    assert df.concat([x, ["c"]], 0).tolist() == [b"a", b"b", b"c"]
    assert df.concat([np.array(["c"]), x], 0).tolist() == [b"c", b"a", b"b"]
    assert df.equal(x, ["a", "c"]).tolist() == [True, False]
    assert df.where([True, False], x, "z").tolist() == [b"a", b"z"]

    ragged = df.RaggedTensorSpec([None, None], df.string)

    @df.function(input_signature=[ragged])
    def upper(x):
        return df.strings.upper(x)

    rows = df.strings.split(["a b", "c"])
    assert upper(rows).to_list() == [[b"A", b"B"], [b"C"]]
    assert df.data.Dataset.from_tensors(rows).element_spec == df.RaggedTensorSpec(
        [2, None], df.string)
    parts = df.data.Dataset.from_tensor_slices(rows)
    assert [x.tolist() for x in parts] == [[b"a", b"b"], [b"c"]]
    assert [x.to_list() for x in parts.prefetch(1).batch(2)] == [[[b"a", b"b"], [b"c"]]]
    words = df.data.Dataset.from_generator(lambda: iter(["a", b"b"]),
                                           output_signature=df.TensorSpec([], df.string))
    assert [x.numpy() for x in words] == [b"a", b"b"]
    assert words.batch(2).element_spec == spec
    assert words.map(lambda s: s + "!").element_spec == df.TensorSpec([], df.string)
