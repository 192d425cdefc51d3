"""Solutions of the exercises of chapter 12."""

import ch12_compiled_backward
from ch01_tensors import Tensor, interpreters, reduce_sum, relu
from ch02_tape import GRADIENTS, GradientTape, gradient
from ch03_training import loss_of, step_arguments
from ch12_compiled_backward import BackwardProgram, CompilingTape, cache, signature_of


def signature(loss, x, labels, *parameters):
    with GradientTape() as tape:
        y = loss(x, labels, *parameters)
    return signature_of(tape.records, y, parameters)[0]


def test_exercise_1_signatures():
    """Elements and the rate (after the gradient) do not count; shapes, ops and connections do."""
    x, labels, *parameters = step_arguments()
    first = signature(loss_of, x, labels, *parameters)
    assert signature(loss_of, x * 2., labels, *parameters) == first
    assert signature(loss_of, Tensor(x.data[:10]), Tensor(labels.data[:10]), *parameters) != first

    def other_activation(x, labels, w1, b1, w2, b2):
        hidden = x @ w1 + b1
        return reduce_sum((hidden / (hidden * hidden + 1.)) @ w2 + b2 - labels)

    def used_twice(x, labels, w1, b1, w2, b2):
        return loss_of(x, labels, w1, b1, w2, b2) + reduce_sum(w1)
    for loss in (other_activation, used_twice):
        assert signature(loss, x, labels, *parameters) != first


# The positions of the inputs that a rule reads, and "output"; other operands need only a shape.
SAVES = {"add": (), "subtract": (), "negative": (), "multiply": (0, 1), "divide": (1, "output"),
         "exp": ("output",), "log": (0,), "relu": (0,), "heaviside": (), "matmul": (0, 1),
         "transpose": (), "reshape": (), "reduce_sum": (), "broadcast_to": ()}


def test_exercise_2_saves():
    """Without a look at the sources, both inputs of a product are stored, also the images."""
    x, labels, *parameters = step_arguments()
    with GradientTape() as tape:
        loss = loss_of(x, labels, *parameters)
    saved = {id(record.outputs[0] if k == "output" else record.inputs[k])
             for record in tape.records for k in SAVES[record.op.name]}
    values = signature_of(tape.records, loss, parameters)[1]
    assert (len(values), len(saved)) == (19, 8)


class CarefulTape(CompilingTape):
    """Interprets if another tape or a graph records the backward pass."""

    def gradient(self, target, sources):
        if len(interpreters) > 1:
            return GradientTape.gradient(self, target, sources)
        return super().gradient(target, sources)


def test_exercise_3_second():
    cache.clear()

    def slope(x):
        with CarefulTape() as tape:
            y = x * x * x
        return tape.gradient(y, [x])[0]

    for _ in range(5):
        x = Tensor(2)
        with CarefulTape() as outer:
            y = slope(x)
        assert outer.gradient(y, [x])[0].data == 12
        assert slope(Tensor(3)).data == 27
    assert all(program is not None for _, program in cache.values())


def test_exercise_4_elements():
    """The trace fails; `None` in the cache means that the program does not exist."""
    class Tape(CompilingTape):
        def gradient(self, target, sources):
            try:
                return super().gradient(target, sources)
            except TypeError:
                return GradientTape.gradient(self, target, sources)

    cache.clear()
    before = GRADIENTS["relu"]

    @gradient("relu")
    def _(g, y, x):
        return g * Tensor(x.data > 0)

    try:
        for _ in range(ch12_compiled_backward.COMPILE_AFTER + 2):
            x = Tensor([-1, 2])
            with Tape() as tape:
                y = relu(x) * x
            assert tape.gradient(y, [x])[0].data.tolist() == [0, 4]
        assert [program for _, program in cache.values()] == [None]
    finally:
        GRADIENTS["relu"] = before
    assert BackwardProgram.run is not None
