"""CTC loss: values of TensorFlow and PyTorch, rows without a path, threads, invalid input; the
greedy decoder and beam search."""

import numpy as np
import pytest

import dualflow as df
from dualflow.errors import OutOfRangeError, ShapeError, UnimplementedError
from tests.ops import harness
from tests.ops.nn.ctc import labels_by_loss, of_all_paths

T, B, C = 12, 4, 6
t, b, c = np.ogrid[:T, :B, :C]
LOGITS = 3 * np.sin(1.3 * t + 2.1 * b + 0.7 * c * c)
LABELS = np.array([[1, 2, 2, 3, 5], [4, 4, 4, 0, 0], [5, 1, 3, 0, 0], [2, 0, 0, 0, 0]])
LABEL_LENGTH, LOGIT_LENGTH = np.array([5, 3, 3, 0]), np.array([12, 9, 7, 4])
# torch.nn.functional.ctc_loss of PyTorch 2, float64, reduction="none", and the gradient of the
# losses with weights 1, 2, -1, 0.5: step 3 of row 1, and sums of squares by row.
LOSS = [15.332786894886429, 20.24616069887549, 16.469845653049763, 10.557753882447265]
SLOPE_3 = [-1.4602096942033167, 0.6646125830176095, 1.1407099443833895, 0.0895645104700721,
           -0.44455631552361347, 0.009878971855859096]
SQUARES = [7.351357557537659, 26.816766201848118, 5.808518953511201, 1.0782723570119366]
# tf.nn.ctc_loss of TensorFlow 2.21, float32, blank_index=-1
LOSS_OF_LAST = [13.013134002685547, 22.488615036010742, 15.022744178771973, 11.436311721801758]


def weighed(logits, time_major=True):
    loss = df.nn.ctc_loss(LABELS, logits, LABEL_LENGTH, LOGIT_LENGTH, time_major)
    return df.reduce_sum(loss * df.cast([1., 2., -1., .5], logits.dtype))


def test_loss_matches_pytorch_and_tensorflow():
    loss = df.nn.ctc_loss(LABELS, LOGITS, LABEL_LENGTH, LOGIT_LENGTH)
    np.testing.assert_allclose(loss.numpy(), LOSS, rtol=1e-13)
    loss = df.nn.ctc_loss(LABELS.astype("i4") % 5, LOGITS.astype("f4"), LABEL_LENGTH, LOGIT_LENGTH,
                          blank_index=-1)
    np.testing.assert_allclose(loss.numpy(), LOSS_OF_LAST, rtol=1e-6)


@pytest.mark.parametrize("dtype, close", [("float64", 1e-13), ("float32", 1e-6)])
def test_gradient_matches_pytorch(dtype, close):
    x = df.constant(LOGITS.astype(dtype))
    by_batch = df.transpose(x, [1, 0, 2])
    slopes = [df.grad(weighed)(x), df.function(df.grad(weighed))(x),
              df.transpose(df.grad(lambda x: weighed(x, False))(by_batch), [1, 0, 2])]
    for slope in slopes:
        assert slope.numpy().tobytes() == slopes[0].numpy().tobytes()
    g = slopes[0].numpy()
    np.testing.assert_allclose(g[3, 1], SLOPE_3, rtol=close, atol=close)
    np.testing.assert_allclose((g**2).sum((0, 2)), SQUARES, rtol=10 * close)
    for row, steps in enumerate(LOGIT_LENGTH):
        assert not g[steps:, row].any() and g[:steps, row].any()


def test_loss_is_the_sum_over_all_paths():
    """Include label sequences with repeated labels."""
    x = np.random.default_rng(1).normal(size=(5, 1, 3))
    for labels in ([], [1], [1, 1], [1, 2], [1, 2, 1], [2, 2, 2], [1, 2, 1, 2, 1]):
        n = len(labels)
        padded = np.array([labels + [0] * (5 - n)])
        got = df.nn.ctc_loss(padded, x, [n], [5]).item()
        assert abs(got - of_all_paths(padded[0], x[:, 0], n, 5, 0)) < 1e-13


def test_rows_without_a_path():
    """[1, 1] needs three steps; zero steps can only produce zero labels."""
    x = df.constant(np.random.default_rng(1).normal(size=(4, 4, 3)))
    args = [[1, 1], [1, 1], [1, 2], [0, 0]], [2, 2, 2, 0], [2, 3, 0, 0]

    def loss(x):
        return df.nn.ctc_loss(args[0], x, *args[1:])

    assert np.isfinite(loss(x).numpy()).tolist() == [False, True, False, True]
    assert loss(x).numpy()[0] == np.inf and loss(x).numpy()[3] == 0
    slope = df.grad(lambda x: df.reduce_sum(loss(x)))(x).numpy()
    assert np.isfinite(slope).all() and [s.any() for s in slope.swapaxes(0, 1)] == [
        False, True, False, False]


