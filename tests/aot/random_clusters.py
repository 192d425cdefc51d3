"""Random functions whose elementwise steps, row reductions and variable updates become clusters.

They have all dtypes and 0 to 1023 elements. Sizes 0 and 1, a single row and rows of one element are
drawn often: there an input that is usually repeated has the shape of the cluster, so that an output
may reuse its memory.
"""

import numpy as np

import dualflow as df
from dualflow import _core
from dualflow.graph.program import clusters
from tests.graph.build import assert_same, values
from tests.tables import DTYPES, OPS, attrs_of, dtypes_of

REDUCTIONS = [df.reduce_sum, df.reduce_max, df.reduce_min, df.reduce_mean, df.reduce_prod]
KINDS = ["op", "op", "latest", "latest", "latest", "divide", "divide", "cast", "row", "assign",
         "assign", "read"]
LARGEST = 1023
CALLS = 3


def drawn(rng, shape, dtype):
    """Return a tensor of special and ordinary values."""
    if dtype in ("float16", "bfloat16"):
        return df.cast(df.constant(values(rng, shape, "float32")), dtype)
    return df.constant(values(rng, shape, dtype))


def shape_of(rng):
    """Return a shape of up to `LARGEST` elements."""
    size = int(rng.choice([0, 1, 1, int(rng.integers(2, 9)), int(rng.integers(LARGEST + 1))]))
    rows = int(rng.choice([1, 1, int(rng.integers(1, 9)), max(size, 1)]))
    return [(), (size,), (rows, size // rows), (size // rows, rows), (1, size)][
        int(rng.integers(5)) if size == 1 else int(rng.integers(1, 5))]


class RandomClusters:
    """The function of a seed, which owns variables; `restart` resets them.

    Attributes
    ----------
    args : list of Tensor
    variables : list of Variable
    """

    def __init__(self, seed):
        rng = np.random.default_rng([seed, 11])
        self.shape = shape_of(rng)
        smaller = [tuple([1 if rng.integers(2) else n for n in self.shape]), self.shape[1:],
                   tuple([1 if k else n for k, n in enumerate(self.shape)])]
        few = bool(rng.integers(2))         # then most of the function is one cluster
        self.dtypes = [str(x) for x in rng.choice(DTYPES, 1 if few else 2)]
        shapes = [self.shape, self.shape, *[smaller[k] for k in rng.integers(0, 3, 2)]]
        shapes = shapes[1:3] if few else shapes
        self.args = [drawn(rng, shape, x) for x in self.dtypes for shape in shapes[:2]]
        self.starts = [drawn(rng, shape, x) for x in self.dtypes for shape in shapes]
        self.variables = [df.Variable(x, trainable=False, name=f"v{k}")
                          for k, x in enumerate(self.starts)]
        self.steps = [(str(rng.choice(KINDS)), rng.integers(0, 2**31, 6).tolist())
                      for _ in range(int(rng.integers(3, 9 if few else 18)))]

    def restart(self):
        for v, x in zip(self.variables, self.starts, strict=True):
            v.assign(x)

    def __call__(self, *args):
        made = [*args, *[v.value() for v in self.variables]]
        self.before = None
        for kind, numbers in self.steps:
            try:
                y = getattr(self, kind)(made, *numbers)
            except df.errors.DualflowError:             # incompatible
                continue
            if y is not None and y.size <= LARGEST:
                made.append(y)
        # Earlier values are not returned: they would keep the memory of variables alive.
        return made[max(len(made) - 2, len(args) + len(self.variables)):]

    # --- steps: the previous tensors, and integers that choose ---

    def op(self, made, i, j, k, m, n, _):
        """Apply an op of the table to tensors of the dtype of one of them."""
        x = made[-1 - i % min(3, len(made))]
        fits = [op for op in OPS if x.dtype.name in dtypes_of(op) and op.name != "cast"]
        op = fits[j % len(fits)]
        same = [y for y in made if y.dtype is x.dtype]
        others = [x, same[-1 - k % len(same)], same[-1 - m % len(same)], same[-1]]
        given = [others[(n + at) % 4] for at in range(op.n_in)]
        given[op.key] = x
        if op.n_in == 3 and op.key == 1:                # a condition
            given[0] = df.cast(given[0], df.bool)
        if op.may_raise(x.dtype):       # with a constant operand the op may be fused
            given[op.checked_input] = df.cast(df.constant(2 + m % 3), x.dtype)
        attrs = attrs_of(op, x.dtype)
        return _core.apply(op.name, *given, **attrs[n % len(attrs)])

    def cast(self, made, i, j, *_):
        return df.cast(made[-1 - i % len(made)], self.dtypes[j % len(self.dtypes)])

    def row(self, made, i, j, k, *_):
        """Reduce the last dimensions."""
        x = made[-1 - i % len(made)]
        return REDUCTIONS[j % len(REDUCTIONS)](x, list(range(k % max(x.ndim, 1), x.ndim)),
                                               keepdims=True)

    def latest(self, made, i, j, k, *_):
        """Combine the latest tensor with an earlier one, an old variable value, or a number."""
        x = made[-1]
        same = [y for y in made if y.dtype is x.dtype]
        other = same[i % len(same)] if k % 4 else df.cast(df.constant(1 + i % 3), x.dtype)
        if k % 4 > 1 and self.before is not None and self.before.dtype is x.dtype:
            other = self.before
        return [df.add, df.multiply, df.subtract, df.maximum][j % 4](x, other)

    def divide(self, made, i, j, *_):
        """Divide: a library call between elementwise loops."""
        x = made[-1 - i % 2]
        return [df.math.floordiv, df.math.floormod][j % 2](x, df.cast(df.constant(3), x.dtype))

    def assign(self, made, i, j, *_):
        """Update a variable by the latest computed tensor that is compatible."""
        for y in made[:len(self.args) + len(self.variables) - 1:-1]:
            fits = [v for v in self.variables if y.dtype is v.dtype and y.shape == v.shape]
            if fits:
                v = fits[i % len(fits)]
                self.before = v.value()
                v.assign(y)
                return

    def read(self, made, i, *_):
        return self.variables[i % len(self.variables)].value()


def seen(program, f, calls):
    """Return the results of calls, and the variables after each."""
    found = []
    for _ in range(calls):
        found += f(*program.args)
        found += [df.identity(v.value()) for v in program.variables]
    return found


def check_clusters(seeds):
    """Compile the clusters of the functions of some seeds in one batch and compare the calls with
    eager mode; return the number of compiled clusters."""
    cases = []
    for seed in seeds:
        program = RandomClusters(seed)
        want = seen(program, program, 1 + CALLS)
        program.restart()
        f = df.function(program.__call__, jit_compile=True)
        cases.append((seed, program, f, want, seen(program, f, 1)))
    assert clusters.wait(600)
    count = 0
    for seed, program, f, want, got in cases:
        said = str(f.clusters_for(*program.args, wait=True))
        assert "not compiled" not in said, (seed, said)
        count += said.count(": compiled")
        for w, g in zip(want, got + seen(program, f, CALLS), strict=True):
            try:
                assert_same(g, w)
            except AssertionError as error:
                raise AssertionError(f"seed {seed}: {error}\n{said}") from error
    return count
