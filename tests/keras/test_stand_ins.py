"""Helpers of Keras that are written for TensorFlow return datasets of df.data."""

import importlib.util

import numpy as np
import pytest

import dualflow as df
from dualflow import keras
from dualflow.keras import layers

Image = pytest.importorskip("PIL.Image")
pytestmark = pytest.mark.skipif(importlib.util.find_spec("tensorflow") is not None,
                                reason="Keras uses TensorFlow")
RNG = np.random.default_rng(0)
X = RNG.normal(size=(24, 3)).astype("float32")
Y = RNG.normal(size=(24, 2)).astype("float32")


# --- time series ---

@pytest.mark.parametrize("length, stride, rate", [(3, 1, 1), (4, 2, 1), (3, 3, 2), (1, 1, 1)])
@pytest.mark.parametrize("batch", [None, 1, 5])
def test_windows_match_numpy(length, stride, rate, batch):
    found = keras.utils.timeseries_dataset_from_array(
        X, Y, length, sequence_stride=stride, sampling_rate=rate, batch_size=batch)
    starts = range(0, len(X) - (length - 1) * rate, stride)
    assert isinstance(found, df.data.Dataset)
    pairs = list(found if batch is None else found.unbatch())
    assert [x.tolist() for x, _ in pairs] == [X[k:k + length * rate:rate].tolist() for k in starts]
    assert [y.tolist() for _, y in pairs] == [Y[k].tolist() for k in starts]


def test_a_range_of_a_series_without_targets():
    found = keras.utils.timeseries_dataset_from_array(np.arange(20), None, 3, start_index=4,
                                                      end_index=9)
    assert [x.tolist() for x in found] == [[[4, 5, 6], [5, 6, 7], [6, 7, 8]]]


def test_shuffled_windows_are_seeded():
    first, second = [[x.tolist() for x in keras.utils.timeseries_dataset_from_array(
        np.arange(30), None, 2, batch_size=None, shuffle=True, seed=3)] for _ in range(2)]
    assert first == second != sorted(first)
    assert sorted(first) == [[k, k + 1] for k in range(29)]


def test_fit_on_windows():
    data = keras.utils.timeseries_dataset_from_array(X, Y, 4, batch_size=8)
    model = keras.Sequential([layers.LSTM(3), layers.Dense(2)])
    model.compile("adam", "mse")
    assert len(model.fit(data, epochs=2, verbose=0).history["loss"]) == 2


# --- folders ---

@pytest.fixture
def photos(tmp_path):
    """Two classes of three images; the grey value identifies an image."""
    for kind, start in [("cat", 0), ("dog", 100)]:
        (tmp_path / kind).mkdir()
        for k in range(3):
            pixels = np.full((6, 8 + k, 3), start + 10 * k, "uint8")
            Image.fromarray(pixels).save(tmp_path / kind / f"{k}.png")
    return tmp_path


def test_images_labels_and_names(photos):
    data = keras.utils.image_dataset_from_directory(photos, image_size=(4, 5), batch_size=None,
                                                    shuffle=False, verbose=False)
    assert isinstance(data, df.data.Dataset) and data.class_names == ["cat", "dog"]
    assert len(data.file_paths) == 6
    found = [(x.shape, x.dtype, float(x.numpy().min()), float(x.numpy().max()), int(label))
             for x, label in data]
    grey = [0., 10., 20., 100., 110., 120.]
    assert found == [((4, 5, 3), df.float32, g, g, int(g >= 100)) for g in grey]


@pytest.mark.parametrize("mode, labels", [
    ("int", [0, 0, 0, 1, 1, 1]), ("binary", [[0.]] * 3 + [[1.]] * 3),
    ("categorical", [[1., 0.]] * 3 + [[0., 1.]] * 3), (None, None)])
def test_label_modes(photos, mode, labels):
    data = keras.utils.image_dataset_from_directory(photos, label_mode=mode, image_size=(4, 4),
                                                    shuffle=False, verbose=False)
    [batch] = data
    if mode is None:
        assert batch.shape == (6, 4, 4, 3)
    else:
        assert batch[1].tolist() == labels


@pytest.mark.parametrize("options, shape", [
    ({"color_mode": "grayscale"}, (4, 4, 1)), ({"color_mode": "rgba"}, (4, 4, 4)),
    ({"crop_to_aspect_ratio": True}, (4, 4, 3)), ({"pad_to_aspect_ratio": True}, (4, 4, 3)),
    ({"data_format": "channels_first"}, (3, 4, 4)), ({"interpolation": "nearest"}, (4, 4, 3))])
def test_options_of_images(photos, options, shape):
    data = keras.utils.image_dataset_from_directory(photos, image_size=(4, 4), batch_size=2,
                                                    verbose=False, **options)
    assert [x.shape for x, _ in data] == [(2, *shape)] * 3


def test_images_are_split_and_fitted(photos):
    train, rest = keras.utils.image_dataset_from_directory(
        photos, image_size=(4, 4), batch_size=2, validation_split=.34, subset="both", seed=1,
        verbose=False)
    model = keras.Sequential([layers.Rescaling(1 / 255), layers.Flatten(), layers.Dense(2)])
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    history = model.fit(train, validation_data=rest, verbose=0).history
    assert len(train.file_paths) == 4 and len(rest.file_paths) == 2 and "val_loss" in history


def test_text_files(tmp_path):
    for kind, text in [("good", "fine"), ("bad", "awful")]:
        (tmp_path / kind).mkdir()
        (tmp_path / kind / "1.txt").write_text(text + " é", encoding="utf-8")
    read = keras.utils.text_dataset_from_directory
    assert [(text, int(k)) for text, k in read(tmp_path, batch_size=None, shuffle=False,
                                               verbose=False)] == [("awful é", 0), ("fine é", 1)]
    [(texts, _)] = read(tmp_path, max_length=3, shuffle=False, verbose=False)
    assert list(texts) == ["awf", "fin"]
    words, data = layers.TextVectorization(), read(tmp_path, shuffle=False, verbose=False)
    words.adapt(data.map(lambda x, y: x))
    assert words.get_vocabulary()[2:] == ["é", "fine", "awful"]
    [(tokens, _)] = data.map(lambda x, y: (words(x), y))
    assert tokens.tolist() == [[4, 2], [3, 2]]


def test_arrays_are_split():
    left, right = keras.utils.split_dataset((X, Y), left_size=.75)
    assert len(list(left)) == 18 and len(list(right)) == 6
    x, y = next(iter(left))
    assert x.tolist() == X[0].tolist() and y.tolist() == Y[0].tolist()


@pytest.mark.parametrize("data", [
    lambda: df.data.Dataset.from_tensor_slices(X).batch(5), lambda: X])
def test_normalization_adapts(data):
    layer = layers.Normalization()
    layer.adapt(data())
    assert layer(X).numpy() == pytest.approx((X - X.mean(0)) / X.std(0), rel=1e-4, abs=1e-5)


def test_discretization_adapts_to_a_dataset():
    values = np.arange(12, dtype="float32")
    found, expected = layers.Discretization(num_bins=3), layers.Discretization(num_bins=3)
    found.adapt(df.data.Dataset.from_tensor_slices(values).batch(12))
    expected.adapt(values)
    assert found(values).tolist() == expected(values).tolist() and found.bin_boundaries

