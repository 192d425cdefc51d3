"""Every op with a row: vmap against a loop over the batch, jvp against vjp and differences."""

import numpy as np
import pytest

import dualflow as df
from dualflow import _core
from dualflow.errors import ShapeError
from dualflow.transforms.registry import RULES
from tests.ops import harness
from tests.ops.cases import CASES

N = 3                                               # batch size
PUBLIC = [op for op in _core.ops() if not _core.get_op(op).internal]
SIZED = ("where_indices", "unique")                 # data-dependent sizes are rejected
# Kernels split a product into blocks by its shape, which affects rounding.
# Products and substitutions with more columns may sum in another order.
ROUNDS = {"matmul": 4e-7, "matmul_int32": 0, "triangular_solve": 1e-6, "solve": 1e-6}


def flat(value):
    return harness.results(value)


class BatchedValues:
    """A row of the table with arguments for a batch; `kind` selects the batched arguments."""

    def __init__(self, case, kind):
        dtype = next((d for d in case.dtypes if d == "float64"), case.dtypes[0])
        self.case = case
        self.rows = [harness.make(case, dtype, seed=s) for s in range(N)]
        leaves = [flat(row) for row in self.rows]
        samples = [k for k, a in enumerate(flat(list(case.args))) if callable(a)]
        arrays = [k for k, a in enumerate(leaves[0]) if isinstance(a, np.ndarray | np.generic)]
        self.on = {"samples": samples, "first": samples[:1], "last": samples[1:][-1:],
                   "arrays": [k for k in arrays if k not in samples], "all": arrays}[kind]
        self.given = [df.constant(np.stack([row[k] for row in leaves])) for k in self.on]

    def __call__(self, *given):
        """Return the row's results, with these values in place of the batched arguments."""
        left, place = iter(given), iter(range(len(flat(self.rows[0]))))

        def chosen(value):
            return next(left) if next(place) in self.on else harness.tensor(value)

        args = harness.each(chosen, list(self.rows[0]))
        return flat(harness.function(self.case)(*args, **self.case.kwargs))

    def lane(self, k):
        return [x[k] for x in self.given]


KINDS = ("samples", "first", "last", "arrays", "all")


def varying(case):
    """Return the distinct kinds of batching for a row."""
    found = {tuple(BatchedValues(case, kind).on): kind for kind in reversed(KINDS)}
    return [kind for on, kind in found.items() if on]


def first_of(params):
    """Return the first row of each function; the others run under `-m soak`."""
    seen = set()
    marked = []
    for p in params:
        key = p.values[0].op, p.values[0].function, *p.values[1:]
        marks = [pytest.mark.soak] if key in seen else []
        marked.append(pytest.param(*p.values, id=p.id, marks=marks))
        seen.add(key)
    return marked


ROWS = first_of([pytest.param(c, kind, id=f"{c}-{kind}") for c in CASES for kind in varying(c)])


def equal(got, want, tolerance=0):
    assert got.dtype == want.dtype and got.shape == want.shape
    if tolerance and want.dtype.kind == "f":
        scale = np.abs(want[np.isfinite(want)]).max(initial=1e-30)
        np.testing.assert_allclose(got, want, 0, tolerance * scale)
    else:
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("case, kind", ROWS)
def test_vmap(case, kind):
    lanes = BatchedValues(case, kind)
    if case.op in SIZED:
        with pytest.raises(ShapeError, match="depends on data"):
            df.vmap(lanes)(*lanes.given)
        return
    alone = [[y.numpy() for y in lanes(*lanes.lane(k))] for k in range(N)]
    try:
        got = [y.numpy() for y in df.vmap(lanes)(*lanes.given)]
    except ShapeError as error:
        assert "depends on data" in str(error) and kind in ("arrays", "all")
        return
    for g, *want in zip(got, *alone, strict=True):
        equal(g, np.stack(want), ROUNDS.get(case.op, 0))
    traced = df.function(df.vmap(lanes))(*lanes.given)
    for g, t in zip(got, traced, strict=True):
        equal(t.numpy(), g)


MAPPED = first_of([pytest.param(c, id=str(c)) for c in CASES
                   if BatchedValues(c, "samples").on and c.op not in SIZED])


@pytest.mark.parametrize("case", MAPPED)
def test_unknown_sizes(case):
    """The sizes of examples and the batch size are unknown."""
    lanes = BatchedValues(case, "samples")
    signature = [df.TensorSpec([None] * x.ndim, x.dtype) for x in lanes.given]
    traced = df.function(df.vmap(lanes), input_signature=signature)
    for g, t in zip(df.vmap(lanes)(*lanes.given), traced(*lanes.given), strict=True):
        equal(t.numpy(), g.numpy())


