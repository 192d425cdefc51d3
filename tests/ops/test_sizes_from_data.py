"""Every row, and composed functions, with inputs of data-dependent first size, all of them or one
next to known sizes: equal to eager mode to the bit, gradients included, for masks that keep all
rows, two, one and none."""

import re

import numpy as np
import pytest

import dualflow as df
from tests import sampling
from tests.ops import harness
from tests.ops.cases import CASES
from tests.ops.test_traced import bits, leaves

KEPT = (None, 2, 1, 0)          # rows that a mask keeps; None: all rows
TAPES = ["inside", "outside"]

# Functions that graph mode rejects, with the message: the number of results of `unstack` and the
# rank of `squeeze` without axes are data-dependent.
REFUSED = {"unstack": r"unstack: dimension 0 of .* expected a known size",
           "squeeze": r"squeeze: output 0 is .* the program declares"}

COMPOSED = {
    "times": (lambda a, b: a * b + a - b, (3,), (3,)),
    "column times row": (lambda a, b: a[:, None] * b[None], (3,), (4,)),
    "matrix times row": (lambda a, b: a * b, (3, 1), (3,)),
    "outer sum": (lambda a, b: df.reduce_sum(a[:, None] - b[None], 0), (3,), (3,)),
    "where": (lambda a, b: df.where(a > 0, a, b), (3, 2), (3, 2)),
    "concat": (lambda a, b: df.concat([a, b], 0) * df.concat([b, a], 0), (3,), (2,)),
    "stack": (lambda a, b: df.stack([a, b, a * b], 1), (3, 2), (3, 2)),
    "matmul": (lambda a, b: df.transpose(a) @ b, (3, 2), (3, 4)),
    "matvec": (lambda a, b: df.linalg.matvec(a, b, True), (3, 2), (3,)),
    "batches": (lambda a, b: a[:, None, :] @ b[:, :, None], (3, 2), (3, 2)),
    "tensordot": (lambda a, b: df.tensordot(a, b, [[0], [0]]), (3, 2), (3, 4)),
    "tensordot of all": (lambda a, b: df.tensordot(a, b, 2), (3, 2), (3, 2)),
    "einsum": (lambda a, b: df.einsum("ij,ik->jk", a, b), (3, 2), (3, 4)),
    "einsum of batches": (lambda a, b: df.einsum("bi,bi->b", a, b), (3, 2), (3, 2)),
    "einsum with an ellipsis": (lambda a, b: df.einsum("...i,...i->...", a, b), (3, 2), (3, 2)),
    "einsum, joined": (lambda a, b: df.einsum("ij,ijk->k", a, b), (3, 2), (3, 2, 4)),
    "ensure_shape": (lambda a: df.ensure_shape(a, [3, None]) * 2., (3, 2)),
    "repeat": (lambda a: df.repeat(a, [1, 2, 0, 1], axis=0), (4, 2)),
    "repeat all": (lambda a: df.repeat(a, 2, axis=0) + df.tile(a, [2, 1]), (4, 2)),
    "bias_add": (lambda a, b: df.nn.bias_add(df.transpose(a), b), (3, 2), (3,)),
    "mask of a mask": (lambda a, b: df.boolean_mask(a, b > 0), (3, 2), (3,)),
    "indices": (lambda a, b: a[df.where(b > 0)[:, 0], df.zeros([], df.int32)], (3, 2), (3,)),
    "moments": (lambda a: df.nn.moments(a, [0]), (3, 2)),
    "softmax": (lambda a: df.nn.softmax(a, 0), (3, 2)),
    "centred": (lambda a: (a - df.reduce_mean(a, 0)) / (df.math.reduce_std(a, 0) + 1.), (3, 2)),
    "loss": (lambda a, b: df.nn.sigmoid_cross_entropy_with_logits(a, b), (3,), (3,)),
    "sums": (lambda a, b: df.add_n([a, b, a * b, a - b, b]), (3, 2), (3, 2)),
    "padded": (lambda a: df.pad(a, [[1, 2]]) * df.pad(a, [[0, 3]]), (3,)),
    "pieces": (lambda a: df.concat(df.split(a, [1, -1])[::-1], 0), (3, 2)),
    "halves": (lambda a: a[a.shape[0] // 2:] * a[:1], (3, 2)),
    "flat": (lambda a: df.reshape(a, [-1]) * df.reshape(a, [a.shape[0] * 2]), (3, 2)),
    "known": (lambda a: df.reshape(a, [3, 2]) + df.reshape(a, [6, 1]), (3, 2)),
    "outer": (lambda a, b: df.maximum(a[None] * df.ones([4, 1]), b), (3,), (4, 3)),
}


def given(row):
    """Return the function of a row, and its arrays."""
    if isinstance(row, str):
        f, *shapes = COMPOSED[row]
        rng = np.random.default_rng(1)
        return f, [rng.uniform(-2, 2, shape).astype("float32") for shape in shapes]
    case, dtype = row
    args = harness.make(case, dtype)

    def call(*tensors):
        rest = iter(tensors)
        filled = harness.each(lambda a: next(rest) if isinstance(a, np.ndarray | np.generic) else a,
                              list(args))
        return harness.function(case)(*filled, **case.kwargs)

    return call, leaves(args)


def parameters(everywhere):
    """Yield rows, which inputs are masked, and where the tape is: for rows of the table, by default
    every second of an op, all inputs and one of them, and alternately inside the traced function
    and outside."""
    turn = 0
    rows = [(name, name) for name in COMPOSED]
    for i, case in enumerate(harness.thinned(CASES, 2)):
        for dtype in case.dtypes if everywhere else case.dtypes[:1]:
            rows.append((f"{i}-{case}-{dtype}", (case, dtype)))
    for i, (name, row) in enumerate(rows):
        able = tuple(k for k, x in enumerate(given(row)[1]) if x.ndim)
        alone = [(k,) for k in able]
        if alone and not isinstance(row, str):
            alone = sampling.one_of(alone, i)
        for which in dict.fromkeys([able, *alone]):
            if which:
                turn += 1
                tapes = TAPES if isinstance(row, str) else sampling.one_of(TAPES, turn, i)
                masked = "all" if which == able else which[0]
                yield pytest.param(row, which, tapes, id=f"{name}-{masked}")


def pytest_generate_tests(metafunc):
    if "which" in metafunc.fixturenames:
        metafunc.parametrize("row, which, tapes",
                             list(parameters(metafunc.config.getoption("exhaustive"))))


def masks(tensors, which, kept):
    """Return a mask for each masked tensor, which keeps its first rows."""
    return [df.constant(np.arange(tensors[k].shape[0]) < (10**9 if kept is None else kept))
            for k in which]


def masked(call, which):
    """Return `call` as a function of tensors and of masks for some of them."""
    def forward(tensors, masks):
        found = dict(zip(which, masks, strict=True))
        out = call(*[df.boolean_mask(x, found[k]) if k in found else x
                     for k, x in enumerate(tensors)])
        return [y for y in harness.results(out) if isinstance(y, df.Tensor)]
    return forward


def differentiated(forward):
    """Return its results, then their gradients with respect to the tensors before the masks."""
    def both(tensors, masks):
        sources = [x for x in tensors if x.dtype.is_floating]
        with df.GradientTape() as tape:
            for x in sources:
                tape.watch(x)
            out = forward(tensors, masks)
            target = [y * df.cast(df.cos(df.cast(y, df.float64)), y.dtype)
                      for y in out if y.dtype.is_floating]
        if not (sources and target):
            return out
        return out + tape.gradient(target, sources, unconnected_gradients="zero")
    return both


def outcome(call, *args):
    """Return the bits of the results, or the error that was raised."""
    try:
        return bits(call(*args))
    except df.errors.DualflowError as error:
        return error


def test_sizes_from_data(row, which, tapes):
    call, arrays = given(row)
    tensors = [df.constant(a) for a in arrays]
    forward = masked(call, which)
    eager = differentiated(forward)
    modes = {tape: df.function(eager) if tape == "inside" else differentiated(df.function(forward))
             for tape in tapes}
    refused = None if isinstance(row, str) else REFUSED.get(row[0].op)
    for kept in KEPT:
        inputs = tensors, masks(tensors, which, kept)
        want = outcome(eager, *inputs)
        for mode, traced in modes.items():
            got = outcome(traced, *inputs)
            if isinstance(got, df.errors.DualflowError):
                allowed = refused and re.search(refused, str(got))
                assert allowed or isinstance(want, df.errors.DualflowError), (mode, kept, got)
            else:
                assert got == want, (mode, kept)
