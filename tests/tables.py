"""The registry's elementwise ops, and the dtypes and attribute values that tests apply them to."""

import itertools

import dualflow as df
from dualflow import _core

OPS = [op for op in map(_core.get_op, _core.ops()) if op.kind == "elementwise"]
DTYPES = [x.name for x in df.dtypes.ALL]


def dtypes_of(op):
    """Return the dtypes of the key operand of an op; the op has one kernel per dtype."""
    return op.dtypes or DTYPES


def attrs_of(op, dtype="float32"):
    """Return attribute dicts of an op for operands of `dtype`: every combination of the listed
    values, both for a bool."""
    to = [x for x in df.dtypes.ALL if x.is_complex or not df.as_dtype(dtype).is_complex]
    choices = {"float": [0.25], "int": [2], "bool": [False, True], "dtype": to}
    return [dict(zip(op.attrs, found, strict=True))
            for found in itertools.product(*[choices[kind] for kind in op.attr_types])]
