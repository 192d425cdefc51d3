"""`fit`, `evaluate` and `predict` on datasets of `df.data` match arrays, batch by batch."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import dualflow as df
from dualflow import keras
from dualflow.keras import layers

Dataset = df.data.Dataset
RNG = np.random.default_rng(0)
X = RNG.normal(size=(50, 6)).astype("float32")
Y = (X[:, 0] > 0).astype("int64")


def made(build=False, **options):
    keras.utils.set_random_seed(11)
    model = keras.Sequential([keras.Input((6,))] * build + [layers.Dense(8, "tanh"),
                                                            layers.Dense(2)])
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True),
                  metrics=["accuracy"], **options)
    return model


def fitted(*data, model=None, **options):
    return (model or made()).fit(*data, verbose=0, **options).history


def rows(size=16):
    return Dataset.from_tensor_slices((X, Y)).batch(size)


@settings(max_examples=12)
@given(size=st.integers(1, 60), epochs=st.integers(1, 3), eager=st.booleans(),
       several=st.sampled_from([1, 2, 5]), build=st.booleans())
def test_history_matches_arrays(size, epochs, eager, several, build):
    options = {"run_eagerly": eager, "steps_per_execution": several, "build": build}
    want = fitted(X, Y, batch_size=size, shuffle=False, epochs=epochs, model=made(**options),
                  validation_data=(X, Y))
    assert fitted(rows(size), epochs=epochs, model=made(**options),
                  validation_data=rows(size)) == want


def test_evaluate_and_predict():
    model = made()
    model.fit(rows(), verbose=0)
    assert model.evaluate(rows(), verbose=0) == model.evaluate(X, Y, batch_size=16, verbose=0)
    want = model.predict(X, batch_size=16, verbose=0)
    assert np.array_equal(model.predict(rows(), verbose=0), want)
    assert np.array_equal(model.predict(rows().map(lambda x, y: x), verbose=0), want)


def test_class_weights_and_sample_weights():
    weights = {0: 1., 1: 3.}
    want = fitted(X, Y, batch_size=16, shuffle=False, class_weight=weights)
    assert fitted(rows(), class_weight=weights) == want
    each = np.where(Y == 1, 3, 1).astype("float32")
    assert fitted(Dataset.from_tensor_slices((X, Y, each)).batch(16))["loss"] == want["loss"]
    with pytest.raises(ValueError, match="weights already"):
        fitted(Dataset.from_tensor_slices((X, Y, each)).batch(16), class_weight=weights)


def test_shuffling_of_epochs():
    def shuffled():
        return Dataset.from_tensor_slices((X, Y)).shuffle(50, seed=3).batch(16)

    assert fitted(shuffled(), epochs=2) == fitted(shuffled(), epochs=2, model=made(build=True))
    epochs = [list(d.as_numpy_iterator()) for d in [shuffled()] for _ in range(2)]
    model = made()
    by_hand = [[model.train_on_batch(x, y)[0] for x, y in epoch] for epoch in epochs]
    again = []
    recorder = keras.callbacks.LambdaCallback(
        on_train_batch_end=lambda _, logs: again.append(logs["loss"]))
    fitted(shuffled(), epochs=2, callbacks=[recorder])
    assert again[0] == by_hand[0][0] and again[4] != by_hand[0][0]


def test_epochs_continue_through_an_infinite_dataset():
    endless = Dataset.from_tensor_slices((X, Y)).repeat().batch(10)
    want = fitted(X, Y, batch_size=10, shuffle=False, epochs=4)["loss"]
    assert fitted(endless, steps_per_epoch=5, epochs=4)["loss"] == want
    assert len(fitted(endless, steps_per_epoch=2, epochs=4)["loss"]) == 4


@pytest.mark.parametrize("source", [
    lambda: Dataset.from_generator(lambda: ((X[i:i + 10], Y[i:i + 10]) for i in range(0, 50, 10))),
    lambda: Dataset.from_iterable((X[i:i + 10], Y[i:i + 10]) for i in range(0, 50, 10)),
    lambda: Dataset.range(0, 50, 10).map(lambda i: (X[int(i):int(i) + 10], Y[int(i):int(i) + 10])),
])
def test_sources_of_unknown_size(source):
    want = fitted(X, Y, batch_size=10, shuffle=False)
    assert fitted(source()) == want


def test_named_inputs():
    a, b = keras.Input((6,), name="a"), keras.Input((1,), name="b")
    model = keras.Model({"a": a, "b": b}, layers.Dense(1)(layers.Concatenate()([a, b])))
    model.compile("sgd", "mse")
    weights = model.get_weights()
    given = {"a": X, "b": X[:, :1]}
    want = fitted(given, Y, batch_size=16, shuffle=False, model=model)
    model.set_weights(weights)
    assert fitted(Dataset.from_tensor_slices((given, Y)).batch(16), model=model) == want


def test_invalid_arguments_raise():
    model = made()
    for call, said in [
            (lambda: model.fit(rows().repeat(), verbose=0), "infinite Dataset"),
            (lambda: model.evaluate(rows().repeat(), verbose=0), "infinite Dataset"),
            (lambda: model.fit(rows(), Y, verbose=0), "`y` should not be passed"),
            (lambda: model.fit(rows(), sample_weight=X[:, 0], verbose=0), "`sample_weight`"),
            (lambda: model.fit(rows(), validation_split=0.2, verbose=0), "validation_split"),
            (lambda: model.fit(rows().take(0), verbose=0), "no elements")]:
        with pytest.raises(ValueError, match=said):
            call()


def test_dataset_that_ends_early_warns():
    with pytest.warns(UserWarning, match="ran out of data"):
        fitted(rows(), steps_per_epoch=10)


def test_errors_of_functions_keep_their_type():
    def broken(x, y):
        raise LookupError("row 7")

    with pytest.raises(LookupError, match="row 7"):
        fitted(rows().map(broken))


def test_dataloader():
    data = pytest.importorskip("torch.utils.data")
    torch = pytest.importorskip("torch")
    loader = data.DataLoader(data.TensorDataset(torch.from_numpy(X), torch.from_numpy(Y)), 10)
    want = fitted(X, Y, batch_size=10, shuffle=False)
    assert fitted(loader) == want
    assert fitted(Dataset.from_iterable(loader)) == want
