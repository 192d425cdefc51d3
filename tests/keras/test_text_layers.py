"""Keras's layers of text and vocabularies on df.strings and df.lookup."""

import importlib.util

import numpy as np
import pytest

import dualflow as df
from dualflow import keras
from dualflow.keras import layers
from dualflow.keras.src.ops.core import compute_output_spec

pytestmark = pytest.mark.skipif(importlib.util.find_spec("tensorflow") is not None,
                                reason="Keras uses TensorFlow")
TEXTS = ["The cat, the dog!", "a cat", "dog"]
LETTERS = [["A"], ["B"], ["C"], ["D"], ["E"]]


def both(layer, x):
    """Return layer(x), after a check that a traced function returns the same."""
    eager, traced = layer(x), df.function(layer)(df.constant(x))
    assert eager.dtype == traced.dtype and eager.tolist() == traced.tolist()
    return eager


@pytest.mark.parametrize("data", [
    TEXTS, np.array(TEXTS), np.array(TEXTS)[:, None],
    df.data.Dataset.from_tensor_slices(TEXTS).batch(2), iter([TEXTS[:1], TEXTS[1:]])])
def test_text_vectorization_adapts(data):
    layer = layers.TextVectorization()
    layer.adapt(data)
    assert layer.get_vocabulary() == ["", "[UNK]", "the", "dog", "cat", "a"]
    assert layer.vocabulary_size() == 6
    assert both(layer, ["the dog", "A bird. Cat"]).tolist() == [[2, 3, 0], [5, 1, 4]]


@pytest.mark.parametrize("options, expected", [
    ({"output_sequence_length": 1}, [[2], [3]]),
    ({"output_sequence_length": 4}, [[2, 3, 2, 0], [3, 1, 0, 0]]),
    ({"output_mode": "multi_hot"}, [[0, 1, 1], [1, 0, 1]]),
    ({"output_mode": "count"}, [[0, 2, 1], [1, 0, 1]]),
    ({"output_mode": "tf_idf", "idf_weights": [.5, 1.]}, [[0., 1., 1.], [.75, 0., 1.]]),
    ({"output_mode": "count", "max_tokens": 5, "pad_to_max_tokens": True},
     [[0, 2, 1, 0, 0], [1, 0, 1, 0, 0]]),
    ({"split": "character", "output_sequence_length": 3}, [[2, 1, 3], [3, 1, 1]]),
    ({"standardize": None}, [[2, 3, 2], [3, 1, 0]]),
    ({"standardize": lambda x: np.char.replace(x, "z", "a")}, [[2, 3, 2], [3, 2, 0]]),
    ({"split": None, "output_sequence_length": 2}, [[1, 0], [1, 0]]),
    ({"ngrams": 2}, [[2, 3, 2, 1, 1], [3, 1, 1, 0, 0]])])
def test_options_of_text_vectorization(options, expected):
    layer = layers.TextVectorization(vocabulary=["a", "b"], **options)
    x = [["a b a"], ["b z"]]
    found = layer(x) if callable(options.get("standardize")) else both(layer, x)
    assert found.tolist() == expected


def test_tf_idf_is_learned():
    layer = layers.TextVectorization(output_mode="tf_idf")
    layer.adapt(["a b", "b c", "b"])
    weights = np.log(1 + 3 / (1 + np.array([3, 1, 1])))
    assert layer.get_vocabulary() == ["[UNK]", "b", "c", "a"]
    assert layer(["b x b"]).numpy() == pytest.approx(
        np.array([[weights.mean(), 2 * weights[0], 0, 0]]), rel=1e-5)