def test_large_logits():
    x = np.zeros((3, 1, 3))
    x[:, 0, 1] = 1e4
    assert df.nn.ctc_loss([[1]], x, [1], [3]).item() == 0
    assert df.nn.ctc_loss([[2]], x, [1], [3]).item() == pytest.approx(1e4 * 3, rel=1e-3)


def test_threads_and_unknown_sizes():
    rng = np.random.default_rng(2)
    x = df.constant(rng.normal(size=(30, 9, 7)).astype("f4"))
    labels, lengths = rng.integers(1, 7, (9, 8)), rng.integers(0, 9, 9)

    def f(labels, x, lengths):
        with df.GradientTape() as tape:
            tape.watch(x)
            y = df.nn.ctc_loss(labels, x, lengths, df.fill(df.shape(lengths), 30))
        return y, tape.gradient(y, x)

    traced = df.function(f, input_signature=[
        df.TensorSpec([None, None], "int64"), df.TensorSpec([None] * 3, "float32"),
        df.TensorSpec([None], "int64")])
    results = []
    for n in (1, 2):
        with harness.threads(n):
            results += [[y.numpy().tobytes() for y in call(df.constant(labels), x,
                                                           df.constant(lengths))]
                        for call in (f, traced)]
    assert all(r == results[0] for r in results)
    assert df.nn.ctc_loss(df.zeros([0, 3], "int64"), df.zeros([5, 0, 4]), df.zeros([0], "int64"),
                          df.zeros([0], "int64")).shape == (0,)


@pytest.mark.parametrize("change, error, text", [
    ({"labels": [[1, 6]]}, OutOfRangeError, r"ctc_loss: labels\[0, 1\] is 6 of 6 classes"),
    ({"labels": [[-1, 2]]}, OutOfRangeError, r"labels\[0, 0\] is -1"),
    ({"label_length": [3]}, OutOfRangeError, r"label_length\[0\] is 3, expected 0 to 2"),
    ({"logit_length": [13]}, OutOfRangeError, r"logit_length\[0\] is 13, expected 0 to 12"),
    ({"logit_length": [-1]}, OutOfRangeError, r"logit_length\[0\] is -1"),
    ({"blank_index": 6}, OutOfRangeError, "blank_index is 6 of 6 classes"),
    ({"labels": [1, 2]}, ShapeError, "ctc_loss: labels are .*expected 2 and 3 dimensions"),
    ({"label_length": [1, 1]}, ShapeError, r"ctc_loss: .*input 2 .*one batch size"),
])
def test_bad_input(change, error, text):
    given = {"labels": [[1, 2]], "logits": LOGITS[:, :1], "label_length": [2],
             "logit_length": [12]}
    with pytest.raises(error, match=text):
        df.nn.ctc_loss(**{**given, **change})
    assert df.nn.ctc_loss(**given).shape == (1,)


def test_second_derivative_raises():
    with pytest.raises(UnimplementedError, match="ctc_loss: it has no second"):
        df.grad(lambda x: df.reduce_sum(df.grad(weighed)(x) ** 2))(df.constant(LOGITS))


@pytest.mark.parametrize("mode", ["eager", "traced", "unknown"])
def test_greedy_decoder(mode):
    """Expected values are from tf.nn.ctc_greedy_decoder."""
    def first(x, n):
        return df.nn.ctc_greedy_decoder(x, n, blank_index=0)

    def second(x, n):
        return df.nn.ctc_greedy_decoder(x, n, merge_repeated=False)

    spec = [df.TensorSpec([None] * 3, "float32"), df.TensorSpec([None], "int64")]
    if mode != "eager":
        first, second = (df.function(f, input_signature=spec if mode == "unknown" else None)
                         for f in (first, second))
    given = df.constant(LOGITS.astype("f4")), df.constant(LOGIT_LENGTH)
    (decoded,), total = first(*given)
    rest = [-1] * 2
    assert decoded.tolist() == [
        [1, 3, 5, 4, 2, 1, 3, 5, 2, 1] + rest, [4, 2, 1, 5, 4, 2, 1, -1, -1, -1] + rest,
        [2, 1, 4, 2] + [-1] * 6 + rest, [1, 3, 5, 4] + [-1] * 6 + rest]
    np.testing.assert_allclose(total.numpy(), [[-30.987403869628906], [-22.36225128173828],
                                               [-18.12897300720215], [-9.421783447265625]],
                               rtol=1e-6)
    (decoded,), _ = second(*given)
    assert decoded.tolist() == [
        [1, 3, 4, 2, 1, 3, 2, 2, 1, 0] + rest, [0, 4, 2, 2, 1, 4, 2, 1, -1, -1] + rest,
        [2, 2, 1, 0, 4, 2, 2, -1, -1, -1] + rest, [1, 3, 4] + [-1] * 7 + rest]


