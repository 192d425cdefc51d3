"""Every op of the C table on medium sizes, called through `apply` as all callers do.

Elementwise ops need no row: their inputs follow from the record. `tests/test_complete.py` fails if
any other op has none.
"""

import dualflow as df
from dualflow import _core

N = 1 << 18        # elements of an elementwise input: 1 MB of float32, within L2
ROWS, COLUMNS = 1024, 512

ELEMENTWISE_ATTRS = {"cast": {"dtype": "float64"}}


def floats(*shape):
    return df.random.uniform(shape, 0.1, 0.9, seed=1)


def indices(n, below):
    return df.random.uniform([n], 0, below, dtype=df.int64, seed=2)


def elementwise_inputs(op):
    """Inputs of the first dtype of float32, int32, bool that the op has a kernel for."""
    dtypes = op.dtypes or ("float32",)
    dtype = next(d for d in ("float32", "int32", "bool", *dtypes) if d in dtypes)
    x = df.cast(df.random.uniform([N], 0.1, 0.9, seed=1) * (1 if dtype == "float32" else 3), dtype)
    if op.name == "where":
        return [x > 0.5, x, x]
    return [x] * op.n_in


def elementwise_attrs(op):
    return ELEMENTWISE_ATTRS.get(op.name, {name: 0.5 for name in op.attrs})


# op -> function without arguments that makes (inputs, attributes)
OTHERS = {
    "matmul": lambda: ([floats(256, 256), floats(256, 256)],
                       {"transpose_a": False, "transpose_b": False}),
    "assign": lambda: ([df.Variable(floats(N)), floats(N)], {}),
    "assign_add": lambda: ([df.Variable(floats(N)), floats(N)], {}),
    "assign_sub": lambda: ([df.Variable(floats(N)), floats(N)], {}),
}


def has_benchmark(name):
    return _core.get_op(name).kind == "elementwise" or name in OTHERS


class Ops:
    params = [name for name in _core.ops() if has_benchmark(name)]
    param_names = ["op"]

    def setup(self, op):
        handle = _core.get_op(op)
        if handle.kind == "elementwise":
            self.inputs, self.attrs = elementwise_inputs(handle), elementwise_attrs(handle)
        else:
            self.inputs, self.attrs = OTHERS[op]()
        _core.apply(op, *self.inputs, **self.attrs)

    def time_apply(self, op):
        _core.apply(op, *self.inputs, **self.attrs)
