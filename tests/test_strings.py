"""String tensors: constants, printing, comparison, eager and traced; unsupported operations."""

import copy
import io
import pickle

import numpy as np
import pytest

import dualflow as df

ONE, TABLE = df.constant("text"), df.constant([["a", "b"], ["c", "d"]])


def test_constants():
    assert ONE.numpy() == b"text" and ONE.shape == () and ONE.dtype == df.string
    assert TABLE.shape == (2, 2) and TABLE.numpy().tolist() == [[b"a", b"b"], [b"c", b"d"]]
    assert repr(ONE) == "<dualflow.StringTensor shape=() dtype=string b'text'>"
    assert df.constant("ab", shape=[2]).tolist() == df.constant([b"ab"] * 2).tolist()
    assert df.constant(np.array(["x"]), df.string).tolist() == [b"x"]
    assert [x.numpy() for x in TABLE[1]] == [b"c", b"d"] and len(TABLE) == 2
    for other in (copy.deepcopy(TABLE), pickle.loads(pickle.dumps(TABLE))):
        assert (other == TABLE).numpy().all()


def test_comparison_and_concatenation():
    assert (ONE == "text").item() is True and (ONE != b"text").item() is False
    assert (df.constant(["a", "d"]) == TABLE).tolist() == [[True, False], [False, True]]
    assert (ONE == 1) is False
    assert ("<" + TABLE + ">").tolist() == [[b"<a>", b"<b>"], [b"<c>", b"<d>"]]
    assert {ONE: 1}[df.constant("text")] == 1


def test_printing_in_order():
    file = io.StringIO()

    def f(x):
        df.print("loss", x, ONE, TABLE, {"n": x}, output_stream=file)
        return x if ONE == "text" else -x

    traced = df.function(f)
    for x in (1., 2.):
        file.seek(0)
        file.truncate()
        assert f(df.constant(x)).item() == traced(df.constant(x)).item() == x
        first, second = file.getvalue().splitlines()
        assert first == second == f'loss {x} text [["a" "b"] ["c" "d"]] {{\'n\': {x}}}'
    assert traced.experimental_get_tracing_count() == 1


def test_arguments_and_results_of_functions():
    f = df.function(lambda s, x: (s + "!", x))
    texts = [f(s, df.constant(1.))[0].numpy() for s in (ONE, df.constant("text"), df.constant("b"))]
    assert texts == [b"text!", b"text!", b"b!"] and f.experimental_get_tracing_count() == 1


def test_zeros_are_empty_texts_and_tile_repeats_text():
    empty = df.zeros([0, 1], df.string)
    assert empty.shape == (0, 1) and empty.dtype == df.string
    assert df.zeros([2], "string").tolist() == df.zeros_like(df.constant(["a", "b"])).tolist()
    assert df.zeros([2], df.string).tolist() == [b"", b""]
    assert df.concat([empty, [["a"]]], 0).tolist() == [[b"a"]]
    with pytest.raises(TypeError, match="string is not a dtype"):
        df.ones([2], df.string)
    assert df.tile([["a", "b"]], [2, 2]).tolist() == [[b"a", b"b"] * 2] * 2
    assert df.tile(df.constant("a"), []).numpy() == b"a"

    @df.function
    def rows(x):
        return df.concat([df.zeros([1, 1], df.string), df.tile(x, [df.size(x), 1])], 0)

    assert rows(df.constant([["a"], ["b"]])).tolist() == [[b""], [b"a"], [b"b"], [b"a"], [b"b"]]


def test_dtype_of_text_is_in_dtypes():
    assert df.dtypes.string is df.string and "string" in dir(df.dtypes)
    with pytest.raises(AttributeError, match=r"'dualflow.dtypes' has no attribute 'text'"):
        df.dtypes.text  # noqa: B018


def test_string_functions():
    s = df.strings
    assert s.join([TABLE, "-", ["x", "y"]]).tolist() == [[b"a-x", b"b-y"], [b"c-x", b"d-y"]]
    assert s.join(["a", "b"], ", ").numpy() == b"a, b"
    assert s.format("{} of {}", (df.constant([1, 2]), "n")).numpy() == b"[1 2] of n"
    assert s.format("%", df.constant(2), "%").numpy() == b"2"
    assert s.as_string([True, False]).tolist() == [b"true", b"false"]
    assert s.as_string(7, width=3, fill="0").numpy() == b"007"
    assert s.as_string(0.5).numpy() == b"0.500000"
    assert s.length("\u00e9").item() == 2 and s.length("\u00e9", "UTF8_CHAR").item() == 1
    assert s.upper("\u00e9a").numpy() == "\u00e9A".encode()
    assert s.upper("\u00e9a", "utf-8").numpy() == "\u00c9A".encode()
    once = s.regex_replace(["a1b2"], "[0-9]", r"<\g<0>>", replace_global=False)
    assert once.tolist() == [b"a<1>b2"]
    assert s.to_number("12", df.int64).item() == 12 and s.to_number("inf").item() == np.inf


@pytest.mark.parametrize("f, message", [
    (lambda: ONE + 1, "can be printed, compared"),
    (lambda: df.reduce_sum(TABLE), "StringTensor, expected a tensor, a number"),
    (lambda: df.constant(1.) + ONE, "StringTensor, expected"),
    (lambda: df.constant("a", df.float32), "expected numbers"),
    (lambda: df.constant([1, "a"]), "expected numbers"),
    (lambda: df.constant(["a", 3]), "got 3, expected text"),
    (lambda: df.strings.StringTensor(1 << 40), "expected text"),
    (lambda: df.strings.join([["a", None]]), "got None, expected text"),
    (lambda: df.constant(np.array([1, 2], object)), "dtype object"),
    (lambda: bool(ONE), "has no truth"),
    (lambda: df.strings.lower(1.), "got 1.0, expected text"),
    (lambda: df.strings.join(["a", df.constant(1)]), "expected text"),
    (lambda: df.strings.as_string(1., precision="a"), "precision is 'a', expected an integer"),
    (lambda: df.function(lambda x: df.strings.format("{}", x))(df.constant(1.)), "dualflow.print"),
])
def test_unsupported_operations_raise(f, message):
    with pytest.raises(TypeError, match=message):
        f()


def test_invalid_templates_numbers_and_units_raise():
    with pytest.raises(ValueError, match="expected at most 65536"):
        df.strings.as_string(1., width=1 << 70)
    for f in (lambda: df.strings.format("{} {}", 1), lambda: df.strings.to_number("one"),
              lambda: df.strings.length("a", "WORD"), lambda: df.strings.lower("a", "latin1")):
        with pytest.raises(df.errors.InvalidArgumentError):
            f()


def test_text_becomes_an_array():
    x = df.constant(["a", "bc"])
    assert np.asarray(x).tolist() == [b"a", b"bc"] and np.asarray(x, "S").dtype == "S2"
    copy = np.array(x)
    copy[0] = b"z"
    assert x.numpy()[0] == b"a"
