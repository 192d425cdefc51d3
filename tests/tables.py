"""Elementwise ops of the registry, the dtypes and the attributes with which tests apply them."""

import itertools

import dualflow as df
from dualflow import _core

OPS = [op for op in map(_core.get_op, _core.ops()) if op.kind == "elementwise"]
DTYPES = [x.name for x in df.dtypes.ALL]


def dtypes_of(op):
    """The dtypes of the key operand of an op, for each of which it makes a step."""
    return op.dtypes or DTYPES


def attrs_of(op):
    """Values of the attributes of an op, several of bools."""
    choices = {"float": [0.25], "int": [2], "bool": [False, True],
               "dtype": [df.as_dtype(name) for name in DTYPES]}
    return [dict(zip(op.attrs, found, strict=True))
            for found in itertools.product(*[choices[kind] for kind in op.attr_types])]
