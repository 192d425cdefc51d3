"""Functions of `df.strings` against Python's bytes and str, eager and traced."""

import itertools

import numpy as np
import pytest

import dualflow as df
from dualflow.ops.strings.fingerprint import fingerprint64, siphash64
from dualflow.ops.strings.split import split_parts

S = df.strings
WORDS = [b"", b" a b ", "É é ß".encode(), b"\xff\xfe", b"x,y,,z", b"Ab1\n", "日本".encode(), b"\0q"]
SHAPES = [(8,), (2, 4), (1, 8, 1)]


def both(f, *args):
    """Return the result of f, after a check that a traced function returns the same."""
    eager, traced = f(*args), df.function(f)(*args)
    assert type(eager) is type(traced) and eager.shape == traced.shape
    assert eager.dtype == traced.dtype and eager.tolist() == traced.tolist()
    return eager


def as_text(x):
    return x.decode("utf-8", "replace")


# A function and its meaning for the bytes of one text.
ROWS = [
    (S.lower, bytes.lower), (S.upper, bytes.upper), (S.strip, bytes.strip), (S.length, len),
    (lambda s: S.lower(s, "utf-8"), lambda x: as_text(x).lower().encode()),
    (lambda s: S.upper(s, encoding="utf-8"), lambda x: as_text(x).upper().encode()),
    (lambda s: S.join([s, "-", s]), lambda x: x + b"-" + x),
    (lambda s: S.join([s, s], separator=", "), lambda x: x + b", " + x),
    (lambda s: S.regex_replace(s, "[ ,]", "_"), lambda x: x.translate(bytes.maketrans(b" ,",
                                                                                     b"__"))),
    (lambda s: S.regex_replace(s, "[[:space:]]+", ""), lambda x: b"".join(x.split())),
    (lambda s: S.regex_replace(s, "^.", r"<\0>"),
     lambda x: b"<%c>" % x[0] + x[1:] if x.isascii() and x else None),
    (lambda s: S.regex_full_match(s, ".*[a-z].*"),
     lambda x: None if b"\n" in x else any(97 <= c <= 122 for c in x)),
    (lambda s: S.substr(s, 0, 2), lambda x: x[:2]),
    (lambda s: S.length(s, unit="UTF8_CHAR"),
     lambda x: None if x[:1] == b"\xff" else len(x.decode())),
    (lambda s: S.substr(s, 0, 1, unit="UTF8_CHAR"),
     lambda x: None if x[:1] == b"\xff" else x.decode()[:1].encode()),
    (lambda s: S.to_hash_bucket_fast(s, 1 << 40), lambda x: fingerprint64(x) % (1 << 40)),
]


@pytest.mark.parametrize("f, expected", ROWS)
@pytest.mark.parametrize("shape", SHAPES)
def test_elementwise(f, expected, shape):
    words = np.empty(8, object)
    words[:] = WORDS
    found = both(f, df.constant(words.reshape(shape)))
    assert found.shape == shape
    for y, x in zip(found.numpy().ravel().tolist(), WORDS, strict=True):
        want = expected(x)
        assert want is None or y == want


@pytest.mark.parametrize("f, expected", ROWS)
def test_empty_and_scalar(f, expected):
    assert both(f, df.constant(np.empty((0, 3), object))).shape == (0, 3)
    scalar = both(f, df.constant("one"))
    assert scalar.shape == () and expected(b"one") in (None, scalar.tolist())
    assert f("one").tolist() == scalar.tolist()


def test_fingerprints():
    for x, hashed in ((b"test", 8581389452482819506), (b"test" * 8, -4196240717365766262),
                      (b"test" * 64, 3500507768004279527), (b"1footrue", -1541654101129638711),
                      (b"3true", -4880158226897771312), (b"", 0x9ae16a3b2f90404f)):
        assert fingerprint64(x) == hashed % 2**64
    assert len({fingerprint64(b"x" * n) for n in range(300)}) == 300
    assert both(lambda s: S.to_hash_bucket(s, 3), df.constant(["Hello", "TensorFlow", "2.x"])
                ).tolist() == [2, 0, 1]


