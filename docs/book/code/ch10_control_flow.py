"""The code of docs/book/ch10_control_flow.md, from which docs/ext/book.py writes this file."""

import numpy as np
from ch01_tensors import OPS, Tensor, apply, as_tensor, broadcast_to, register
from ch02_tape import (
    CONSTANT,
    PARAMETER,
    GradientTape,
    Graph,
    Symbol,
    accumulate,
    gradient,
    gradients,
    propagate,
)


class Body(Graph):
    """The graph of a branch or an iteration. Values from outside become parameters."""

    def __init__(self):
        super().__init__()
        self.captured, self.own = {}, set()         # parameters by outside value; operations

    def __repr__(self):
        return f"<body of {len(self.operations)} operations>"

    def add(self, *arguments):
        operation = super().add(*arguments)
        self.own.add(operation)
        return operation

    def as_symbol(self, x):
        if isinstance(x, Symbol) and x.operation in self.own:
            return x
        if x not in self.captured:
            self.captured[x] = self.parameter(x.shape)
        return self.captured[x]


def trace_body(function, shapes):
    """Return the body of a function of tensors with some shapes."""
    with Body() as body:
        outputs = function(*[body.parameter(shape) for shape in shapes])
        outputs = outputs if isinstance(outputs, (list, tuple)) else [outputs]
        body.outputs = [body.as_symbol(as_tensor(y)) for y in outputs]
    return body


def bind(*bodies):
    """Give all bodies parameters for the values that any of them captures; return the values."""
    values = list(dict.fromkeys(x for body in bodies for x in body.captured))
    for body in bodies:
        n = len(body.inputs) - len(body.captured)
        own = [x for x in body.inputs if x not in body.captured.values()]
        assert len(own) == n
        body.inputs = own + [body.captured.get(x) or body.parameter(x.shape) for x in values]
    return values


def evaluate(graph, arrays):
    """Return the outputs of a graph for arrays, as arrays."""
    values = dict(zip(graph.inputs, arrays, strict=True))
    for operation in graph.operations:
        if operation.op is CONSTANT:
            values[operation.outputs[0]] = operation.attributes["value"].data
        elif operation.op is not PARAMETER:
            results = operation.op.kernel(*[values[x] for x in operation.inputs],
                                          **operation.attributes)
            results = results if isinstance(results, list) else [results]
            values.update(zip(operation.outputs, results, strict=True))
    return [values[y] for y in graph.outputs]


def cond(predicate, true_fn, false_fn):
    """Return true_fn() if the predicate is positive, otherwise false_fn()."""
    bodies = tuple(trace_body(function, []) for function in (true_fn, false_fn))
    return apply("cond", predicate, *bind(*bodies), bodies=bodies)


def cond_shapes(predicate, *inputs, bodies):
    shapes = [[y.shape for y in body.outputs] for body in bodies]
    assert shapes[0] == shapes[1], f"cond: the branches return {shapes[0]} and {shapes[1]}"
    return shapes[0]


register("cond", "general",
         lambda predicate, *inputs, bodies: evaluate(bodies[0 if predicate > 0 else 1], inputs),
         cond_shapes)


def replay(graph, inputs):
    """Apply the operations of a graph to tensors; return the outputs."""
    values = dict(zip(graph.inputs, inputs, strict=True))
    for operation in graph.operations:
        if operation.op is CONSTANT:
            values[operation.outputs[0]] = operation.attributes["value"]
        elif operation.op is not PARAMETER:
            y = apply(operation.op.name, *[values[x] for x in operation.inputs],
                      **operation.attributes)
            values.update(zip(operation.outputs, y if isinstance(y, list) else [y], strict=True))
    return [values[y] for y in graph.outputs]


def zeros_like(x):
    return broadcast_to(0., x.shape)


def or_zeros(gs, xs):
    return [zeros_like(x) if g is None else g for g, x in zip(gs, xs, strict=True)]


def pull_back(graph, inputs, cotangents, sums=()):
    """Return the cotangents of the inputs of a graph for cotangents of its outputs. `sums` are
    pairs of an input and an accumulator, to which the result is added."""
    with GradientTape() as tape:
        outputs = replay(graph, inputs)
    accumulators = {id(x): total for x, total in sums}
    for y, g in zip(outputs, cotangents, strict=True):
        accumulate(accumulators, y, g)
    return or_zeros(propagate(tape.records, accumulators, inputs), inputs)


@gradient("cond")
def _(gs, ys, predicate, *inputs, bodies):
    single = not isinstance(ys, list)               # an op with one output gets no lists
    gs, ys = ([gs], [ys]) if single else (gs, ys)
    gs = or_zeros(gs, ys)
    back = [lambda body=body: pull_back(body, inputs, gs) for body in bodies]
    found = cond(predicate, *back)
    return [None, *(found if isinstance(found, list) else [found])]


