"""The code of docs/book/ch11_vmap.md, from which docs/ext/book.py writes this file."""

import numpy as np
from ch01_tensors import Tensor, apply, as_tensor, broadcast_to, exp, matmul, reduce_sum, reshape
from ch02_tape import CONSTANT, PARAMETER, GradientTape, gradients, propagate
from ch10_control_flow import scan, trace_body


def grad(function):
    """Return the function that computes the gradient with respect to the first argument."""
    def derivative(x, *others):
        x = as_tensor(x)
        with GradientTape() as tape:
            y = function(x, *others)
        return tape.gradient(y, [x])[0]
    return derivative


def vjp(function, *inputs):
    """Return the output and its pullback: from a cotangent to the cotangents of the inputs."""
    inputs = [as_tensor(x) for x in inputs]
    with GradientTape() as tape:
        y = function(*inputs)
    return y, lambda g: propagate(tape.records, {id(y): g}, inputs)


def jvp(function, x, direction):
    """Return the derivative of the output along a direction: J v."""
    y, pullback = vjp(function, x)
    g = Tensor(np.zeros(y.shape))
    with GradientTape() as tape:
        h, = pullback(g)
    return propagate(tape.records, {id(h): as_tensor(direction)}, [g])[0]


BATCHING = {}               # batching rules by the name of the op


def batching(*names):
    """Register the decorated function as the batching rule of some ops."""
    def decorator(rule):
        BATCHING.update(dict.fromkeys(names, rule))
        return rule
    return decorator


def batch_size(inputs, batched):
    return next(x.shape[0] for x, is_batched in zip(inputs, batched, strict=True) if is_batched)


@batching("reduce_sum")
def _(op, inputs, batched, axis):
    return reduce_sum(inputs[0], axis + 1)


@batching("reshape")
def _(op, inputs, batched, shape):
    return reshape(inputs[0], (inputs[0].shape[0], *shape))


@batching("broadcast_to")
def _(op, inputs, batched, shape):
    x, = inputs
    ones = (1,) * (len(shape) - len(x.shape) + 1)
    return broadcast_to(reshape(x, (x.shape[0], *ones, *x.shape[1:])), (x.shape[0], *shape))


@batching("matmul")
def _(op, inputs, batched):
    if batched[1]:
        return one_by_one(op, inputs, batched)
    a, b = inputs
    n, m, k = a.shape
    return reshape(matmul(reshape(a, (n * m, k)), b), (n, m, b.shape[1]))


def one_by_one(op, inputs, batched, **attributes):
    """Apply an op to one example after the other."""
    def one(*rows):
        rows = iter(rows)
        given = [next(rows) if is_batched else x
                 for x, is_batched in zip(inputs, batched, strict=True)]
        y = apply(op.name, *given, **attributes)
        return y if isinstance(y, list) else [y]

    _, stacks = scan(one, [], [x for x, is_batched in zip(inputs, batched, strict=True)
                               if is_batched])
    return stacks if len(stacks) > 1 else stacks[0]


def apply_to_batch(operation, inputs, batched):
    """Apply an operation that was traced for one example to batched inputs."""
    op, attributes = operation.op, operation.attributes
    if op.kind == "elementwise":
        return apply(op.name, *inputs)
    return BATCHING.get(op.name, one_by_one)(op, inputs, batched, **attributes)


def vmap(function, in_axes=None):
    """Return the function of batches. `in_axes` has 0 for each batched argument, else None."""
    def of_batch(*arguments):
        arguments = [as_tensor(x) for x in arguments]
        axes = in_axes or [0] * len(arguments)
        body = trace_body(function, [x.shape[1:] if axis == 0 else x.shape
                                     for x, axis in zip(arguments, axes, strict=True)])
        values = {x: (argument, axis == 0) for x, argument, axis in
                  zip(body.inputs, arguments, axes, strict=False)}
        values |= {parameter: (x, False) for x, parameter in body.captured.items()}
        for operation in body.operations:
            if operation.op is CONSTANT:
                values[operation.outputs[0]] = operation.attributes["value"], False
            elif operation.op is not PARAMETER:
                pairs = [values[x] for x in operation.inputs]
                inputs, batched = [x for x, _ in pairs], [b for _, b in pairs]
                y = (apply_to_batch(operation, inputs, batched) if any(batched) else
                     apply(operation.op.name, *inputs, **operation.attributes))
                ys = y if isinstance(y, list) else [y]
                values.update((out, (value, any(batched)))
                              for out, value in zip(operation.outputs, ys, strict=True))
        n = batch_size(arguments, [axis == 0 for axis in axes])
        results = [y if is_batched else broadcast_to(y, (n, *y.shape))
                   for y, is_batched in map(values.get, body.outputs)]
        return results[0] if len(results) == 1 else results
    return of_batch


def jacobian(function):
    """Return the function that computes the m by n matrix of derivatives."""
    def derivative(x):
        y, pullback = vjp(function, x)
        return vmap(lambda g: pullback(g)[0])(Tensor(np.eye(y.shape[0])))
    return derivative


def hessian(function):
    return jacobian(grad(function))


if __name__ == "__main__":
    x = Tensor([1., 2., 3.])
    print("Jacobian:", jacobian(lambda x: x * x)(x))
    print("Hessian:", hessian(lambda x: reduce_sum(x * x * x) + exp(reduce_sum(x) / 10.))(x))
    print("gradients:", vmap(lambda a, b: gradients(lambda a, b: a * a * b, a, b))(x, x))