@pytest.mark.parametrize("case", MAPPED)
def test_nested(case):
    """The inner batch is the first dimension, the outer one the second."""
    lanes = BatchedValues(case, "samples")
    inner = df.vmap(lanes)
    pairs = [df.stack([x, df.reverse(x, [0])], 1) for x in lanes.given]
    got = df.vmap(inner, in_axes=1)(*pairs)
    for k in range(2):
        want = inner(*[x[:, k] for x in pairs])
        for g, w in zip(got, want, strict=True):
            equal(g[k].numpy(), w.numpy(), ROUNDS.get(case.op, 0))


def test_every_public_op_is_mapped():
    """Ops that write variables are rejected under vmap, and tested separately."""
    cased = {param.values[0].op for param in ROWS}
    without = {op for op in PUBLIC if _core.get_op(op).writes or op.startswith("random")}
    assert set(PUBLIC) - cased <= without | {"range", "truncated_normal"}


def test_rules_belong_to_public_ops():
    assert set(RULES) <= set(PUBLIC)


# --- gradients ---

def sources(case):
    """Return the row's function of its samples, and the positions of differentiable ones."""
    lanes, place, places = BatchedValues(case, "samples"), 0, []
    for i, arg in enumerate(case.args):
        for leaf in flat(arg):
            if callable(leaf):
                if i in case.grad and lanes.given[place].dtype.is_floating:
                    places.append(place)
                place += 1
    return lanes, places


DIFFERENTIABLE = first_of([pytest.param(c, id=str(c)) for c in CASES
                           if c.grad and "float64" in c.dtypes and sources(c)[1]])


def floating(outputs):
    """Return the floating outputs, and the parts of the complex ones."""
    parts = [[df.math.real(y), df.math.imag(y)] if y.dtype.is_complex else [y] for y in outputs]
    return [y for both in parts for y in both if y.dtype.is_floating]


@pytest.mark.parametrize("case", DIFFERENTIABLE)
def test_vmap_of_grad_and_grad_of_vmap(case):
    lanes, places = sources(case)

    def loss(*given):
        return df.add_n([df.reduce_sum(y * y) for y in floating(lanes(*given))])

    grad = df.grad(loss, argnums=tuple(places))
    mapped = [g.numpy() for g in df.vmap(grad)(*lanes.given)]
    alone = [[g.numpy() for g in grad(*lanes.lane(k))] for k in range(N)]
    total = df.grad(lambda *given: df.reduce_sum(df.vmap(loss)(*given)),
                    argnums=tuple(places))(*lanes.given)
    for g, t, *want in zip(mapped, total, *alone, strict=True):
        equal(g, np.stack(want), 1e-12)
        equal(t.numpy(), np.stack(want), 1e-12)


@pytest.mark.parametrize("case", DIFFERENTIABLE)
def test_jvp_against_vjp_and_differences(case):
    lanes, places = sources(case)
    rng = np.random.default_rng(1)
    start = lanes.lane(0)

    def f(*given):
        full = list(start)
        for k, x in zip(places, given, strict=True):
            full[k] = x
        return floating(lanes(*full))

    primals = tuple(start[k] for k in places)
    tangents = tuple(df.constant(rng.normal(size=x.shape), x.dtype) for x in primals)
    ys, along = df.jvp(f, primals, tangents)
    flows = [df.constant(rng.normal(size=y.shape), y.dtype) for y in ys]
    _, back = df.vjp(f, *primals)
    dot = [sum(float((a.numpy().astype(float) * b.numpy()).sum()) for a, b in pairs) for pairs in (
        zip(along, flows, strict=True), zip(back(flows), tangents, strict=True))]
    size = sum(float(np.abs(a.numpy() * b.numpy()).sum())
               for a, b in zip(along, flows, strict=True))
    assert abs(dot[0] - dot[1]) <= 1e-10 * max(size, 1e-3)
    step = 1e-6
    ahead, behind = (f(*[x + s * t for x, t in zip(primals, tangents, strict=True)])
                     for s in (step, -step))
    for y, a, b in zip(along, ahead, behind, strict=True):
        want = (a.numpy() - b.numpy()) / (2 * step)
        limit = 1e-5 * max(np.abs(want).max(initial=0), 1)
        np.testing.assert_allclose(y.numpy(), want, 1e-4, limit)
