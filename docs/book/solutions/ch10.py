"""Solutions of the exercises of chapter 10."""

import numpy as np
from ch01_tensors import Tensor, reduce_sum, relu
from ch02_tape import Graph, gradients
from ch04_tracing import run_in_session, trace
from ch05_passes import check, dead_code, optimize, rewrite
from ch10_control_flow import loop, scan, while_loop


def optimize_bodies(graph):
    """Optimise the bodies of all operations, bodies inside of bodies first."""
    def optimized(value):
        if isinstance(value, Graph):
            return optimize(optimize_bodies(value))
        return tuple(map(optimized, value)) if isinstance(value, tuple) else value

    def visit(new, operation, inputs):
        attributes = {key: optimized(value) for key, value in operation.attributes.items()}
        shapes = [y.shape for y in operation.outputs]
        return new.add(operation.op, inputs, attributes, shapes).outputs
    return rewrite(graph, visit)


def steps_of(graph):
    return [operation.attributes["step"] for operation in graph.operations
            if operation.op.name == "loop"]


def test_exercise_1_bodies():
    def f(x):
        return loop(lambda y: [relu(y * 2. - 1.) + relu(y * 2. - 1.)], [x], limit=3)[1][0]

    x = Tensor([0.5, 2, 3])
    graph = trace(f, [x])
    after = optimize_bodies(graph)
    check(after)
    assert len(steps_of(after)[0].operations) < len(steps_of(graph)[0].operations)
    before, after = (run_in_session(graph)(x)[0] for graph in (graph, after))
    assert before.data.tobytes() == after.data.tobytes()


def drop_stacks(graph):
    """Drop the stacks of loops that no operation and no output of the graph reads."""
    read = {x for operation in graph.operations for x in operation.inputs} | {*graph.outputs}

    def visit(new, operation, inputs):
        if operation.op.name != "loop":
            return None
        attributes = dict(operation.attributes)
        first, step = 1 + attributes["n_carried"], attributes["step"]
        kept = [k for k, y in enumerate(operation.outputs) if k < first or y in read]
        body = rewrite(step, lambda new, operation, inputs: None)
        body.outputs = [y for k, y in enumerate(body.outputs, 1) if k in kept]
        attributes["step"] = dead_code(body)
        outputs = new.add(operation.op, inputs, attributes,
                          [operation.outputs[k].shape for k in kept]).outputs
        found = dict(zip(kept, outputs, strict=True))
        return [found.get(k) for k in range(len(operation.outputs))]
    return rewrite(graph, visit)


def test_exercise_2_stacks():
    def root(x):
        return while_loop(lambda y: (y * y - x) * (y * y - x) - 1e-8,
                          lambda y: [(y + x / y) / 2.], [x], limit=30)[0]

    graph = trace(root, [Tensor(2)])
    after = drop_stacks(graph)
    check(after)
    assert len(steps_of(graph)[0].outputs) == 2 and len(steps_of(after)[0].outputs) == 1
    assert run_in_session(after)(Tensor(2))[0].data == run_in_session(graph)(Tensor(2))[0].data


def test_exercise_3_nested():
    """The outer loop stacks the carries of every tenth iteration. Its transpose replays an inner
    loop of ten iterations, which stacks its carries again: ten at a time."""
    def step(y, x):
        return y * 0.99 + x / (y + 1.)

    def flat(x):
        return loop(lambda y: [step(y, x)], [x], limit=100)[1][0]

    def nested(x):
        return loop(lambda y: loop(lambda z: [step(z, x)], [y], limit=10)[1], [x],
                    limit=10)[1][0]

    x = Tensor([1.5, 2.5])
    assert flat(x).data.tobytes() == nested(x).data.tobytes()
    assert np.allclose(gradients(flat, x)[0].data, gradients(nested, x)[0].data, rtol=1e-5)

    def largest(f):
        shapes = [y.shape for operation in trace(f, [x]).operations for y in operation.outputs]
        return max(int(np.prod(shape)) for shape in shapes)
    assert (largest(flat), largest(nested)) == (200, 20)


def test_exercise_4_bits():
    """The accumulator of the weights continues through the iterations, so each addition is the
    same: acc + g1, then acc + g2."""
    rng = np.random.default_rng(1)
    xs, w, h = (Tensor(rng.normal(size=shape)) for shape in ((6, 2, 3), (3, 3), (2, 3)))

    def by_scan(w):
        (state,), _ = scan(lambda h, x: [(h @ w) * 0.5 + x @ w], [h], [xs])
        return reduce_sum(state)

    def in_python(w):
        state = h
        for x in xs.data:
            state = (state @ w) * 0.5 + Tensor(x) @ w
        return reduce_sum(state)
    assert gradients(by_scan, w)[0].data.tobytes() == gradients(in_python, w)[0].data.tobytes()
