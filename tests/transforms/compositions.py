"""Random compositions of transforms: functions from vectors to vectors, built from a seed.

A composition is a nested tuple: the name of a piece, its numbers, and the compositions it is
applied to. `function` builds it for one of two libraries, whose functions `dualflow_names` and
`jax_names` hold. A derivative is checked by central differences of the composition inside it.
"""

import types

import numpy as np

N = 3                               # elements of a vector


# --- one set of names for two libraries -----------------------------------------------------------

def dualflow_names():
    import dualflow as df

    def custom(forward, backward):
        def f(x):
            y, saved = forward(x)
            return y, lambda g: backward(saved, g)

        return df.custom_gradient(f)

    def tape_jacobian(f):
        def jacobian_of(x):
            with df.GradientTape() as tape:
                tape.watch(x)
                y = f(x)
            return tape.jacobian(y, x, unconnected_gradients="zero")
        return jacobian_of

    def persistent(f, x, u):
        """Return a product with the transposed Jacobian, as a sum of two gradients of one tape."""
        with df.GradientTape(persistent=True) as tape:
            tape.watch(x)
            y = f(x)
            a, b = df.reduce_sum(y * u * 0.25), df.reduce_sum(y * u * 0.75)
        return sum(tape.gradient(t, x, unconnected_gradients="zero") for t in (a, b))

    def inside(f, x, u):
        """Return the gradient, computed before the tape's block ends."""
        with df.GradientTape(persistent=True) as tape:
            tape.watch(x)
            y = df.reduce_sum(f(x) * u)
            return tape.gradient(y, x, unconnected_gradients="zero")

    def accumulated(f, x, u):
        with df.autodiff.ForwardAccumulator(x, u) as forward:
            y = f(x)
        return forward.jvp(y, "zero")

    def scan(step, carry, rows, reverse, recompute):
        return df.scan(step, carry, rows, reverse=reverse, recompute=recompute)

    def loop(test, step, carry):
        return df.while_loop(test, step, carry)

    return types.SimpleNamespace(
        sin=df.sin, tanh=df.tanh, exp=df.exp, sqrt=df.sqrt, sum=df.reduce_sum, prod=df.reduce_prod,
        cumsum=df.cumsum, softmax=df.nn.softmax, sort=df.sort,
        argsort=df.argsort, take=df.gather, where=df.where, clip=df.clip_by_value,
        maximum=df.maximum, stop=df.stop_gradient, stack=df.stack, outer=lambda a, b:
        df.expand_dims(a, 1) * df.expand_dims(b, 0), matvec=lambda m, x: df.linalg.matvec(m, x),
        grad=df.grad, vjp=df.vjp, jvp=df.jvp, hvp=df.hvp, jacrev=df.jacrev, jacfwd=df.jacfwd,
        hessian=df.hessian, jacobian=df.autodiff.jacobian, vmap=df.vmap, cond=df.cond, scan=scan,
        loop=loop, custom=custom, checkpoint=df.recompute_grad, tape_jacobian=tape_jacobian,
        persistent=persistent, inside=inside, accumulated=accumulated, constant=df.constant,
        traced=df.function)


def jax_names():
    import jax
    import jax.numpy as np_

    jax.config.update("jax_enable_x64", True)

    def custom(forward, backward):
        f = jax.custom_vjp(lambda x: forward(x)[0])
        f.defvjp(forward, lambda saved, g: (backward(saved, g),))
        return f

    def product(f, x, u):
        return jax.vjp(f, x)[1](u)[0]

    def scan(step, carry, rows, reverse, recompute):
        return jax.lax.scan(jax.checkpoint(step) if recompute else step, carry, rows,
                            reverse=reverse)

    def loop(test, step, carry):
        """Unroll with a mask: JAX has no reverse mode for loops of unknown length."""
        for _ in range(4):
            more, after = test(*carry), step(*carry)
            carry = tuple(np_.where(more, a, b) for a, b in zip(after, carry, strict=True))
        return carry

    def hvp(f, primals, tangents):
        _, back = jax.vjp(jax.grad(f), *primals)
        return back(*tangents)

    return types.SimpleNamespace(
        sin=np_.sin, tanh=np_.tanh, exp=np_.exp, sqrt=np_.sqrt, sum=np_.sum, prod=np_.prod,
        cumsum=np_.cumsum, softmax=jax.nn.softmax, sort=np_.sort, argsort=np_.argsort,
        take=lambda x, i: x[np_.asarray(i)], where=np_.where, clip=np_.clip, maximum=np_.maximum,
        stop=jax.lax.stop_gradient, stack=np_.stack, outer=np_.outer,
        matvec=lambda m, x: m @ x, grad=jax.grad, vjp=jax.vjp, hvp=hvp, jacrev=jax.jacrev,
        jvp=jax.jvp, jacfwd=jax.jacfwd, hessian=lambda f: jax.jacrev(jax.grad(f)),
        jacobian=jax.jacrev, vmap=jax.vmap, cond=jax.lax.cond, scan=scan, loop=loop,
        custom=custom, checkpoint=jax.checkpoint, tape_jacobian=jax.jacrev, persistent=product,
        inside=product, accumulated=lambda f, x, u: jax.jvp(f, (x,), (u,))[1],
        constant=np_.asarray, traced=jax.jit)


