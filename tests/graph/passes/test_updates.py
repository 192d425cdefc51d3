"""Updates of variables move to just after their last dependency."""

import dualflow as df
from dualflow.graph import ir
from dualflow.graph.passes import updates
from dualflow.graph.passes.options import Options
from dualflow.graph.trace.trace import Trace


def names(graph):
    return [node.op.name for node in graph.nodes if node.op not in ir.LEAVES]


def test_update_follows_its_input_and_the_last_reader():
    v = df.Variable([1., 2.])
    t = Trace("f")
    with t.recording():
        x = t.parameter(0, "x", df.float32, (2,), (2,))
        g = df.exp(x)
        y = df.sqrt(v)              # reads the version to be overwritten
        z = df.tanh(x)
        v.assign_sub(g)
        t.outputs = [y, z]
    graph = updates.run(ir.copy(t), Options())
    ir.check(graph)
    assert names(graph) == ["exp", "sqrt", "assign_sub", "tanh"]


def test_update_follows_readers_of_views():
    v = df.Variable([1., 2.])
    t = Trace("f")
    with t.recording():
        x = t.parameter(0, "x", df.float32, (2, 1), (2, 1))
        y = df.reshape(v, [2, 1])
        z = df.tanh(x)
        w = y + z
        v.assign([3., 4.])
        t.outputs = [w, df.exp(x)]
    graph = updates.run(ir.copy(t), Options())
    ir.check(graph)
    order = names(graph)
    assert order.index("assign") == order.index("add") + 1


def test_update_is_not_moved_past_nodes_that_may_raise():
    v = df.Variable([1., 2.])
    t = Trace("f")
    with t.recording():
        x = t.parameter(0, "x", df.float32, (2,), (2,))
        i = t.parameter(1, "i", df.int32, (2,), (2,))
        g = df.exp(x)
        y = df.gather(x, i)
        z = df.tanh(x)
        v.assign_sub(g)
        t.outputs = [y, z]
    graph = updates.run(ir.copy(t), Options())
    ir.check(graph)
    assert names(graph) == ["exp", "gather", "assign_sub", "tanh"]


def test_operands_of_an_update_move_with_it():
    v = df.Variable([1., 2.])
    t = Trace("f")
    with t.recording():
        x = t.parameter(0, "x", df.float32, (2,), (2,))
        y = df.exp(x)
        z = df.tanh(y)
        v.assign(y * 2.)
        t.outputs = [z]
    graph = updates.run(ir.copy(t), Options())
    ir.check(graph)
    assert names(graph) == ["exp", "multiply", "assign", "tanh"]


def test_training_step_needs_less_memory():
    weights = [df.Variable(df.ones([64, 64]) * 0.01) for _ in range(10)]
    optimizer = df.optimizers.SGD(0.1)

    def step(x):
        with df.GradientTape() as tape:
            for w in weights:
                x = df.tanh(x @ w)
            loss = df.reduce_sum(x)
        optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights, strict=True))
        return loss

    x = df.ones([4, 64])
    early = df.function(step).compiled_for(x).plan.arena_bytes
    late = df.function(step, passes=False).compiled_for(x).plan.arena_bytes
    assert early < late / 3


def test_update_is_not_moved_past_host_calls():
    v = df.Variable(1.)
    t = Trace("f")
    with t.recording():
        x = t.parameter(0, "x", df.float32, (), ())
        y = df.exp(x)
        df.print(y)
        z = df.tanh(y)
        v.assign(x)
        t.outputs = [z]
    graph = updates.run(ir.copy(t), Options())
    ir.check(graph)
    assert names(graph) == ["exp", "host_call", "assign", "tanh"]
