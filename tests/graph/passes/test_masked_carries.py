"""Gradients of gradients of rows that a loop reads: an iteration masks the parts of a cotangent
that it reads, not all of it."""

import numpy as np
import pytest

import dualflow as df
from tests.graph.passes.test_carried_sums import check, of_range, of_while, wholes, with_last_break


def of_known_length(step, total, n, most):
    for t in df.range(most):
        total = step(total, t)
    return total


@pytest.mark.parametrize("loop", [of_range, of_while, with_last_break, of_known_length],
                         ids=lambda f: f.__name__)
def test_second_order_reads_rows_only(loop):
    """No iteration of the gradient of a gradient reads or writes the whole tensor."""
    x = df.constant(np.random.default_rng(2).normal(size=(7, 5)))

    def value(x, n):
        return df.reduce_sum(loop(lambda total, t: df.tanh(total + x[t]), df.zeros([5], x.dtype),
                                  n, 7) ** 2)

    def slope(x, n):
        def f(x):
            with df.GradientTape() as tape:
                tape.watch(x)
                y = value(x, n)
            return df.reduce_sum(df.sin(tape.gradient(y, x)))
        return df.grad(f)(x)

    for n in (1, 4, 7):
        check(slope, x, df.constant(n))
    assert not wholes(slope, x, df.constant(3), shape=(7, 5))
