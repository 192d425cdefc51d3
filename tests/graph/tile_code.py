"""Assembles tile code (csrc/fuse/cluster.h) from op names, and runs the same ops one by one."""

import math
import struct

from dualflow import _core

FULL, ROW, FOLD = 0, 1, 2


class Cluster:
    """The steps of a cluster over `inputs`; values are numbered as in the code.

    >>> import dualflow as df
    >>> c = Cluster(df.constant([1.0, 2.0]), shape=(2,))
    >>> c.run(c.step("add", 0, 0))[0].numpy().tolist()
    [2.0, 4.0]
    """

    def __init__(self, *inputs, shape, row_dims=0):
        self.inputs = inputs
        self.shape = tuple(shape)
        self.row_dims = row_dims
        self.row_length = 1
        for d in self.shape[len(self.shape) - row_dims:]:
            self.row_length *= d
        self.steps = []
        self.made = []

    def step(self, name, *values, space=FULL, **attrs):
        """Add an elementwise step and return its value."""
        handle = _core.get_op(name)
        words = []
        for attr in handle.attrs:
            value = attrs[attr]
            value = getattr(value, "index", value)
            is_float = isinstance(value, float)
            words.append(struct.unpack("q", struct.pack("d", value))[0] if is_float else value)
        values = tuple(map(int, values))
        self.steps += [handle.index, space, len(values), *values, len(words), *words]
        self.made.append((name, values, attrs, space))
        return len(self.inputs) + len(self.made) - 1

    def cast(self, value, dtype, space=FULL):
        return self.step("cast", value, space=space, dtype=dtype)

    def reduce(self, name, value):
        value = int(value)
        self.steps += [_core.get_op(name).index, ROW, 1, value, 0]
        self.made.append((name, (value,), None, ROW))
        return len(self.inputs) + len(self.made) - 1

    def fold(self, name, value, outer, n):
        """Reduce the middle dimension of the shape taken as (outer, n, inner)."""
        value = int(value)
        self.steps += [_core.get_op(name).index, FOLD, 1, value, 2, outer, n]
        self.made.append((name, (value,), (outer, n), FOLD))
        return len(self.inputs) + len(self.made) - 1

    def value_spaces(self):
        """Return the space of each value; None for inputs, which both spaces read."""
        return [None] * len(self.inputs) + [space for *_, space in self.made]

    def code(self, *outputs):
        return [self.row_length, len(self.made), *self.steps, len(outputs), *outputs]

    def run(self, *outputs):
        return _core.apply("cluster", *self.inputs, shape=self.shape, code=self.code(*outputs))

    def eager(self, *outputs):
        """Return the same values computed by the ops one by one."""
        values = list(self.inputs)
        ndim = len(self.shape)
        axes = list(range(ndim - self.row_dims, ndim))
        for name, operands, attrs, space in self.made:
            given = [values[v] for v in operands]
            if space == FOLD:
                x = _core.apply("broadcast_to", given[0], shape=self.shape)
                x = _core.apply("reshape", x, shape=(*attrs, x.size // math.prod(attrs)))
                values.append(_core.apply(name, x, axes=[1], keepdims=False))
            elif attrs is None:
                x = _core.apply("broadcast_to", given[0], shape=self.shape)
                values.append(_core.apply(name, x, axes=axes, keepdims=True))
            else:
                values.append(_core.apply(name, *given, **attrs))
        return [values[v] for v in outputs]