# --- pieces: functions from x to a vector ---------------------------------------------------------
# Each takes the names `o`, a list of constant vectors `c`, and x.

def by_loop(o, c, x):
    """Double until a data-dependent number is reached."""
    test = lambda k, y: (k < 4.) & (o.sum(y * y) < 2. + c[0][0] ** 2)      # noqa: E731
    return o.loop(test, lambda k, y: (k + 1., y * 1.5 + o.sin(y) * 0.1),
                  (o.constant(0., "float64"), x))[1]


def by_scan(o, c, x, reverse=False, recompute=False, rows=None):
    def step(carry, row):
        after = o.tanh(carry * row) + 0.5 * carry
        return after, after * row + c[0][1]
    last, made = o.scan(step, o.sum(x * c[1]), x if rows is None else rows, reverse, recompute)
    return made + last


def steep(o, c, x):
    """A carry of infinite slope that no row depends on: it gets no cotangent, so 0 times infinity
    does not occur."""
    def step(carry, row):
        return o.sqrt(carry * 0.), o.cond(row > 100., lambda: carry, lambda: row * row)
    return o.scan(step, x[0], x, False, False)[1] * c[0]


LEAVES = {
    "sin": lambda o, c, x: o.sin(x * c[0]),
    "tanh": lambda o, c, x: o.tanh(x) * x,
    "square": lambda o, c, x: x * x + c[0] * x,
    "bell": lambda o, c, x: o.exp(-x * x) + x * 0.5,
    "mixed": lambda o, c, x: o.matvec(o.outer(c[0], c[1]), o.sin(x)) + x,
    "product": lambda o, c, x: o.prod(x + 2.) * c[0] + x,
    "cumsum": lambda o, c, x: o.cumsum(x * x),
    "softmax": lambda o, c, x: o.softmax(x * 2.) * x,
    "sort": lambda o, c, x: o.sort(x) * c[0] * x,
    "gather": lambda o, c, x: o.take(x * x, o.argsort(x)) * c[0],
    "gather numbers": lambda o, c, x: o.take(x, [2, 0, 0]) * o.sin(x),
    "argsort of another": lambda o, c, x: o.take(o.sin(x), o.argsort(x * c[0])) * x,
    "where": lambda o, c, x: o.where(x > 0.13, x * x, o.sin(x)),
    "clip": lambda o, c, x: o.clip(x * x, 0.2, 1.3) * x,
    "maximum": lambda o, c, x: o.maximum(x * c[0], x * x),
    "stop": lambda o, c, x: o.stop(x) * 0. + x * o.sin(x),
    "scan": by_scan,
    "scan backwards": lambda o, c, x: by_scan(o, c, x, True),
    "scan again": lambda o, c, x: by_scan(o, c, x, False, True),
    "scan of sorted": lambda o, c, x: by_scan(o, c, x, rows=o.take(x, o.argsort(x))),
    "steep": steep,
    "loop": by_loop,
    "cond": lambda o, c, x: o.cond(o.sum(x) > 0.1, lambda: o.sin(x) * x, lambda: x * x * x),
    "custom": lambda o, c, x: o.custom(
        lambda x: (o.exp(-x), x), lambda x, g: -g * o.exp(-x))(x),
    "custom of result": lambda o, c, x: o.custom(
        lambda x: (lambda y: (y, y))(o.tanh(x)), lambda y, g: g * (1. - y * y))(x) * x,
    "custom of parts": lambda o, c, x: o.custom(
        lambda x: (lambda s: (s * s, (s, x)))(o.sin(x)),
        lambda saved, g: g * 2. * saved[0] * o.sin(saved[1] + np.pi / 2))(x),
    "custom of scan": lambda o, c, x: o.custom(
        lambda x: (by_scan(o, c, x), x),
        lambda x, g: o.vjp(lambda z: by_scan(o, c, z), x)[1](g)[0])(x),
}


def lanes(o, f, x):
    return o.vmap(f)(o.stack([x, x * 0.5, o.sin(x)]))


# Each also takes the functions f inside it. Pieces in DERIVATIVES differentiate f.
def composed(o, c, f, h):
    return lambda x: f(h(x) * 0.7)


def product(o, c, f, h):
    return lambda x: f(x) * h(x) + x


def rounds(o, c, f):
    """Return the function applied repeatedly by the iterations of a scan."""
    def run(x):
        last, made = o.scan(lambda y, row: (o.tanh(f(y)) * 0.5 + row, o.sum(y * row)), x,
                            o.outer(c[0], x), False, False)
        return last + made
    return run


def while_small(o, c, f):
    def run(x):
        test = lambda k, y: (k < 3.) & (o.sum(y * y) < 1. + c[0][0] ** 2)  # noqa: E731
        return o.loop(test, lambda k, y: (k + 1., o.tanh(f(y)) * 0.5 + y),
                      (o.constant(0., "float64"), x))[1]
    return run