def run_loop(count, *inputs, step, test, limit, n_carried, n_rows, reverse):
    """The kernel: up to `count` iterations. Returns the trip count, carries and stacks."""
    carries, rows = list(inputs[:n_carried]), inputs[n_carried:n_carried + n_rows]
    captured, trips = inputs[n_carried + n_rows:], 0
    stacks = [np.zeros((limit, *y.shape), np.float32) for y in step.outputs[n_carried:]]
    while trips < int(count) and (
            test is None or evaluate(test, [*carries, *captured])[0] > 0):
        k = int(count) - 1 - trips if reverse else trips
        outputs = evaluate(step, [*carries, *[x[k] for x in rows], *captured])
        carries = outputs[:n_carried]
        for stack, row in zip(stacks, outputs[n_carried:], strict=True):
            stack[k] = row
        trips += 1
    return [np.array(trips, np.float32), *carries, *stacks]


def loop_shapes(count, *inputs, step, test, limit, n_carried, n_rows, reverse):
    before, after = inputs[:n_carried], tuple(y.shape for y in step.outputs[:n_carried])
    assert before == after, f"loop: carries of shapes {before} become {after}"
    return [(), *after, *[(limit, *y.shape) for y in step.outputs[n_carried:]]]


register("loop", "general", run_loop, loop_shapes)


def loop(step, carries, rows=(), count=None, test=None, limit=None, reverse=False):
    """Return the trip count, the list of final carries, the list of stacks, and the residuals.

    `step(*carries, *rows)` returns the next carries, followed by values to be stacked.
    """
    carries, rows, n = [as_tensor(x) for x in carries], list(rows), len(carries)
    limit = rows[0].shape[0] if rows else limit
    shapes = [*[x.shape for x in carries], *[x.shape[1:] for x in rows]]

    def with_residuals(*inputs):
        return [*step(*inputs), *inputs[:n]]

    bodies = [trace_body(with_residuals, shapes)]
    if test is not None:
        bodies.append(trace_body(test, shapes[:n]))
    captured = bind(*bodies)
    outputs = apply("loop", float(limit) if count is None else count, *carries, *rows, *captured,
                    step=bodies[0], test=bodies[1] if test else None, limit=limit, n_carried=n,
                    n_rows=len(rows), reverse=reverse)
    last = len(outputs) - n
    return outputs[0], outputs[1:1 + n], outputs[1 + n:last], outputs[last:]


def while_loop(test, step, carries, limit):
    """Return the carries after the last iteration: `test(*carries)` is not positive then."""
    return loop(step, carries, test=test, limit=limit)[1]


def scan(step, carries, rows):
    """Return the final carries, and the stacks; `step(*carries, *rows)` returns both."""
    return loop(step, carries, rows)[1:3]


@gradient("loop")
def _(gs, ys, count, *inputs, step, test, limit, n_carried, n_rows, reverse):
    n, gs = n_carried, or_zeros(gs, ys)
    rows, captured = inputs[n:n + n_rows], inputs[n + n_rows:]
    n_sums = len(captured)

    def back(*values):
        """From cotangents after an iteration to cotangents before it."""
        g_carries, sums, values = values[:n], values[n:n + n_sums], values[n + n_sums:]
        starts, row, g_stacked = values[:n], values[n:n + n_rows], values[n + n_rows:]
        found = pull_back(step, [*starts, *row, *captured], [*g_carries, *g_stacked],
                          zip(captured, sums, strict=True))
        return [*found[:n], *found[n + n_rows:], *found[n:n + n_rows]]

    _, carries, stacks, _ = loop(
        back, [*gs[1:1 + n], *[zeros_like(x) for x in captured]],
        [*ys[len(ys) - n:], *rows, *gs[1 + n:]], count=ys[0], limit=limit, reverse=not reverse)
    return [None, *carries[:n], *stacks, *carries[n:]]


def python_root(x, n=4):
    """Newton's method as a loop of Python, which a tape records iteration by iteration."""
    y = x
    for _ in range(n):
        y = (y + x / y) / 2.
    return y


def root(x, n=4):
    """Newton's method as one operation."""
    return loop(lambda y: [(y + x / y) / 2.], [x], limit=n)[1][0]


if __name__ == "__main__":
    for x in (2., 9.):
        print(f"root({x}):", root(Tensor(x)), "derivative:", gradients(root, Tensor(x))[0])
    print("ops with bodies:", [op.name for op in OPS.values() if op.name in ("cond", "loop")])
