"""Solutions of the exercises of chapter 3."""

from collections import Counter

import numpy as np
from ch01_tensors import Tensor, exp, log, network, reduce_sum, reshape
from ch02_tape import GradientTape, gradients
from ch03_training import (
    RATE,
    batches,
    generate,
    initial_parameters,
    loss_of,
    one_hot,
    step,
    train,
)


def cross_entropy(z, labels):
    """Return the mean of log(sum(exp(z))) - z[label]; a one-hot row selects z[label]."""
    total = log(reduce_sum(exp(z), axis=1)) - reduce_sum(z * labels, axis=1)
    return reduce_sum(total) / float(z.shape[0])


def test_exercise_1_cross_entropy():
    """The gradient is (softmax(z) - labels) / n."""
    rng = np.random.default_rng(0)
    z, labels = Tensor(rng.normal(size=(5, 10))), Tensor(one_hot(rng.integers(0, 10, 5)))
    g, = gradients(lambda z: cross_entropy(z, labels), z)
    y = exp(z)
    softmax = y / reshape(reduce_sum(y, axis=1), (5, 1))
    assert np.allclose(g.data, (softmax - labels).data / 5, atol=1e-6)

    def with_cross_entropy(x, labels, *parameters):
        with GradientTape() as tape:
            loss = cross_entropy(network(x, *parameters), labels)
        gs = tape.gradient(loss, parameters)
        return [loss, *[p - 0.5 * g for p, g in zip(parameters, gs, strict=True)]]

    assert train(*generate(1000), step=with_cross_entropy)[1][-1] > 0.95


def momentum_step(x, labels, *state):
    """`state`: the parameters, then a velocity for each."""
    parameters, velocities = state[:len(state) // 2], state[len(state) // 2:]
    with GradientTape() as tape:
        loss = loss_of(x, labels, *parameters)
    gs = tape.gradient(loss, parameters)
    velocities = [0.9 * v + g for v, g in zip(velocities, gs, strict=True)]
    return [loss, *[p - RATE * v for p, v in zip(parameters, velocities, strict=True)],
            *velocities]


def test_exercise_2_momentum():
    images, labels = generate(400)
    x, y = next(batches(images, labels, 100, np.random.default_rng(0)))
    start = initial_parameters(56, 16)
    state = [*start, *[Tensor(np.zeros(p.shape)) for p in start]]
    losses = []
    for _ in range(20):
        loss, *state = momentum_step(x, y, *state)
        losses.append(float(loss.data))
    first = step(x, y, *start)
    second = momentum_step(x, y, *start, *[Tensor(np.zeros(p.shape)) for p in start])
    for p, q in zip(first, second[:5], strict=True):        # the first velocity is the gradient
        assert p.data.tobytes() == q.data.tobytes()
    assert losses[-1] < losses[0] / 2


def test_exercise_3_seeds():
    """With equal seeds all parameters are bit-identical; with another order none."""
    data = generate(200)
    first, second, third = [train(*data, epochs=1, seed=seed)[0] for seed in (0, 0, 1)]
    assert all(p.data.tobytes() == q.data.tobytes() for p, q in zip(first, second, strict=True))
    assert not any(p.data.tobytes() == q.data.tobytes() for p, q in zip(first, third, strict=True))


def test_exercise_4_operations():
    """The sums along axis 0 that undo the broadcasts of the two biases."""
    images, labels = generate(20)
    parameters = initial_parameters(56, 16)
    x, y = Tensor(images), Tensor(one_hot(labels))
    with GradientTape() as tape:
        loss = loss_of(x, y, *parameters)
        forward = len(tape.records)
        tape.gradient(loss, parameters)
    names = Counter(operation.op.name for operation in tape.records[forward:])
    assert (forward, sum(names.values())) == (12, 18)
    assert names["reduce_sum"] == 2
