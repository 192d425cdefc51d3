"""Solutions of the exercises of chapter 11."""

import numpy as np
from ch01_tensors import OPS, Tensor, apply, reduce_sum, register, reshape
from ch02_tape import GRADIENTS, GradientTape, gradient
from ch03_training import RATE, loss_of, step_arguments
from ch11_vmap import BATCHING, batching, grad, hessian, jvp, vmap


def f(x):
    return reduce_sum(x * x * x) + reduce_sum(x) * reduce_sum(x)


def test_exercise_1_products():
    """Reverse over reverse runs one pass more than the gradient, jvp two."""
    x, v = Tensor([1, 2, 3]), Tensor([1, -1, 2])
    expected = hessian(f)(x).data @ v.data
    counts = []
    for product in (lambda: grad(lambda x: reduce_sum(grad(f)(x) * v))(x),
                    lambda: jvp(grad(f), x, v)):
        with GradientTape() as tape:
            y = product()
        assert np.allclose(y.data, expected)
        counts.append(len(tape.records))
    assert counts[0] < counts[1]


def permute(x, order):
    return apply("permute", x, order=tuple(order))


def test_exercise_2_permute():
    register("permute", "general", lambda x, order: x.transpose(order).copy(),
             lambda x, order: [tuple(x[k] for k in order)])

    @gradient("permute")
    def _(g, y, x, order):
        return permute(g, np.argsort(order).tolist())

    @batching("permute")
    def _(op, inputs, batched, order):
        return permute(inputs[0], (0, *[k + 1 for k in order]))

    @batching("transpose")
    def _(op, inputs, batched):
        x, = inputs
        return permute(x, (0, *reversed(range(1, len(x.shape)))))

    try:
        x = Tensor(np.arange(24).reshape(2, 3, 4))
        y = vmap(lambda x: apply("transpose", x) * 2.)(x)
        assert y.data.tolist() == (2 * x.data.transpose(0, 2, 1)).tolist()
        g = grad(lambda x: reduce_sum(permute(x, (2, 0, 1)) * permute(x, (2, 0, 1))))(x)
        assert g.data.tolist() == (2 * x.data).tolist()
    finally:
        del OPS["permute"], GRADIENTS["permute"], BATCHING["permute"], BATCHING["transpose"]


def test_exercise_3_nested():
    a, b = Tensor([1, 2, 3]), Tensor([10, 20])
    table = vmap(vmap(lambda x, y: x * y, in_axes=(None, 0)), in_axes=(0, None))(a, b)
    assert table.data.tolist() == [[10, 20], [20, 40], [30, 60]]


def clipped_step(x, labels, *parameters):
    """Return new parameters: p - rate * mean of g / max(1, |g|), over the examples."""
    found = []
    for k, p in enumerate(parameters):
        def loss_of_one(p, x, labels, k=k):
            given = [*parameters[:k], p, *parameters[k + 1:]]
            return loss_of(reshape(x, (1, 56)), reshape(labels, (1, 10)), *given)

        gs = vmap(grad(loss_of_one), in_axes=(None, 0, 0))(p, x, labels)
        norms = np.sqrt((gs.data ** 2).reshape(len(gs.data), -1).sum(1))
        scale = Tensor(1 / np.maximum(norms, 1)).data.reshape(-1, *[1] * len(p.shape))
        found.append(p - RATE * reduce_sum(gs * Tensor(scale), axis=0) / float(len(gs.data)))
    return found


def test_exercise_4_clipping():
    """(Here the norm is that of each parameter; `vmap` of a function that returns the gradients of
    all parameters gives the norm over all of them.)"""
    x, labels, *parameters = step_arguments(hidden=4)
    before = float(loss_of(x, labels, *parameters).data)
    for _ in range(5):
        parameters = clipped_step(x, labels, *parameters)
    assert float(loss_of(x, labels, *parameters).data) < before