def test_string_lookup():
    layer = layers.StringLookup(vocabulary=["a", "b"])
    assert both(layer, [["a", "c"], ["b", "a"]]).tolist() == [[1, 0], [2, 1]]
    back = layers.StringLookup(vocabulary=["a", "b"], invert=True)
    assert back([[0, 1], [2, 1]]).tolist() == [[b"[UNK]", b"a"], [b"b", b"a"]]
    buckets = layers.StringLookup(vocabulary=["a"], num_oov_indices=3)
    assert both(buckets, ["a", "Hello"]).tolist() == [
        3, df.strings.to_hash_bucket_fast("Hello", 3).item()]
    for mode, expected in (("one_hot", [[0, 1, 0], [1, 0, 0], [0, 1, 0]]), ("count", [1, 2, 0]),
                           ("multi_hot", [1, 1, 0])):
        layer = layers.StringLookup(vocabulary=["a", "b"], output_mode=mode)
        assert layer(["a", "c", "a"]).tolist() == expected
    strict = layers.StringLookup(vocabulary=["a"], num_oov_indices=0)
    assert strict(["a"]).tolist() == [0]
    with pytest.raises(df.errors.InvalidArgumentError, match="found OOV values"):
        strict(["a", "c"])


def test_a_vocabulary_in_a_file(tmp_path):
    (tmp_path / "words.txt").write_text("cat\ndog\n")
    layer = layers.StringLookup(vocabulary=str(tmp_path / "words.txt"))
    assert layer(["dog", "x"]).tolist() == [2, 0]


def test_integer_lookup():
    layer = layers.IntegerLookup()
    layer.adapt(np.array([[5, 7], [7, 9]]))
    assert layer.get_vocabulary() == [-1, 7, 9, 5]
    assert both(layer, [[7, 1], [5, 9]]).tolist() == [[1, 0], [3, 2]]
    buckets = layers.IntegerLookup(vocabulary=[12, 36], num_oov_indices=2)
    assert both(buckets, [[12, 37], [38, 36]]).tolist() == [[2, 1], [0, 3]]
    assert layers.IntegerLookup(vocabulary=[2**40])([2**40, 1]).tolist() == [1, 0]


# The values are those of the examples in Keras's documentation.
@pytest.mark.parametrize("options, expected", [
    ({}, [1, 0, 1, 1, 2]), ({"salt": [133, 137]}, [1, 2, 1, 0, 2]),
    ({"salt": 133}, [0, 0, 2, 1, 0])])
def test_hashing_has_tensorflows_values(options, expected):
    assert both(layers.Hashing(num_bins=3, **options), LETTERS).tolist() == [[k] for k in expected]


def test_hashing_of_masks_and_numbers():
    layer = layers.Hashing(num_bins=3, mask_value="")
    assert layer([["A"], ["B"], [""], ["C"], ["D"]]).tolist() == [[1], [1], [0], [2], [2]]
    assert both(layers.Hashing(num_bins=10**6), [[1], [2]]).tolist() == [
        [df.strings.to_hash_bucket_fast(x, 10**6).item()] for x in "12"]
    assert layers.Hashing(num_bins=2, output_mode="one_hot")([[1], [2]]).shape == (2, 2)


def test_a_pipeline_feeds_fit():
    words = layers.TextVectorization(vocabulary=["good", "bad"], output_sequence_length=3)
    data = df.data.Dataset.from_tensor_slices((["good", "bad", "very bad"], [1., 0., 0.]))
    model = keras.Sequential([layers.Embedding(4, 2), layers.Flatten(), layers.Dense(1)])
    model.compile("adam", "mse")
    history = model.fit(data.batch(2).map(lambda x, y: (words(x), y)), verbose=0, epochs=2).history
    assert len(history["loss"]) == 2


def test_a_model_of_text_is_called_and_saved(tmp_path):
    words = layers.TextVectorization(output_sequence_length=3)
    words.adapt(TEXTS)
    model = keras.Sequential([keras.Input((1,), dtype="string"), words, layers.Embedding(6, 2),
                              layers.Flatten(), layers.Dense(1)])
    x = df.constant([["the cat"], ["bird"]])
    model.save(tmp_path / "text.keras")
    again = keras.models.load_model(tmp_path / "text.keras")
    assert again(x).tolist() == model(x).tolist()


@pytest.mark.parametrize("layer", [layers.TextVectorization, layers.StringLookup])
def test_sparse_results_are_refused(layer):
    with pytest.raises(ValueError, match="TensorFlow backend"):
        layer(vocabulary=["a"], output_mode="multi_hot", sparse=True)