@pytest.mark.parametrize("axis", [None, 0, 1, -1, [0, 1], [1, 0], []])
@pytest.mark.parametrize("keepdims", [False, True])
def test_reduce_join(axis, keepdims):
    x = np.array([[b"a", b"b", b""], [b"d", b"e", b"f"]], object)
    found = both(lambda s: S.reduce_join(s, axis, keepdims, separator="/"), df.constant(x))
    axes = [0, 1] if axis is None else axis if isinstance(axis, list) else [axis % 2]
    for at in np.ndindex(found.shape):
        rest = [a for a in range(2) if a not in axes]
        index = [slice(None)] * 2
        for a, k in zip(rest, [k for a, k in enumerate(at) if not keepdims or a in rest],
                        strict=True):
            index[a] = k
        parts = [x[tuple([dict(zip(axes, p, strict=True)).get(a, index[a]) for a in range(2)])]
                 for p in itertools.product(*[range(x.shape[a]) for a in axes])]
        assert found.numpy()[at] == b"/".join(parts) if found.shape else (
            found.numpy() == b"/".join(parts))
    empty = S.reduce_join(df.constant(np.empty((2, 0), object)), 1)
    assert empty.tolist() == [b"", b""]


def test_substr_broadcasts_and_checks_positions():
    words = df.constant([["Hello"], ["日本語"]])
    found = both(lambda s, p: S.substr(s, p, 2, unit="UTF8_CHAR"), words, df.constant([0, -2, 1]))
    want = [[x[p:][:2].encode() for p in (0, len(x) - 2, 1)] for x in ("Hello", "日本語")]
    assert found.tolist() == want
    assert S.substr("abc", 3, 1).numpy() == b"" and S.substr("abc", 1, -1).numpy() == b""
    for f in (S.substr, df.function(S.substr)):
        with pytest.raises(df.errors.OutOfRangeError, match="pos is 4"):
            f(df.constant("abc"), 4, 1)


@pytest.mark.parametrize("sep, most", [(None, -1), ("", -1), (",", -1), (", ", 1), (None, 1)])
def test_split(sep, most):
    for word in WORDS:
        found = both(lambda s: S.split(s, sep, most), df.constant(word))
        assert found.tolist() == word.split(sep.encode() if sep else None, most)
    assert S.split("a b").tolist() == [b"a", b"b"]
    values, splits = split_parts(df.constant([["a b", ""], ["c", "d e f"]]), bytes.split,
                                 df.string, "split")
    assert values.tolist() == [b"a", b"b", b"c", b"d", b"e", b"f"]
    assert splits.tolist() == [0, 2, 2, 3, 6]


def test_parts_of_arrays_are_ragged():
    def check(f, x, want):
        for made in (f(x), df.function(f)(x)):
            assert isinstance(made, df.RaggedTensor) and made.to_list() == want

    words = df.constant(["a b", "", "cé"])
    check(S.split, words, [[b"a", b"b"], [], ["cé".encode()]])
    check(S.bytes_split, words, [[b"a", b" ", b"b"], [], [b"c", b"\xc3", b"\xa9"]])
    check(lambda s: S.unicode_decode(s, "UTF-8"), words, [[97, 32, 98], [], [99, 233]])
    check(lambda s: S.unicode_split(s, "UTF-8"), words,
          [[b"a", b" ", b"b"], [], [b"c", "é".encode()]])
    check(S.split, df.constant([["a b", ""], ["c", "d e f"], ["", ""]]),
          [[[b"a", b"b"], []], [[b"c"], [b"d", b"e", b"f"]], [[], []]])
    check(lambda s: S.bytes_split(S.split(s)), words,
          [[[b"a"], [b"b"]], [], [[b"c", b"\xc3", b"\xa9"]]])
    check(lambda s: S.split(s[:0]), words, [])
    assert S.split(["a b", "c"]).to_list() == [[b"a", b"b"], [b"c"]]
    with pytest.raises(df.errors.DTypeError, match="SparseTensor"):
        S.split(df.sparse.eye(2))


