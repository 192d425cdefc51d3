"""Integer arguments that may be tensors in eager mode, as traced tensors: sizes, bounds, depths,
axes, shifts. Results and gradients have the bits of eager mode. One in four rows is sampled if each
integer is a separate tensor; all rows run with ``pytest --exhaustive``."""

import numpy as np
import pytest

import dualflow as df
from tests import sampling
from tests.ops import harness
from tests.ops.cases import CASES
from tests.ops.test_traced import bits, leaves

# Arguments that select an algorithm, by (op, argument), rather than give a size, a bound or an
# axis: they are Python integers while tracing.
STRUCTURE = {
    "kind", "ndim", "ord", "batch_dims", "block_size", "strides", "dilations", "padding",
    "ellipsis_mask", "new_axis_mask", "shrink_axis_mask", "begin_mask", "end_mask", "beam_width",
    "top_paths", "blank_index", "n_rows", ("group_norm", 1), ("transpose", 1),
    ("unstack", "axis"),                    # decides the number of results
    *[(op, k) for op in ("max_pool", "avg_pool", "max_pool_grad", "max_pool_pick",
                         "extract_patches", "avg_pool_grad", "extract_patches_grad")
      for k in range(1, 5)],
}

ONE, EACH = "one tensor", "a tensor for each"


def is_int(value):
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def integers(value):
    """Return True if an argument is an integer, or a nest of integers of regular lengths."""
    if isinstance(value, list | tuple):
        return bool(value) and all(map(integers, value))
    return is_int(value)


def flat(value):
    return [x for v in value for x in flat(v)] if isinstance(value, list | tuple) else [value]


def as_tensors(value, way):
    """Return the tensors that replace an argument, and a function from these to the argument."""
    if way == ONE or is_int(value):
        try:
            return [df.constant(np.array(value), df.int32)], lambda given: given[0]
        except (df.errors.DualflowError, ValueError, OverflowError):
            return None
    def rebuilt(v, given):
        is_list = isinstance(v, list | tuple)
        return type(v)(rebuilt(x, given) for x in v) if is_list else given.pop(0)
    if any(not -2**31 <= x < 2**31 for x in flat(value)):
        return None
    return ([df.constant(x, df.int32) for x in flat(value)],
            lambda given: rebuilt(value, list(given)))


def places(case):
    """Return the positions or names of a row's integer arguments, without the number of parts,
    which is the number of results."""
    found = [(k, a) for k, a in enumerate(case.args) if not callable(a)]
    found += list(case.kwargs.items())
    return [(where, value) for where, value in found
            if integers(value) and not (case.op == "split" and is_int(value) and where == 1)]


ROWS = [(i, where, way) for i, case in enumerate(CASES) for where, value in places(case)
        if where not in STRUCTURE and (case.op, where) not in STRUCTURE
        for way in ((ONE,) if is_int(value) else (ONE, EACH))]


def calling(case, args, where, build, n):
    """Return a function of the tensors that replace integers, then of the row's tensors."""
    def call(*tensors):
        rest = iter(tensors[n:])
        with df.GradientTape() as tape:
            for x in tensors[n:]:
                if x.dtype.is_floating:
                    tape.watch(x)
            filled = list(harness.each(lambda a: next(rest) if isinstance(
                a, np.ndarray | np.generic) else a, list(args)))
            kwargs = dict(case.kwargs)
            given = build(list(tensors[:n]))
            if isinstance(where, int):
                filled[where] = given
            else:
                kwargs[where] = given
            out = harness.results(harness.function(case)(*filled, **kwargs))
            floats = [y for y in out if isinstance(y, df.Tensor) and y.dtype.is_floating]
            target = [y * df.cast(df.cos(df.cast(y, df.float64)), y.dtype) for y in floats]
        watched = [x for x in tensors[n:] if x.dtype.is_floating]
        if not (watched and target and case.grad):
            return out
        return out + tape.gradient(target, watched, unconnected_gradients="zero")
    return call


def identify(row):
    i, where, way = row
    return f"{CASES[i]}-{where}-{way}"


def pytest_generate_tests(metafunc):
    every = metafunc.config.getoption("exhaustive")
    rows = [row for k, row in enumerate(ROWS) if every or row[-1] == ONE or k % 4 == 0]
    metafunc.parametrize("row", rows, ids=identify)


def test_traced_matches_eager(row):
    i, where, way = row
    case = CASES[i]
    value = dict(places(case))[where]
    made = as_tensors(value, way)
    if made is None:
        pytest.skip("does not fit int32")
    sizes, build = made
    args = harness.make(case, case.dtypes[0])
    if isinstance(where, int):
        args[where] = value
    tensors = sizes + [x for k, a in enumerate(args) if k != where for x in leaves([a])]
    shown = list(args)
    if isinstance(where, int):
        shown[where] = "stands for the tensor"
    call = calling(case, shown, where, build, len(sizes))
    try:
        want = call(*tensors)
    except (TypeError, ValueError, df.errors.DualflowError):
        pytest.skip("accepts no tensor in eager mode")
    for passes in sampling.passes(i):
        got = df.function(call, passes=passes)(*tensors)
        assert bits(got) == bits(want)