def standardized(x):
    return df.strings.regex_replace(df.strings.lower(x), "[.]", "")


def text_model(standardize="lower_and_strip_punctuation"):
    words = layers.TextVectorization(standardize=standardize, vocabulary=["good", "bad"],
                                     output_sequence_length=2)
    model = keras.Sequential([words, layers.Embedding(4, 2), layers.Flatten(), layers.Dense(1)])
    model.compile("adam", "mse")
    return model


REVIEWS, MARKS = ["Good.", "bad", "very bad"], np.array([1., 0., 0.])


@pytest.mark.parametrize("standardize", ["lower", standardized])
def test_a_model_of_text_is_trained(standardize):
    """A function that standardizes by ops of text runs in traces as outside them."""
    model = text_model(standardize)
    data = df.data.Dataset.from_tensor_slices((REVIEWS, MARKS)).batch(2)
    for x, y in ((data, None), (df.constant(REVIEWS), MARKS), (np.array(REVIEWS), MARKS),
                 (np.array(REVIEWS, object), MARKS)):
        assert len(model.fit(x, y, epochs=2, verbose=0).history["loss"]) == 2
    expected = model(df.constant(REVIEWS)).numpy()
    for x in (df.constant(REVIEWS), np.array(REVIEWS), np.array(REVIEWS, object),
              df.data.Dataset.from_tensor_slices(REVIEWS).batch(2)):
        assert np.allclose(model.predict(x, verbose=0), expected, atol=1e-6)
    loss = model.evaluate(data, verbose=0)
    assert loss == pytest.approx(np.mean((expected[:, 0] - MARKS)**2), rel=1e-5)


def test_a_validation_split_of_text():
    history = text_model().fit(np.array(REVIEWS, object), MARKS, validation_split=.4, verbose=0)
    assert {*history.history} == {"loss", "val_loss"}


def test_columns_of_text_and_numbers():
    pandas = pytest.importorskip("pandas")
    inputs = {"kind": keras.Input((1,), name="kind", dtype=df.string),
              "size": keras.Input((1,), name="size")}
    kind = layers.StringLookup(vocabulary=["x", "y"], output_mode="one_hot")(inputs["kind"])
    prepared = keras.Model(inputs, layers.Concatenate()([kind, inputs["size"]]))
    columns = {"kind": np.array(["x", "z"], object), "size": np.array([1., 2.])}
    frame = pandas.DataFrame(columns)
    expected = [[0., 1., 0., 1.], [1., 0., 0., 2.]]
    assert prepared(columns).tolist() == prepared(dict(frame)).tolist() == expected
    assert prepared.predict(dict(frame), verbose=0).tolist() == expected
    model = keras.Model(inputs, layers.Dense(1)(prepared(inputs)))
    model.compile("adam", "mse")
    data = df.data.Dataset.from_tensor_slices((columns, [1., 2.]))
    rows = df.data.Dataset.from_tensor_slices((
        {name: x[:, None] for name, x in columns.items()}, [1., 2.]))
    for x, y in ((columns, MARKS[:2]), (dict(frame), MARKS[:2]), (data.batch(2), None),
                 (rows.batch(1), None)):
        assert len(model.fit(x, y, verbose=0).history["loss"]) == 1


def test_a_layer_vectorizes_a_single_text_of_a_dataset():
    words = layers.TextVectorization(standardize=standardized, output_sequence_length=2)
    data = df.data.Dataset.from_tensor_slices(REVIEWS)
    words.adapt(data.batch(2))
    text = df.expand_dims(next(iter(data)), -1)
    assert words(text).tolist() == [[words.get_vocabulary().index("good"), 0]]


def test_results_that_are_text():
    back = layers.StringLookup(vocabulary=["a", "b"], invert=True)
    x = keras.Input((2,), dtype="int64")
    assert keras.Model(x, back(x))(np.array([[0, 1]])).tolist() == [[b"[UNK]", b"a"]]
    spec = compute_output_spec(
        lambda x: df.expand_dims(x, 1), keras.KerasTensor((None, 3), "string"))
    assert spec.dtype == "string" and spec.shape == (None, 1, 3)