def test_ragged_text_and_sparse_text():
    words = S.split(["a b", "", "c"])
    sparse = words.to_sparse()
    assert sparse.values.tolist() == [b"a", b"b", b"c"] and sparse.dtype == df.string
    assert df.RaggedTensor.from_sparse(sparse).to_list() == words.to_list()
    given = df.SparseTensor([[0, 1]], ["a"], [2, 2])
    assert given.values.tolist() == [b"a"] and given.shape == (2, 2)
    assert df.fill([2], "#").tolist() == [b"#", b"#"]


def test_elementwise_functions_of_ragged_text():
    words = df.constant(["a b", "", "cde"])
    for f in (lambda g, s: g(s), lambda g, s: df.function(g)(s)):
        parts = f(S.split, words)
        assert f(S.upper, parts).to_list() == [[b"A", b"B"], [], [b"CDE"]]
        assert f(S.length, parts).to_list() == [[1, 1], [], [3]]
        assert f(lambda s: S.join([s, "-", s]), parts).to_list() == [[b"a-a", b"b-b"], [],
                                                                     [b"cde-cde"]]
        assert f(lambda s: S.substr(s, 0, 1), parts).to_list() == [[b"a", b"b"], [], [b"c"]]
        assert f(lambda s: S.regex_full_match(s, "[ab]"), parts).to_list() == [
            [True, True], [], [False]]


def test_unicode():
    for word in ("", "aé日\U0001f600"):
        assert both(lambda s: S.unicode_decode(s, "UTF-8"), df.constant(word)).tolist() == [
            ord(c) for c in word]
        assert both(lambda s: S.unicode_split(s, "UTF-8"), df.constant(word)).tolist() == [
            c.encode() for c in word]
        assert S.bytes_split(word).tolist() == [bytes([c]) for c in word.encode()]
        wide = word.encode("utf-16-be")
        assert S.unicode_decode(wide, "UTF-16-BE").tolist() == [ord(c) for c in word]
    assert S.unicode_decode(b"a\xff", "UTF-8").tolist() == [97, 0xFFFD]
    assert S.unicode_decode(b"a\xff", "UTF-8", errors="ignore").tolist() == [97]
    assert S.unicode_decode(b"\t\xff", "UTF-8", replacement_char=63,
                            replace_control_characters=True).tolist() == [63, 63]
    with pytest.raises(df.errors.InvalidArgumentError, match="invalid"):
        S.unicode_decode(b"\xff", "UTF-8", errors="strict")
    points = df.constant([[97, 233], [0x65e5, 0xD800]])
    assert both(lambda x: S.unicode_encode(x, "UTF-8"), points).tolist() == [
        "aé".encode(), "日\ufffd".encode()]
    assert S.unicode_encode(points[1], "UTF-16-BE", errors="ignore").numpy() == b"\x65\xe5"
    assert S.unicode_encode([97], "utf8") == "a" and S.unicode_decode("a", "UTF8").tolist() == [97]


def test_encoding_of_ragged_code_points():
    rows = df.ragged.constant([[67, 97], [], [67]])
    assert both(lambda x: S.unicode_encode(x, "UTF-8"), rows).tolist() == [b"Ca", b"", b"C"]
    pages = df.ragged.constant([[[67, 97], []], [[67]]])
    assert S.unicode_encode(pages, "UTF-8").to_list() == [[b"Ca", b""], [b"C"]]
    words = df.constant(["aé", "", "b"])
    assert S.unicode_encode(S.unicode_decode(words, "UTF-8"), "UTF-8").tolist() == words.tolist()


