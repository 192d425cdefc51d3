"""Common mistakes with models, and their messages: NaN, labels, lengths, ends of data."""

import importlib.util

import numpy as np
import pytest

import dualflow as df
from dualflow import errors, keras
from dualflow.keras import layers


@pytest.fixture
def checked():
    df.debugging.enable_check_numerics()
    yield
    df.debugging.disable_check_numerics()


class Log(layers.Layer):
    def call(self, x):
        return keras.ops.log(x - 1e3)


def compiled(*parts, loss="mse", **options):
    model = keras.Sequential([keras.Input((4,)), *parts])
    model.compile("sgd", loss, **options)
    return model


X, Y = np.ones((8, 4), "float32"), np.ones((8, 2), "float32")


@pytest.mark.parametrize("eagerly", [False, True])
@pytest.mark.parametrize("method", ["fit", "evaluate", "predict"])
def test_layer_of_the_first_nan_is_named(checked, method, eagerly):
    model = compiled(layers.Dense(3, name="before"), Log(name="culprit"),
                     layers.Dense(2, name="after"), run_eagerly=eagerly)
    with pytest.raises(errors.InvalidArgumentError, match="NaN") as raised:
        getattr(model, method)(X, *[Y][:method != "predict"], verbose=0)
    message = str(raised.value) + "".join(getattr(raised.value, "__notes__", []))
    if eagerly:
        assert "calling Log.call()" in message
    else:
        assert "culprit/log of " in message and "test_mistakes.py" in message
    assert "before" not in message and "after" not in message


def test_keras_layers_are_named_with_the_users_line(checked):
    model = compiled(layers.Dense(2, name="narrow"), layers.Dense(2, name="wide"))
    model.layers[1].set_weights([np.full((2, 2), 3e38, "float32"), np.zeros(2, "float32")])
    with pytest.raises(errors.InvalidArgumentError) as raised:
        model.predict(1e9 * X, verbose=0)
    note, = raised.value.__notes__
    assert "wide/matmul of predict_step" in note and __file__ in note


def test_nodes_have_layer_names():
    model = compiled(layers.Dense(2, name="only"))
    f = df.function(lambda x: model(x) + model(2. * x))
    names = [node.name for node in f.get_concrete_function(df.constant(X)).graph.nodes]
    assert sum("/only/" in name for name in names) >= 4 and len(set(names)) == len(names)


@pytest.mark.parametrize("eagerly", [False, True])
@pytest.mark.parametrize("label", [2, -1])
def test_labels_out_of_range_raise(label, eagerly):
    labels = np.array([0, 1, 1, 0, label, 1, 0, 0])
    model = compiled(layers.Dense(2), run_eagerly=eagerly, loss=keras.losses.
                     SparseCategoricalCrossentropy(from_logits=True))
    with pytest.raises((ValueError, IndexError), match=f"label {label}, .* 0 to 1"):
        model.fit(X, labels, verbose=0)


@pytest.mark.parametrize("given, said", [
    ((X, Y[:-1]), ("'x' sizes: 8", "'y' sizes: 7")),
    ((X, Y, np.ones(3)), ("'x' sizes: 8", "'sample_weight' sizes: 3"))])
def test_arrays_of_different_lengths(given, said):
    with pytest.raises(ValueError, match="same number of samples") as raised:
        compiled(layers.Dense(2)).fit(*given[:2], sample_weight=(*given, None)[2], verbose=0)
    assert all(sizes in str(raised.value) for sizes in said)


def batches(n):
    for _ in range(n):
        yield X, Y


def test_data_that_ends_early():
    model = compiled(layers.Dense(2))
    with pytest.warns(UserWarning, match="ran out of data"):
        model.fit(batches(3), steps_per_epoch=2, epochs=2, verbose=0)
    assert model.optimizer.iterations.numpy() == 3
    with pytest.raises((ValueError, IndexError), match=r"at least one batch|out of range"):
        model.fit(batches(0), verbose=0)        # an IndexError in older Keras


class Broken(keras.utils.PyDataset):
    def __len__(self):
        return 3

    def __getitem__(self, k):
        if k == 1:
            raise OSError("no such picture: 17.png")
        return X, Y


def test_errors_of_data_sources_are_raised():
    with pytest.raises(OSError, match=r"17\.png"):
        compiled(layers.Dense(2)).fit(Broken(), shuffle=False, verbose=0)


def test_inputs_of_another_shape():
    model = compiled(layers.Dense(2))
    with pytest.raises((ValueError, RuntimeError), match="axis -1 of input shape to have value 4"):
        model.fit(X[:, :3], Y, verbose=0)       # a RuntimeError in older Keras
    with pytest.raises(ValueError, match=r"\(8, 2\).*\(8, 5\)|\(8, 5\).*\(8, 2\)"):
        model.fit(X, np.ones((8, 5)), verbose=0)


@pytest.mark.parametrize("traced", [False, True])
@pytest.mark.parametrize("label", [-1, -3, 3])
@pytest.mark.parametrize("from_logits", [False, True])
def test_sparse_labels_out_of_range_are_refused(label, from_logits, traced):
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=from_logits)
    call = df.function(loss) if traced else loss
    shares = np.full((2, 3), 1 / 3, "float32")
    assert call(np.array([0, 2]), shares).numpy() == pytest.approx(np.log(3))
    with pytest.raises(errors.OutOfRangeError, match=r"label|indices"):
        call(np.array([0, label]), shares)


def test_sparse_label_of_an_ignored_class():
    loss = keras.losses.SparseCategoricalCrossentropy(ignore_class=-1)
    y = loss(np.array([0, -1]), np.array([[0.5, 0.25, 0.25]] * 2, "float32"))
    assert y.numpy() == pytest.approx(np.log(2))


@pytest.mark.skipif(importlib.util.find_spec("tensorflow") is not None, reason="works then")
@pytest.mark.parametrize("use, words", [
    (lambda: layers.HashedCrossing(3), "HashedCrossing .* zlib.crc32"),
])
def test_parts_that_need_tensorflow_name_a_replacement(use, words):
    with pytest.raises(ImportError, match=words):
        use()


@pytest.mark.skipif(importlib.util.find_spec("tensorflow") is not None, reason="works then")
def test_folders_of_audio_name_a_replacement(tmp_path):
    for kind in "ab":
        (tmp_path / kind).mkdir()
        (tmp_path / kind / "1.wav").write_bytes(b"")
    with pytest.raises(ImportError, match=r"with dualflow use df\.data"):
        keras.utils.audio_dataset_from_directory(tmp_path)
