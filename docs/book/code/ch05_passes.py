"""The code of docs/book/ch05_passes.md, from which docs/ext/book.py writes this file."""

import numpy as np
from ch01_tensors import OPS, Tensor, exp, register
from ch02_tape import CONSTANT, PARAMETER, Graph, topological_order
from ch04_tracing import text, trace


def copy(graph, operation, inputs):
    """Add a copy of an operation to a graph and return its outputs."""
    shapes = [y.shape for y in operation.outputs]
    return graph.add(operation.op, inputs, operation.attributes, shapes).outputs


def rewrite(graph, visit):
    """Return a new graph; `visit(new, operation, inputs)` returns replacements or None."""
    new, replaced = Graph(), {}
    for operation in graph.operations:
        inputs = [replaced[x] for x in operation.inputs]
        outputs = visit(new, operation, inputs)
        if outputs is None:
            outputs = copy(new, operation, inputs)
        replaced.update(zip(operation.outputs, outputs, strict=True))
    new.inputs = [replaced[x] for x in graph.inputs]
    new.outputs = [replaced[y] for y in graph.outputs]
    return new


def example(x):
    scale = Tensor(2) * Tensor(3)
    y = exp(x) * scale
    exp(x) - y                                      # the result is not used
    return y + exp(x)


FOLD_LIMIT = 64             # elements


def fold(graph):
    """Replace operations on constants by constants."""
    def visit(new, operation, inputs):
        is_known = inputs and all(x.operation.op is CONSTANT for x in inputs)
        if not is_known or any(np.prod(y.shape) > FOLD_LIMIT for y in operation.outputs):
            return None
        values = [x.operation.attributes["value"].data for x in inputs]
        result = operation.op.kernel(*values, **operation.attributes)
        return [new.as_symbol(Tensor(y)) for y in (result if isinstance(result, list)
                                                   else [result])]
    return rewrite(graph, visit)


def merge_equal(graph):
    """Replace each operation that equals an earlier one by the outputs of the earlier one."""
    seen = {}

    def visit(new, operation, inputs):
        if operation.op is PARAMETER:
            return None
        attributes = operation.attributes
        if operation.op is CONSTANT:
            attributes = {"bytes": attributes["value"].data.tobytes()}
        key = (operation.op.name, tuple(inputs), tuple(sorted(attributes.items())),
               operation.outputs[0].shape)
        if key not in seen:
            seen[key] = copy(new, operation, inputs)
        return seen[key]
    return rewrite(graph, visit)


def dead_code(graph):
    """Drop operations that no output depends on."""
    live = {*topological_order(graph.outputs), *[x.operation for x in graph.inputs]}

    def visit(new, operation, inputs):
        return None if operation in live else [None] * len(operation.outputs)
    return rewrite(graph, visit)


TILE = 1024                 # elements: a few tiles fit in the L1 cache


def run_cluster(*arrays, steps, results, shape):
    """Run the steps tile by tile; return the values with the indices `results`."""
    flat = [x.reshape(-1) if x.shape else x for x in arrays]
    outputs = [np.empty(int(np.prod(shape)), np.float32) for _ in results]
    for begin in range(0, int(np.prod(shape)), TILE):
        values = [x[begin:begin + TILE] if x.shape else x for x in flat]
        for name, operands in steps:
            values.append(OPS[name].kernel(*[values[k] for k in operands]))
        for output, k in zip(outputs, results, strict=True):
            output[begin:begin + TILE] = values[k]
    return [output.reshape(shape) for output in outputs]


register("cluster", "general", run_cluster,
         lambda *shapes, steps, results, shape: [shape] * len(results))


def fuse(graph):
    """Replace groups of elementwise operations by clusters."""
    new, replaced, groups = Graph(), {}, {}         # groups: operations by shape
    readers = {}
    for operation in graph.operations:
        for x in operation.inputs:
            readers.setdefault(x, set()).add(operation)

    def finish(shape):
        group = groups.pop(shape, [])
        outputs = [y for operation in group for y in operation.outputs
                   if y in graph.outputs or readers.get(y, set()) - set(group)]
        add_cluster(new, replaced, group, outputs)

    for operation in graph.operations:
        if operation.op.kind == "elementwise":
            groups.setdefault(operation.outputs[0].shape, []).append(operation)
            continue
        for x in operation.inputs:
            if x not in replaced:
                finish(x.shape)
        replaced.update(zip(operation.outputs, copy(
            new, operation, [replaced[x] for x in operation.inputs]), strict=True))
    for shape in list(groups):
        finish(shape)
    new.inputs = [replaced[x] for x in graph.inputs]
    new.outputs = [replaced[y] for y in graph.outputs]
    return new


def add_cluster(new, replaced, group, outputs):
    """Add the operation for a group to a graph; a group of one is copied."""
    if len(group) == 1:
        operation, = group
        replaced[operation.outputs[0]], = copy(
            new, operation, [replaced[x] for x in operation.inputs])
        return
    inside = {operation.outputs[0] for operation in group}
    inputs = list(dict.fromkeys(unrepeated(replaced[x]) for operation in group
                                for x in operation.inputs if x not in inside))
    number, steps = {x: k for k, x in enumerate(inputs)}, []
    for operation in group:
        operands = tuple(number[x if x in inside else unrepeated(replaced[x])]
                         for x in operation.inputs)
        number[operation.outputs[0]] = len(inputs) + len(steps)
        steps.append((operation.op.name, operands))
    if outputs:
        attributes = {"steps": tuple(steps), "results": tuple(number[y] for y in outputs),
                      "shape": outputs[0].shape}
        cluster = new.add(OPS["cluster"], inputs, attributes, [y.shape for y in outputs])
        replaced.update(zip(outputs, cluster.outputs, strict=True))


def unrepeated(x):
    """Return the scalar that a broadcast repeats, or x."""
    is_repeated = x.operation.op.name == "broadcast_to" and x.operation.inputs[0].shape == ()
    return x.operation.inputs[0] if is_repeated else x


PASSES = [fold, merge_equal, dead_code, fuse, dead_code]


def check(graph):
    """Raise an AssertionError if a graph violates a rule."""
    defined = set()
    for operation in graph.operations:
        assert all(x in defined for x in operation.inputs), f"{operation.op.name}: order"
        assert all(y.operation is operation for y in operation.outputs)
        if operation.op.kind != "leaf":
            assert [y.shape for y in operation.outputs] == operation.output_shapes()
        defined.update(operation.outputs)
    assert all(x in defined for x in [*graph.inputs, *graph.outputs])
    assert all(x.operation.op is PARAMETER for x in graph.inputs)


def optimize(graph):
    """Return the graph after all passes."""
    for run in PASSES:
        graph = run(graph)
        check(graph)
    return graph


if __name__ == "__main__":
    print(text(optimize(trace(example, [Tensor([1, 2])]))))