def test_numbers():
    words = df.constant([" 1.5", "-2", "1e3"])
    assert both(S.to_number, words).tolist() == [1.5, -2., 1000.]
    assert both(lambda s: S.to_number(s, df.int64), df.constant(["12", "-7"])).tolist() == [12, -7]
    assert both(S.as_string, df.constant([[1, 2], [3, 4]])).tolist() == [[b"1", b"2"],
                                                                         [b"3", b"4"]]
    for word, dtype in (("a", df.float32), ("1_0", df.int32), ("", df.int32), ("300", df.uint8),
                        ("1.5", df.int32)):
        for f in (S.to_number, df.function(lambda s, dtype: S.to_number(s, dtype))):
            with pytest.raises(df.errors.InvalidArgumentError, match="expected a number"):
                f(df.constant(word), dtype)


@pytest.mark.parametrize("f", [
    lambda: S.reduce_join(["a"], 1), lambda: S.reduce_join(["a"], [0, 0]),
    lambda: S.length("a", unit="x"), lambda: S.lower("a", "latin"),
    lambda: S.to_hash_bucket("a", 0), lambda: S.to_hash_bucket_fast("a", -1),
    lambda: S.regex_replace("a", "(", ""), lambda: S.unicode_decode("a", "latin-1"),
    lambda: S.unicode_encode(5, "UTF-8"), lambda: S.unicode_split("a", "UTF-8", errors="x")])
def test_invalid_arguments(f):
    with pytest.raises(df.errors.InvalidArgumentError):
        f()


def test_siphash_matches_the_vectors_of_the_paper():
    key = (0x0706050403020100, 0x0F0E0D0C0B0A0908)
    assert siphash64(bytes(range(15)), key) == 0xA129CA6149BE45E5
    assert siphash64(b"", key) == 0x726FDB47DD0E0E31


def test_strong_hashes():
    words = df.constant([["Hello", "TF"], ["a" * 300, ""]])
    found = both(lambda s: S.to_hash_bucket_strong(s, 1000, [1, -2]), words)
    assert found.tolist() == [[siphash64(x, (1, 2**64 - 2)) % 1000 for x in row]
                              for row in words.tolist()]
    with pytest.raises(df.errors.InvalidArgumentError, match="expected 2"):
        S.to_hash_bucket_strong("a", 3, [1])


@pytest.mark.parametrize("options, expected", [
    ({"ngram_width": 2}, [[b"a b", b"b c"], [], []]),
    ({"ngram_width": [3, 1], "separator": ""}, [[b"abc", b"a", b"b", b"c"], [b"d"], []]),
    ({"ngram_width": 2, "pad_values": ("<", ">")},
     [[b"< a", b"a b", b"b c", b"c >"], [b"< d", b"d >"], [b"< >"]]),
    ({"ngram_width": 3, "pad_values": "_", "padding_width": 1},
     [[b"_ a b", b"a b c", b"b c _"], [b"_ d _"], []]),
    ({"ngram_width": 2, "preserve_short_sequences": True}, [[b"a b", b"b c"], [b"d"], []])])
def test_ngrams(options, expected):
    words = df.constant(["a b c", "d", ""])
    for f in (lambda s: S.ngrams(S.split(s), **options),
              df.function(lambda s: S.ngrams(S.split(s), **options))):
        assert f(words).to_list() == expected
    assert both(lambda s: S.ngrams(S.split(s), **options), words[0]).tolist() == expected[0]


def test_ngrams_of_arrays():
    words = df.constant([["a", "b", "c"], ["d", "e", "f"]])
    assert both(lambda s: S.ngrams(s, 2), words).tolist() == [[b"a b", b"b c"], [b"d e", b"e f"]]
    assert S.ngrams(words[:0], 2).shape == (0, 2) and S.ngrams(words, 4).shape == (2, 0)
    for bad in (lambda: S.ngrams("a", 2), lambda: S.ngrams(words, 0)):
        with pytest.raises(df.errors.InvalidArgumentError):
            bad()


def test_text_is_converted_to_a_tensor():
    found = df.convert_to_tensor(["a", "b"], df.string)
    assert found.tolist() == [b"a", b"b"] and found.shape.rank == 1
    assert df.convert_to_tensor(found, "string") is found
    with pytest.raises(df.errors.DTypeError):
        df.convert_to_tensor(df.constant([1]), df.string)
