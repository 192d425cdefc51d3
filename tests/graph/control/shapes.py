"""Forms of control flow as functions ``f(s, n, x, w, rows)`` that return a number.

`x` and `w` have shape (2,), `rows` (3, 2); `n` is an int32 tensor from 0 to 3, the trip count in
most forms; `s` holds the variables `v` and `u` of shape (2,), an optimizer of these two, and a
function wrapped like the form under test. Values stay of order one up to the third derivative.
"""

import dualflow as df

SHAPES = []


def shape(f):
    SHAPES.append(f)
    return f


def end(*ys):
    """Return a number with dense derivatives of all orders."""
    total = 0.
    for k, y in enumerate(ys):
        total = total + df.reduce_sum(df.sin(y * (1. + .3 * k)) * y)
    return total


def step(y, w):
    return df.sin(y * w) * y + w * y * .3


@shape
def for_range(s, n, x, w, rows):
    for _ in df.range(n):
        x = x * x * w
    return end(x)


@shape
def while_statement(s, n, x, w, rows):
    k = 0
    while k < n:
        x = x * x + w
        k += 1
    return end(x)


@shape
def while_of_data(s, n, x, w, rows):
    y = x * 1.
    while df.reduce_sum(y * y) < .2 * df.cast(n, y.dtype) ** 2.:
        y = y * 1.4 + w * w * .1
    return end(y, x)


@shape
def nested_fixed(s, n, x, w, rows):
    for _ in df.range(n):
        for _ in df.range(2):
            x = step(x, w)
        w = w + x * .1
    return end(x, w)


@shape
def nested_varying(s, n, x, w, rows):
    for i in df.range(n):
        for j in df.range(i):
            x = step(x, w) + df.cast(j, x.dtype) * w
        x = df.tanh(x)
    return end(x)


@shape
def nested_three_deep(s, n, x, w, rows):
    for i in df.range(n):
        for j in df.range(i + 1):
            for _ in df.range(j):
                x = step(x, w)
            w = w * x * .4 + w
    return end(x, w)


@shape
def loop_in_branch(s, n, x, w, rows):
    if df.reduce_sum(x) > 0.:
        for _ in df.range(n):
            x = step(x, w)
    else:
        x = x * w
    return end(x)


@shape
def loop_in_branch_in_loop(s, n, x, w, rows):
    for i in df.range(n):
        if i % 2 == 1:
            for _ in df.range(i + 1):
                x = step(x, w)
        else:
            w = w * 1.1 + x * w * .2
    return end(x, w)


@shape
def branch_in_loop(s, n, x, w, rows):
    for i in df.range(n):
        if i == 1:
            x = step(x, w)
        elif df.reduce_sum(x) > .9:
            x = x - w * x * .1
        else:
            w = df.tanh(w) * x
    return end(x, w)


@shape
def branches_of_the_same_names(s, n, x, w, rows):
    y = x
    if n > 1:
        y = y * w
    if n > 2 or df.reduce_sum(y) < 0.:
        w = y
    return end(x * y, w * y)


@shape
def cond(s, n, x, w, rows):
    y, z = df.cond(n > 1, lambda: (x * w, step(x, w)), lambda: (x, df.sin(w)))
    return end(y, z, x)


@shape
def switch_case(s, n, x, w, rows):
    y = df.switch_case(n, [lambda: x, lambda: x * w, lambda: step(w, x)])
    return end(y, x * y)


@shape
def while_loop(s, n, x, w, rows):
    _, y, z = df.while_loop(lambda k, y, z: k < n,
                            lambda k, y, z: (k + 1, step(y, z), y), (0, x, w))
    return end(y, z)


@shape
def while_loop_recomputed(s, n, x, w, rows):
    _, y = df.while_loop(lambda k, y: k < n, lambda k, y: (k + 1, step(y, w)), (0, x),
                         recompute=True)
    return end(y)


@shape
def while_loop_nested(s, n, x, w, rows):
    def outer(i, y):
        _, z = df.while_loop(lambda j, z: j < i, lambda j, z: (j + 1, step(z, w) + y), (0, y))
        return i + 1, df.tanh(z)

    return end(df.while_loop(lambda i, y: i < n, outer, (0, x))[1])


@shape
def scan(s, n, x, w, rows):
    c, ys = df.scan(lambda c, r: (step(c, r) * w, c * r), x, rows)
    return end(c, ys)


@shape
def scan_reversed_in_loop(s, n, x, w, rows):
    for _ in df.range(n):
        x, ys = df.scan(lambda c, r: (df.sin(c * w + r), c * r), x, rows, reverse=True)  # noqa: B023
        w = w + ys[0] * .2
    return end(x, w)


@shape
def while_in_scan(s, n, x, w, rows):
    def body(c, r):
        m = df.cast(df.abs(df.reduce_sum(r)) * 4., df.int32) % (n + 1)
        c = df.while_loop(lambda k, c: k < m, lambda k, c: (k + 1, step(c, w) + r * c), (0, c))[1]
        return c, c * w

    c, ys = df.scan(body, x, rows)
    return end(c, ys)


@shape
def fold_and_map(s, n, x, w, rows):
    y = df.foldl(lambda c, r: step(c, r), rows, initializer=x)
    z = df.map_fn(lambda r: step(r, y) * w, rows)
    return end(y, z)


