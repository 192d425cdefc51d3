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


def run_cluster(*arrays, steps, shape):
    """Run the steps tile by tile; return the value of the last step."""
    flat = [x.reshape(-1) if x.shape else x for x in arrays]
    output = np.empty(int(np.prod(shape)), np.float32)
    for begin in range(0, output.size, TILE):
        values = [x[begin:begin + TILE] if x.shape else x for x in flat]
        for name, *operands in steps:
            values.append(OPS[name].kernel(*[values[k] for k in operands]))
        output[begin:begin + TILE] = values[-1]
    return output.reshape(shape)


register("cluster", "general", run_cluster, lambda *shapes, steps, shape: [shape])


def fuse(graph):
    """Add one cluster for each elementwise value that must be in memory."""
    in_memory = {*graph.outputs, *[x for operation in graph.operations for x in operation.inputs
                                   if operation.op.kind != "elementwise"]}
    inside = {}                 # by value: the steps that compute it in a cluster

    def visit(new, operation, inputs):
        if operation.op.kind != "elementwise":
            return None
        y, = operation.outputs
        steps = inside[y] = {value: s for x in inputs for value, s in inside.get(x, {}).items()}
        steps[y] = (operation.op.name, *map(unrepeated, inputs))
        if y not in in_memory:
            return [y]                                  # only clusters read this value
        if len(steps) == 1:
            return None
        read = dict.fromkeys(x for _, *xs in steps.values() for x in xs if x not in steps)
        number = {x: k for k, x in enumerate([*read, *steps])}
        numbered = tuple((name, *[number[x] for x in xs]) for name, *xs in steps.values())
        attributes = {"steps": numbered, "shape": y.shape}
        return new.add(OPS["cluster"], [*read], attributes, [y.shape]).outputs
    return rewrite(graph, visit)


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
