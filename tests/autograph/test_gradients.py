"""Gradients through converted control flow: what eager mode gives, bit for bit."""

import pytest

import dualflow as df


def branches(x):
    y = x * x if x > 0. else -x
    if y > 2.:
        y = y * 3.
    return y


def left_early(x, n):
    for i in range(n):
        if x > 50.:
            break
        x = x * x + 0.5 if i % 2 == 0 else x * 1.5
    return x


def recurrent(xs, w):
    s, out = w * 0., []
    for x in xs:
        s = df.tanh(s * w + x)
        out.append(s)
    return df.reduce_sum(df.stack(out))


def until(x):
    while x < 10.:
        x = x * x
    return x


def gradients(f, *args):
    floats = [x for x in args if x.dtype.is_floating]
    with df.GradientTape() as tape:
        for x in floats:
            tape.watch(x)
        y = f(*args)
    return tape.gradient(y, floats)


@pytest.mark.parametrize("f, args", [
    (branches, (2.,)), (branches, (1.,)), (branches, (-1.,)), (branches, (-4.,)),
    (left_early, (1.5, 4)), (left_early, (2., 0)), (left_early, (.3, 5)),
    (recurrent, ([.1, .2, .3], .7)), (until, (1.5,)), (until, (20.,)),
])
def test_tapes_inside_and_around(f, args):
    given = [df.constant(x) for x in args]
    want = [x.tolist() for x in gradients(f, *given)]
    inside = df.function(lambda *a: gradients(f, *a))(*given)
    around = gradients(df.function(f), *given)
    assert [x.tolist() for x in inside] == [x.tolist() for x in around] == want