@shape
def rows_enumerated(s, n, x, w, rows):
    for i, r in enumerate(rows):
        if i < n:
            x = step(x, r) + w * df.cast(i, x.dtype)
    return end(x)


@shape
def break_in_loop(s, n, x, w, rows):
    for i in df.range(4):
        if i >= n:
            break
        x = step(x, w) + .1
    return end(x, w)


@shape
def break_in_rows(s, n, x, w, rows):
    for i, r in enumerate(rows):
        if i == n:
            break
        x = step(x, r)
    return end(x, rows * w)


@shape
def continue_in_loop(s, n, x, w, rows):
    for i in df.range(4):
        if i == n:
            continue
        x = step(x, w) + .1
    return end(x)


@shape
def return_in_loop(s, n, x, w, rows):
    for i in df.range(3):
        x = step(x, w) + .1
        if i + 1 == n:
            return end(x * w)
    return end(x)


@shape
def swapped(s, n, x, w, rows):
    for _ in df.range(n):
        x, w = w * x, step(x, w)
    return end(x, w)


@shape
def captured_only(s, n, x, w, rows):
    total = df.zeros_like(x)
    for i in df.range(n):
        total = total + df.sin(x * w * df.cast(i + 1, x.dtype))
    return end(total)


@shape
def constant_carry(s, n, x, w, rows):
    y = w
    for _ in df.range(n):
        x, y = y * x, x
        w = x
    return end(x, y, w)


@shape
def appended(s, n, x, w, rows):
    out = []
    for r in rows:
        x = step(x, r)
        out.append(x * w)
    return end(df.stack(out) * rows)


@shape
def appended_in_range(s, n, x, w, rows):
    out = []
    for _ in df.range(n + 1):
        x = step(x, w)
        out.append(x)
    return end(df.stack(out), x)


@shape
def tensor_array(s, n, x, w, rows):
    start = df.TensorArray(x.dtype, 5, element_shape=[2]).write(0, x)
    _, a = df.while_loop(lambda k, a: k < n,
                         lambda k, a: (k + 1, a.write(k + 1, step(a.read(k), w))), (0, start))
    return end(df.sin(a.stack()), a.read(0))


@shape
def call_in_loop(s, n, x, w, rows):
    for i in df.range(n):
        x = s.call(s, i, x, w)
    return end(x)


@shape
def call_in_branch(s, n, x, w, rows):
    y = s.call(s, n, x, w) if n > 1 else x * w
    return end(y, s.call(s, n - 1, y, x))


@shape
def variable_in_nested_bodies(s, n, x, w, rows):
    for i in df.range(n):
        for _ in df.range(2):
            if i > 0:
                x = s.v * x + w * .1
            s.v.assign_sub(s.u * .1)
        s.u.assign(s.v * .9)
    return end(x)


@shape
def variable_read_before(s, n, x, w, rows):
    x = x * s.v
    for i in df.range(n):
        x = step(x, s.v) + (s.v * w if i > 0 else s.u * 1.)
        s.v.assign_sub(s.v * s.u * .3)
        s.u.assign(s.v * .9)
    return end(x, s.v * w)


@shape
def variable_assigned_in_branch(s, n, x, w, rows):
    for i in df.range(n):
        if i < 2:
            s.v.assign_add(s.v * .2)
            x = step(x, s.v)
    return end(x, s.v * w)


@shape
def training_in_loop(s, n, x, w, rows):
    """A variable without a gradient is left unchanged, not decayed."""
    for i in df.range(n):
        with df.GradientTape() as tape:
            y = df.reduce_sum(df.sin(s.u * x))
            if i == 1:
                y = y + df.reduce_sum(s.v * x)
        s.optimizer.apply_gradients(zip(tape.gradient(y, [s.u, s.v]), [s.u, s.v], strict=True))
        x = step(x, s.v) + s.u
    return end(x)


@shape
def gradient_in_loop(s, n, x, w, rows):
    for _ in df.range(n):
        with df.GradientTape() as tape:
            tape.watch(x)
            y = df.reduce_sum(step(x, w) * x)
        x = x - tape.gradient(y, x) * .2
    return end(x)


@shape
def gradient_of_loop_in_branch(s, n, x, w, rows):
    if n > 0:
        with df.GradientTape() as tape:
            tape.watch(w)
            y = x
            for _ in df.range(n):
                y = step(y, w)
        x = x + tape.gradient(y, w) * .2
    return end(x, w)


@shape
def gradient_after_branch(s, n, x, w, rows):
    if n > 1:
        x = x * .5
    with df.GradientTape() as tape:
        tape.watch(x)
        y = x
        for _ in df.range(n):
            y = w * x * y
    return end(tape.gradient(y, x), w)


@shape
def custom_gradient_in_loop(s, n, x, w, rows):
    for _ in df.range(n):
        x = product(x, w) + df.sin(x)
    return end(x)


@df.custom_gradient
def product(x, w):
    return x * w * x, lambda g: (g * 2. * x * w, g * x * x)


def call(s, n, x, w):
    """The function that other forms call: a loop that reads a variable."""
    for _ in df.range(n):
        x = step(x, w) * s.v
    return x * w