# --- beam search ---

def brute(x, steps, blank, k):
    return [path for _, path in labels_by_loss(x, steps, blank, x.shape[-1])[:k]]


def test_beam_search_finds_the_most_likely_labels():
    """With enough beams labels are ordered by loss; with fewer beams the order is similar."""
    rng = np.random.default_rng(5)
    for _ in range(20):
        x = rng.normal(size=(4, 1, 3))
        decoded, log_p = df.nn.ctc_beam_search_decoder(x, [4], top_paths=4)
        paths = [tuple(c for c in row.numpy()[0] if c >= 0) for row in decoded]
        assert paths == brute(x[:, 0], 4, 2, 4)
        losses = [df.nn.ctc_loss([p + (0,) * (4 - len(p))], x, [len(p)], [4], blank_index=2).item()
                  for p in paths]
        np.testing.assert_allclose(log_p.numpy()[0], np.negative(losses), rtol=1e-12)


def test_one_beam_is_greedy_if_one_class_dominates():
    best = np.array([[1, 1, 3, 0, 2, 2, 2, 3, 2]])
    x = 30 * np.eye(4)[best.T]
    for width in (1, 5):
        decoded, log_p = df.nn.ctc_beam_search_decoder(x, [9], width)
        assert decoded[0].tolist() == df.nn.ctc_greedy_decoder(x, [9])[0][0].tolist()
        assert -1e-9 < log_p.item() <= 0


def test_sequences_that_reenter_the_beams():
    """Compare with a search on sequences as tuples, with narrow beams and many steps."""
    rng = np.random.default_rng(6)
    for width in (2, 3, 7):
        x = rng.normal(size=(30, 3, 4))
        decoded, log_p = df.nn.ctc_beam_search_decoder(x, [30, 20, 0], width, min(width, 3))
        for row, steps in enumerate((30, 20, 0)):
            found = search(x[:steps, row], width)
            for k, (path, total) in enumerate(found[:min(width, 3)]):
                assert tuple(c for c in decoded[k].numpy()[row] if c >= 0) == path
                assert abs(log_p.numpy()[row, k] - total) < 1e-10
    assert log_p.numpy()[2].tolist() == [0, -np.inf, -np.inf]


def search(x, width):
    """Return the result of a short prefix beam search; the last class is blank."""
    p = x - np.logaddexp.reduce(x, -1, keepdims=True)
    beams = {(): (0.0, -np.inf)}
    for row in p:
        made = {}
        for path, (blank, label) in beams.items():
            total = np.logaddexp(blank, label)
            b, n = made.get(path, (-np.inf, -np.inf))
            made[path] = (np.logaddexp(b, total + row[-1]),
                          np.logaddexp(n, label + row[path[-1]]) if path else n)
            for c in range(len(row) - 1):
                b, n = made.get((*path, c), (-np.inf, -np.inf))
                more = blank if path and path[-1] == c else total
                made[(*path, c)] = b, np.logaddexp(n, more + row[c])
        beams = dict(sorted(made.items(), key=lambda item: -np.logaddexp(*item[1]))[:width])
    return [(path, np.logaddexp(*parts)) for path, parts in beams.items()]


def test_beam_search_of_impossible_classes_and_invalid_input():
    x = np.full((3, 1, 3), -np.inf)
    x[:, :, 2] = 0                                      # all blank
    decoded, log_p = df.nn.ctc_beam_search_decoder(x, [3], 5, 2)
    assert [d.tolist() for d in decoded] == [[[-1] * 3]] * 2
    assert log_p.tolist() == [[0.0, -np.inf]]
    df.nn.ctc_beam_search_decoder(np.full((3, 1, 3), np.nan), [3], 5, 2)
    for length, options, error, message in (
            ([4], {}, OutOfRangeError, r"sequence_length\[0\] is 4, expected 0 to 3"),
            ([1, 2], {}, ShapeError, "expected .time, batch, classes."),
            ([3], {"beam_width": 2, "top_paths": 3}, ValueError, "1 <= top_paths <= beam_width"),
            ([3], {"blank_index": 3}, OutOfRangeError, "not one of 3 classes")):
        with pytest.raises(error, match=message):
            df.nn.ctc_beam_search_decoder(x, length, **options)
