"""Ragged tensors of text: every op gives in traced functions what it gives outside."""

import pytest

import dualflow as df
from tests.ops.ragged.random_rows import MODES, mapped, rows

R = df.RaggedTensor
WORDS = ["", "a", "b", "cd", "Zoë"]


def texts(nested, levels):
    return mapped(lambda row: [WORDS[int(x) % len(WORDS)] for x in row], nested, levels)


def plain(x):
    """Return a result as nested lists."""
    if isinstance(x, df.SparseTensor):
        x = df.sparse.to_dense(x)
    return [plain(y) for y in x] if isinstance(x, list | tuple) else x.tolist()


WITH_SELF = {
    "concat rows": lambda r: df.concat([r, r], 0),
    "concat columns": lambda r: df.concat([r, r], 1),
    "stack": lambda r: df.stack([r, r]), "stack inner": lambda r: df.stack([r, r], 1),
    "tile": lambda r: df.tile(r, [2] * r.ndim),
    "rows": lambda r: r[1:], "every other row": lambda r: r[::2], "row": lambda r: r[0],
    "columns": lambda r: r[:, :1], "last columns": lambda r: r[:, -1:],
    "reversed columns": lambda r: r[:, ::-1], "dots": lambda r: r[..., :1],
    "new axes": lambda r: (r[None], r[:, None]),
    "traced bounds": lambda r: r[:, df.constant(0):df.constant(1)],
    "gather": lambda r: df.gather(r, [1, 0, 1]), "reverse": lambda r: df.reverse(r, [0, 1]),
    "boolean mask": lambda r: df.ragged.boolean_mask(r, r == "a"),
    "to tensor": lambda r: (r.to_tensor(), r.to_tensor("."), r.to_tensor("-", shape=[3, 4])),
    "from tensor": lambda r: R.from_tensor(r.to_tensor()),
    "padding": lambda r: R.from_tensor(r.to_tensor(), padding=""),
    "lengths": lambda r: R.from_tensor(r.to_tensor(), lengths=df.minimum(r.row_lengths(), 1)),
    "merged": lambda r: df.expand_dims(r, 0).merge_dims(0, 1),
    "choice": lambda r: (df.where(r == "a", r, "z"), df.where(r == "a", "z", r)),
    "identity": lambda r: (df.identity(r), df.stop_gradient(r)),
    "joined": lambda r: (r + "x", "x" + r, r != r),
}


ONE_LEVEL = "to tensor", "padding", "lengths", "from tensor"     # for one ragged dimension


@pytest.mark.parametrize("name, levels, seed", [
    (name, levels, seed) for name in WITH_SELF for levels, seed in ((1, 3), (1, 8), (2, 5))
    if levels == 1 or name not in ONE_LEVEL])
def test_traced_as_eager(name, levels, seed):
    f = WITH_SELF[name]
    given = df.ragged.constant(texts(rows(seed, levels, 4), levels), "string", ragged_rank=levels)
    want = plain(f(given))
    assert plain(df.function(f)(given)) == want
    assert plain(df.function(lambda: f(given))()) == want       # constants of the trace
    traced = df.function(f, input_signature=[df.RaggedTensorSpec([None] * (levels + 1), "string")])
    assert plain(traced(given)) == want


@pytest.mark.parametrize("mode", MODES)
def test_values_of_text(mode):
    nested = [["a", "b"], [], ["c"]]
    r, more = df.ragged.constant(nested), df.constant([["p"], ["q"], ["r"]])

    def f(r, more):
        return (df.concat([r, more], 1), df.concat([more, r], 0), df.where(r == "a", r, more),
                r + more, r[:, :1], r.to_tensor("-", shape=[None, 1]))

    found = [plain(x) for x in mode(f)(r, more)]
    assert found == [[[b"a", b"b", b"p"], [b"q"], [b"c", b"r"]],
                     [[b"p"], [b"q"], [b"r"], [b"a", b"b"], [], [b"c"]],
                     [[b"a", b"p"], [], [b"r"]], [[b"ap", b"bp"], [], [b"cr"]],
                     [[b"a"], [], [b"c"]], [[b"a"], [b"-"], [b"c"]]]
    r = R.from_row_splits([["a", "b"], ["c", "d"]], [0, 1, 2])          # inner dimensions
    found = mode(lambda r: (
        r[:, ::-1], r.to_tensor(["x", "y"], shape=[2, 2]), r.merge_dims(1, 2)))(r)
    assert [plain(x) for x in found] == [
        [[[b"a", b"b"]], [[b"c", b"d"]]],
        [[[b"a", b"b"], [b"x", b"y"]], [[b"c", b"d"], [b"x", b"y"]]], [[b"a", b"b"], [b"c", b"d"]]]
    with pytest.raises(df.errors.DTypeError, match="text"):
        mode(lambda r: df.sin(r))(r)


def test_types_of_text():
    assert df.type_spec_from_value(df.constant(["a"])) == df.TensorSpec([1], df.string)
    batch = next(iter(df.data.Dataset.from_tensor_slices(["a", "b"]).batch(2)))
    assert df.type_spec_from_value(batch) == df.TensorSpec([2], df.string)

    @df.function
    def f(t):
        assert df.type_spec_from_value(t) == df.TensorSpec([1], df.string)
        return t

    f(df.constant(["a"]))