def chosen(o, c, f, h):
    return lambda x: o.cond(o.sum(x * c[0]) > 0., lambda: f(x), lambda: h(x) * x)


def custom_of(o, c, f):
    """Return the function with its gradient as a custom rule."""
    return o.custom(lambda x: (f(x), x), lambda x, g: o.vjp(f, x)[1](g)[0])


WRAPPERS = {
    "composed": (2, composed), "product": (2, product), "rounds": (1, rounds),
    "while": (1, while_small), "chosen": (2, chosen), "custom of": (1, custom_of),
    "checkpoint": (1, lambda o, c, f: o.checkpoint(f)),
    "traced": (1, lambda o, c, f: o.traced(f)),
    "vmap": (1, lambda o, c, f: lambda x: o.sum(lanes(o, f, x) * o.outer(c[0], c[1]), 0)),
}


def direction(o, c, x):
    return c[0] + o.sin(x) * c[1][0]


def number(o, c, f):
    return lambda x: o.sum(f(x) * c[0])


DERIVATIVES = {
    "grad": lambda o, c, f: o.grad(number(o, c, f)),
    "vjp": lambda o, c, f: lambda x: o.vjp(f, x)[1](direction(o, c, x))[0],
    "jvp": lambda o, c, f: lambda x: o.jvp(f, (x,), (direction(o, c, x),))[1],
    "hvp": lambda o, c, f: lambda x: o.hvp(number(o, c, f), (x,), (direction(o, c, x),))[0],
    "jacrev": lambda o, c, f: lambda x: o.matvec(o.jacrev(f)(x), direction(o, c, x)),
    "jacfwd": lambda o, c, f: lambda x: o.matvec(o.jacfwd(f)(x), direction(o, c, x)),
    "jacobian": lambda o, c, f: lambda x: o.matvec(o.jacobian(f)(x), direction(o, c, x)),
    "tape": lambda o, c, f: lambda x: o.matvec(o.tape_jacobian(f)(x), direction(o, c, x)),
    "hessian": lambda o, c, f: lambda x: o.matvec(o.hessian(number(o, c, f))(x),
                                                  direction(o, c, x)),
    "persistent": lambda o, c, f: lambda x: o.persistent(f, x, direction(o, c, x)),
    "inside": lambda o, c, f: lambda x: o.inside(f, x, direction(o, c, x)),
    "accumulator": lambda o, c, f: lambda x: o.accumulated(f, x, direction(o, c, x)),
    "vmap of grad": lambda o, c, f: lambda x: o.sum(lanes(o, o.grad(number(o, c, f)), x), 0),
    "vmap of jvp": lambda o, c, f: lambda x: o.sum(lanes(
        o, lambda y: o.jvp(f, (y,), (direction(o, c, x),))[1], x), 0),
    "vmap of vjp": lambda o, c, f: lambda x: o.sum(o.vmap(lambda u: o.vjp(f, x)[1](u)[0])(
        o.outer(direction(o, c, x), c[1])), 0),
}
ORDERS = {"hvp": 2, "hessian": 2}


# --- random compositions --------------------------------------------------------------------------

def draw(seed, orders=3):
    """Draw a composition, and a point and a direction for its outermost derivative."""
    rng = np.random.default_rng(seed)
    return node(rng, int(rng.integers(1, orders + 1)), 3), rng.normal(size=N), rng.normal(size=N)


def node(rng, orders, depth):
    """Draw a composition with derivatives up to order `orders`, one of them outermost."""
    constants = rng.uniform(0.3, 1.2, size=(2, N)).round(2).tolist()

    def pick(names):
        names = list(names)
        return names[rng.integers(len(names))]

    if orders and rng.random() < 0.6 + 0.4 * (depth == 0):
        name = pick(d for d in DERIVATIVES if ORDERS.get(d, 1) <= orders)
        return name, constants, (node(rng, orders - ORDERS.get(name, 1), depth),)
    if depth and rng.random() < 0.7:
        name = pick(WRAPPERS)
        return name, constants, tuple(node(rng, orders, depth - 1)
                                      for _ in range(WRAPPERS[name][0]))
    return pick(LEAVES), constants, ()


def function(o, composition):
    """Return the function of a composition in the library named by `o`."""
    name, constants, below = composition
    c = [o.constant(x, "float64") for x in constants]
    inner = [function(o, x) for x in below]
    if name in LEAVES:
        return lambda x: LEAVES[name](o, c, x)
    made = WRAPPERS[name][1] if name in WRAPPERS else DERIVATIVES[name]
    return made(o, c, *inner)


def told_apart_by_lane(composition, mapped=False):
    """Return True if batched values choose in `steep`: `vmap` computes both branches, giving 0 *
    inf."""
    name, _, below = composition
    mapped |= "vmap" in name
    return (mapped and name == "steep") or any(told_apart_by_lane(x, mapped) for x in below)


def text(composition):
    name, _, below = composition
    return f"{name}({', '.join(map(text, below))})" if below else name


def size(composition):
    """Return the number of pieces."""
    return 1 + sum(map(size, composition[2]))
