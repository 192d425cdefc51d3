"""Assembly and disassembly of tile code."""

import struct

import dualflow as df
from dualflow import _core
from dualflow._core import get_op
from dualflow.graph.ir.tile_code import FULL, ROW, Code, Step, assemble, disassemble, words
from tests.graph.tile_code import Cluster


def code():
    return Code(3, (Step(get_op("leaky_relu"), FULL, (0,), words((0.25,))),
                    Step(get_op("reduce_sum"), ROW, (1,)),
                    Step(get_op("divide"), FULL, (1, 2))), (3, 2))


def test_assemble_and_disassemble_round_trip():
    assert disassemble(assemble(code())) == code()


def test_words():
    assert words((7, -1, 0.5)) == (7, -1, struct.unpack("q", struct.pack("d", 0.5))[0])


def test_kernel_runs_assembled_code():
    x = df.constant([[1.0, -4.0, 2.0]])
    c = Cluster(x, shape=(1, 3), row_dims=1)
    y = c.step("leaky_relu", 0, alpha=0.25)
    c.step("divide", y, c.reduce("reduce_sum", y))
    assert list(assemble(code())) == c.code(3, 2)
    found = _core.apply("cluster", x, shape=(1, 3), code=assemble(code()))
    assert [v.tolist() for v in found] == [[[0.5, -0.5, 1.0]], [[2.0]]]
