"""Loop bodies and branches return values of unknown size: unchanged, twice, or in other places."""

import numpy as np
import pytest

import dualflow as df

X = df.constant([[1., 0., 2.], [0., 0., 3.]])


def masks(x):
    """Return two vectors whose sizes depend on data."""
    return df.boolean_mask(x, x > 0.), df.boolean_mask(x, x > 1.)


def loop(body):
    """Return a function that runs `body(i, a, b)` twice on vectors of unknown size."""
    def f(x):
        return df.while_loop(
            lambda i, a, b: i < 2, lambda i, a, b: (i + 1, *body(i, a, b)), (0, *masks(x)),
            shape_invariants=[df.TensorShape([]), df.TensorShape([None]), df.TensorShape([None])])
    return f


def for_statement(x):
    a, b = masks(x)
    for _ in df.range(2):
        a = df.identity(a)
        b = b * df.reduce_sum(a)
    return a, b


CASES = {
    "one unchanged": loop(lambda i, a, b: (a, b * 2.)),
    "both unchanged": loop(lambda i, a, b: (a, b)),
    "swapped": loop(lambda i, a, b: (b, a)),
    "one twice": loop(lambda i, a, b: (b, b)),
    "a view": loop(lambda i, a, b: (df.reshape(a, [-1]), df.reshape(df.identity(b), [-1]))),
    "a join": loop(lambda i, a, b: (df.concat([a, b], 0), a)),
    "inner function": loop(df.function(lambda i, a, b: (a, b))),
    "branch in a loop": loop(lambda i, a, b: df.cond(i > 0, lambda: (a, b), lambda: (b, a))),
    "for statement": for_statement,
    "one branch": lambda x: df.cond(x[0, 0] > 0., lambda: masks(x) * 2, lambda: (*masks(x),) * 2),
    "outer value": lambda x: (lambda a: df.cond(x[0, 0] > 0., lambda: (a, a), lambda: (a, -a)))(
        masks(x)[0]),
}


@pytest.mark.parametrize("name", CASES)
def test_values_and_gradients(name):
    def whole(x):
        with df.GradientTape() as tape:
            tape.watch(x)
            made = df.nest.flatten(CASES[name](x))
            loss = df.add_n([df.reduce_sum(df.cast(y, x.dtype) ** 2) for y in made])
        return *made, tape.gradient(loss, x)

    want = whole(X)
    for passes in (False, True):
        for got, w in zip(df.function(whole, passes=passes)(X), want, strict=True):
            np.testing.assert_array_equal(got, w)
