"""Keras's optimizers, losses and metrics in training steps over variables of dualflow."""

import numpy as np
import pytest

import dualflow as df
import dualflow.keras as keras

RNG = np.random.default_rng(0)
X = df.constant(RNG.normal(size=(8, 3)).astype("f4"))
Y = df.constant(RNG.normal(size=(8, 2)).astype("f4"))
W, B = RNG.normal(size=(3, 2)).astype("f4"), np.zeros(2, "f4")

OPTIMIZERS = {
    "SGD": lambda: keras.optimizers.SGD(0.1),
    "momentum": lambda: keras.optimizers.SGD(0.1, momentum=0.9, nesterov=True),
    "Adam": lambda: keras.optimizers.Adam(0.1), "AdamW": lambda: keras.optimizers.AdamW(0.1),
    "amsgrad": lambda: keras.optimizers.Adam(0.1, amsgrad=True),
    "RMSprop": lambda: keras.optimizers.RMSprop(0.1, momentum=0.5, centered=True),
    "Adagrad": lambda: keras.optimizers.Adagrad(0.1),
    "Nadam": lambda: keras.optimizers.Nadam(0.1), "Lion": lambda: keras.optimizers.Lion(0.1),
    "Adamax": lambda: keras.optimizers.Adamax(0.1), "Ftrl": lambda: keras.optimizers.Ftrl(0.1),
    "Adadelta": lambda: keras.optimizers.Adadelta(0.1),
    "Adafactor": lambda: keras.optimizers.Adafactor(0.1),
    "Lamb": lambda: keras.optimizers.Lamb(0.1),
    "clipped": lambda: keras.optimizers.Adam(0.1, global_clipnorm=0.5),
    "decay": lambda: keras.optimizers.SGD(0.1, weight_decay=0.01),
    "average": lambda: keras.optimizers.SGD(0.1, use_ema=True, ema_overwrite_frequency=2),
    "accumulated": lambda: keras.optimizers.SGD(0.1, gradient_accumulation_steps=2),
    "schedule": lambda: keras.optimizers.Adam(keras.optimizers.schedules.CosineDecay(0.1, 5)),
}


def step(weights, x, y, optimizer, apply="apply_gradients"):
    w, b = weights
    with df.GradientTape() as tape:
        loss = keras.losses.MeanSquaredError()(y, x @ w + b)
    gradients = tape.gradient(loss, [w, b])
    if apply == "apply":
        optimizer.apply(gradients, [w, b])
    else:
        optimizer.apply_gradients(zip(gradients, [w, b], strict=True))
    return loss


def keras_weights():
    return [keras.Variable(W, name="w"), keras.Variable(B, name="b")]


def plain_weights():
    return [df.Variable(W, name="w"), df.Variable(B, name="b")]


def trained(make, weights, step):
    """Return the bits of losses and weights after three steps."""
    optimizer, losses = make(), []
    for _ in range(3):
        losses.append(step(weights, X, Y, optimizer))
    return [np.asarray(x).tobytes() for x in [*losses, *weights]]


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_optimizers_update_plain_variables(name):
    make = OPTIMIZERS[name]
    expected = trained(make, keras_weights(), step)
    assert trained(make, plain_weights(), step) == expected

    weights, optimizer = plain_weights(), make()
    closed = df.function(lambda x, y: step(weights, x, y, optimizer, "apply"))
    losses = [closed(X, Y) for _ in range(3)]
    assert [np.asarray(x).tobytes() for x in [*losses, *weights]] == expected


@pytest.mark.parametrize("name", ["SGD", "Adam", "Nadam", "schedule"])
def test_variables_and_optimizer_are_arguments(name):
    make = OPTIMIZERS[name]
    expected = trained(make, keras_weights(), step)
    assert trained(make, plain_weights(), df.function(step)) == expected

    @df.function
    def of_flat(w, b, x, y, optimizer):
        return step([w, b], x, y, optimizer)

    assert trained(make, plain_weights(), lambda v, *rest: of_flat(*v, *rest)) == expected


def test_each_optimizer_has_its_trace():
    weights = plain_weights()
    traced = df.function(step)
    first, second = keras.optimizers.SGD(0.1), keras.optimizers.SGD(0.5)
    first.build(weights)
    second.build(weights)
    for optimizer, rate in ((first, 0.1), (second, 0.5), (first, 0.1)):
        before = weights[0].numpy().copy()
        with df.GradientTape() as tape:
            loss = keras.losses.MeanSquaredError()(Y, X @ weights[0] + weights[1])
        gradient = tape.gradient(loss, weights[0])
        traced(weights, X, Y, optimizer)
        np.testing.assert_allclose(weights[0].numpy(), before - rate * gradient.numpy(), rtol=1e-5)
    assert int(first.iterations) == 2 and int(second.iterations) == 1


def test_the_first_call_may_build_one_optimizer_only():
    weights, traced = plain_weights(), df.function(step)
    traced(weights, X, Y, keras.optimizers.Adam(0.1))
    with pytest.raises(ValueError, match=r"by build\(\)"):
        traced(weights, X, Y, keras.optimizers.Adam(0.1))


def test_models_losses_and_metrics_are_arguments():
    keras.utils.set_random_seed(0)
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2)])
    scale, optimizer = df.Variable(1.0), keras.optimizers.Adam(0.1)
    optimizer.build([*model.trainable_variables, scale])
    metric, loss = keras.metrics.MeanAbsoluteError(), keras.losses.MeanSquaredError()
    start = [v.numpy() for v in [*model.variables, scale]]

    def train(model, optimizer, loss, metric, x, y):
        weights = [*model.trainable_variables, scale]
        with df.GradientTape() as tape:
            prediction = model(x, training=True) * scale
            value = loss(y, prediction)
        optimizer.apply_gradients(zip(tape.gradient(value, weights), weights, strict=True))
        metric.update_state(y, prediction)
        return value

    results = []
    for function in (train, df.function(train)):
        for v, x in zip([*model.variables, scale], start, strict=True):
            v.assign(x)
        for v in optimizer.variables[2:]:
            v.assign(np.zeros(v.shape))
        optimizer.iterations.assign(0)
        metric.reset_state()
        values = [function(model, optimizer, loss, metric, X, Y) for _ in range(4)]
        values += [metric.result(), scale, *model.variables, *optimizer.variables]
        results.append([np.asarray(x).tobytes() for x in values])
    assert results[0] == results[1]


def test_rows_of_a_plain_table():
    ids = df.constant([1, 3, 1])
    expected = None
    for make in (keras.Variable, df.Variable):
        table, optimizer = make(np.ones((5, 2), "f4"), name="t"), keras.optimizers.Adam(0.1)

        @df.function
        def update(table=table, optimizer=optimizer):
            with df.GradientTape() as tape:
                loss = df.reduce_sum(df.gather(df.convert_to_tensor(table), ids) ** 2)
            optimizer.apply([tape.gradient(loss, table)], [table])
            return loss

        values = [float(update()) for _ in range(3)]
        assert expected is None or values == expected
        expected = values
