"""Embedding tables looked up in branches and loops: traced optimizers update them as eager ones do,
including rows that were not looked up."""

import numpy as np
import pytest

import dualflow as df
from tests.graph.control.test_gradients import same_bits

pytestmark = pytest.mark.filterwarnings("ignore::dualflow.errors.GradientWarning")


def scan(t, u, ids, x):
    return df.scan(lambda c, k: (df.tanh(c * df.gather(t, k) + u), None), x, ids)[0]


def several(t, u, ids, x):
    return df.scan(lambda c, k: (df.tanh(c + df.reduce_sum(df.gather(t, df.stack([k, k])), 0)),
                                 None), x, ids)[0] * u + df.gather(t, 0)


def mapped(t, u, ids, x):
    return df.map_fn(lambda k: df.nn.embedding_lookup(t, k) * u, ids,
                     fn_output_signature=df.float32)


def while_loop(t, u, ids, x):
    return df.while_loop(lambda i, c: i < 3, lambda i, c: (
        i + 1, df.tanh(c * df.gather(t, ids[i]))), (0, x))[1] * u


def cond(t, u, ids, x):
    return df.cond(x[0] > 0., lambda: df.gather(t, ids) * u, lambda: df.ones([3, 2]) * u)


@pytest.mark.parametrize("look", [scan, several, mapped, while_loop, cond])
@pytest.mark.parametrize("make", [
    lambda: df.optimizers.SGD(.1, momentum=.9, nesterov=True), lambda: df.optimizers.Adam(.1),
    lambda: df.optimizers.Adam(.1, global_clipnorm=.3), lambda: df.optimizers.AdamW(.1),
    lambda: df.optimizers.RMSprop(.1, momentum=.9, centered=True),
    lambda: df.optimizers.Adagrad(.1)])
def test_optimizer_updates_of_tables(make, look):
    def run(wrap):
        t = df.Variable(np.arange(12, dtype="f").reshape(6, 2) / 7 + .1)
        u = df.Variable([1., 2.])
        opt = make()
        opt.build([t, u])

        def step(ids, x):
            with df.GradientTape() as tape:
                y = df.reduce_sum(look(t, u, ids, x))
            opt.apply_gradients(zip(tape.gradient(y, [t, u]), [t, u], strict=True))
            return y

        f = wrap(step)
        made = [f(df.constant(ids), df.constant([.3 * s, -.2]))
                for ids, s in (([1, 2, 1], 1.), ([2, 4, 2], -1.), ([1, 1, 1], 1.), ([0, 2, 5], .5))]
        return [*made, *[v.value() for v in (t, u, *opt.variables)]]

    same_bits(run(df.function), run(lambda f: f))
