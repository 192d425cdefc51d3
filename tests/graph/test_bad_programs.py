"""Malformed programs, which no compiler emits: each is rejected when it is built or run, because
program files may come from untrusted sources."""

import numpy as np
import pytest

import dualflow as df
from dualflow import _core
from dualflow.graph.ir.tile_code import FULL, Code, Step, assemble
from dualflow.graph.program.spec import SlotSpec
from tests.graph.test_program import ARENA, DYNAMIC, F32, I64, RESULT, Builder, ones

I32 = df.int32


def refused(b, n_args, results, match, args=None):
    with pytest.raises(df.errors.DualflowError, match=match):
        b.build(n_args, results).run(args or [])


def test_read_of_an_output_of_the_same_wave_raises():
    b = Builder()
    x, mask = b.arg(0, (6,)), b.arg(1, (6,), df.bool_)
    where = b.slot(DYNAMIC, (None, 1), I64, last_use=1)
    b.add("where_indices", (mask,), (where,), dynamic=True, wave=1)
    b.add("squeeze", (where,), (b.slot(DYNAMIC, (None,), I64, last_use=1),), dynamic=True, wave=1,
          axis=[1])
    b.add("exp", (x,), (b.result(0, (6,)),), wave=1)
    refused(b, 2, [(RESULT, 0, F32, (6,))], "another instruction of its wave")


@pytest.mark.parametrize("op, n_in, attrs", [
    ("unstack", 0, {"axis": 0}), ("unstack", 2, {"axis": 0}), ("add", 1, {}), ("concat", 0,
                                                                               {"axis": 0})])
@pytest.mark.parametrize("dynamic", [False, True])
def test_wrong_number_of_inputs_raises(op, n_in, attrs, dynamic):
    b = Builder()
    out = b.slot(DYNAMIC, (None,), F32) if dynamic else b.result(0, (6,))
    b.add(op, (b.arg(0, (6,)),) * n_in, (out,), dynamic=dynamic, **attrs)
    refused(b, 1, [] if dynamic else [(RESULT, 0, F32, (6,))], f"^{op}: got {n_in} inputs")


def test_dynamic_instruction_with_wrong_number_of_outputs_raises():
    for n in (0, 2, 3):
        b = Builder()
        outs = tuple([b.slot(DYNAMIC, (None,), F32, last_use=0) for _ in range(n)])
        b.add("exp", (b.arg(0, (6,)),), outs, dynamic=True)
        refused(b, 1, [], f"exp: {n} outputs, expected 1")


def test_unstack_count_that_differs_at_run_time_raises():
    """The program declares three outputs of unstack; the run finds two rows."""
    b = Builder()
    mask = b.arg(0, (4,), df.bool_)
    where = b.slot(DYNAMIC, (None, 1), I64, last_use=1)
    b.add("where_indices", (mask,), (where,), dynamic=True)
    rows = tuple([b.slot(DYNAMIC, (1,), I64, last_use=1) for _ in range(3)])
    b.add("unstack", (where,), rows, dynamic=True, axis=0)
    program = b.build(1, [])
    program.run([df.constant([True, True, True, False])])
    with pytest.raises(ValueError, match="unstack: 3 outputs, expected 2"):
        program.run([df.constant([True, True, False, False])])


def test_workspace_offset_of_a_dynamic_instruction_raises():
    b = Builder()
    place = b.reserve(64)
    b.add("exp", (b.arg(0, (6,)),), (b.slot(DYNAMIC, (6,), F32),), dynamic=True, workspace=place)
    refused(b, 1, [], "bad workspace")


def cluster(op, n_in, words=()):
    return assemble(Code(1, (Step(_core.get_op(op), FULL, tuple(range(n_in)), words),), (n_in,)))


def test_cluster_step_that_may_raise_is_rejected():
    """Clusters do not check divisors: a compiler fuses only divisions by known nonzero values."""
    b = Builder()
    x, y = b.arg(0, (4,), I32), b.arg(1, (4,), I32)
    b.add("cluster", (x, y), (b.result(0, (4,), I32),), shape=[4], code=cluster("floordiv", 2))
    program = b.build(2, [(RESULT, 0, I32, (4,))])
    made, = program.run([df.constant([1, -2**31, 7, 0]), df.constant([0, -1, 2, 0])])
    assert made.tolist()[2] == 3


def test_tile_code_with_invalid_bool_attribute():
    op = next(x for x in map(_core.get_op, _core.ops())
              if x.kind == "elementwise" and "bool" in x.attr_types and x.n_in == 1)
    words = tuple([7 if kind == "bool" else 0 for kind in op.attr_types])
    b = Builder()
    b.add("cluster", (b.arg(0, (4,)),), (b.result(0, (4,)),), shape=[4],
          code=cluster(op.name, 1, words))
    refused(b, 1, [(RESULT, 0, F32, (4,))], "a bool is not 0 or 1")


def applied(op, given, attrs, outputs):
    """Run an instruction that applies an op with attributes computed at run time."""
    b = Builder()
    slots = [b.arg(k, x.shape, x.dtype) for k, x in enumerate(given)]
    values = b.constant(df.constant([], I64))
    outs = tuple([b.slot(DYNAMIC, (None,) * ndim, dtype) for dtype, ndim in outputs])
    b.add("dynamic_attrs", (*slots, values), outs, dynamic=True, index=_core.get_op(op).index,
          outputs=[n for dtype, ndim in outputs for n in (dtype.index, ndim, *[-1] * ndim)],
          encoded=attrs)
    return b.build(len(given), []).run(list(given))


@pytest.mark.parametrize("op, given, attrs, outputs, match", [
    ("assign", (ones(2), ones(2)), [], [], "dynamic_attrs: op"),
    ("host_call", (ones(2),), [0, 3], [], "dynamic_attrs: op"),
    ("cond", (ones(2),), [], [(F32, 1)], "dynamic_attrs: op"),
    ("dynamic_attrs", (ones(2),), [], [(F32, 1)], "dynamic_attrs: op"),
    ("cast", (ones(2),), [0, 99], [(F32, 1)], "attribute dtype is 99"),
    ("cast", (ones(2),), [0, -1], [(F32, 1)], "attribute dtype is -1"),
    ("exp", (ones(2),), [], [(F32, 1), (F32, 1)], "exp: 2 outputs, expected 1"),
    ("exp", (ones(2), ones(2)), [], [(F32, 1)], "exp: got 2 inputs")])
def test_invalid_run_time_attributes_raise(op, given, attrs, outputs, match):
    with pytest.raises(df.errors.DualflowError, match=match):
        applied(op, given, attrs, outputs)


def test_bool_bytes_other_than_0_and_1():
    """A bool buffer may hold any byte; each counts as true or false."""
    x = df.constant(np.array([2, 255, 0], "uint8"))
    b = Builder()
    offset = b.reserve(64)
    b.slots += [SlotSpec(ARENA, dtype, (3,), 0, offset) for dtype in (df.uint8, df.bool_)]
    b.add("identity", (b.arg(0, (3,), df.uint8),), (0,))
    b.add("where_indices", (1,), (b.slot(DYNAMIC, (None, 1), I64, last_use=2),), dynamic=True)
    kept = len(b.slots) - 1
    made, = b.build(1, [(DYNAMIC, kept, I64, (None, 1))]).run([x])
    assert made.tolist() == [[0], [1]]



# --- reads of memory that no instruction has written ---------------------------------------------

def pieces(*places, dtype=F32):
    """Return a builder with an arena of 128 bytes and slots of four float32 at these offsets."""
    b = Builder()
    b.reserve(128)
    b.slots += [SlotSpec(ARENA, dtype, (4,), 0, at) for at in places]
    return b


@pytest.mark.parametrize("places, made, read, match", [
    ((0,), (), 0, "instruction 0, exp, reads slot 0, which has not been written"),
    ((0, 16), (0,), 1, "reads slot 1, which has not been written"),
    ((0, 8), (0,), 1, "reads slot 1, which is not covered by one earlier write"),
    ((0, 16, 8), (0, 1), 2, "reads slot 2, which is not covered by one earlier write"),
    ((0, 0), (0, 1), 0, "instruction 2, exp, reads slot 0, whose memory has been overwritten"),
    ((0, 8), (0, 1), 0, "reads slot 0, whose memory has been overwritten"),
    ((0, 12, 24), (0, 1, 2), 1, "reads slot 1, whose memory has been overwritten"),
    ((0, 0), (0,), 1, None), ((0, 16), (0, 1), 0, None), ((0, 8), (0, 1, 0), 0, None)])
def test_reads_need_one_earlier_write_of_the_whole_slot(places, made, read, match):
    b = pieces(*places)
    x = b.arg(0, (4,))
    for slot in made:
        b.add("exp", (x,), (slot,))
    b.add("exp", (read,), (b.result(0, (4,)),))
    results = [(RESULT, 0, F32, (4,))]
    if match:
        return refused(b, 1, results, match)
    made, = b.build(1, results).run([df.zeros([4])])
    assert made.tolist() == df.exp(df.exp(df.zeros([4]))).tolist()


def test_view_of_an_overwritten_value_raises():
    """The second slot views the value of the first; the third slot overwrites that memory."""
    b = pieces(0, 0, 0)
    x = b.arg(0, (4,))
    b.add("exp", (x,), (0,))
    b.add("exp", (1,), (b.result(0, (4,)),))
    b.add("sin", (x,), (2,))
    b.add("exp", (1,), (b.result(1, (4,)),))
    refused(b, 1, [(RESULT, k, F32, (4,)) for k in (0, 1)], "instruction 3.* slot 1, whose memory")


SUM = {"axes": (1,), "keepdims": False}             # of (3, 2): needs 64 bytes of workspace


def test_workspace_overwrites_values():
    b = pieces(0, 32, 64)
    x, sums = b.arg(0, (4,)), b.temp((3,))
    b.add("exp", (x,), (0,))
    b.add("reduce_sum", (b.arg(1, (3, 2)),), (sums,), workspace=0, **SUM)
    b.add("exp", (0,), (b.result(0, (4,)),))
    refused(b, 2, [(RESULT, 0, F32, (4,))], "instruction 2, exp, reads slot 0, whose memory")


@pytest.mark.parametrize("other", ["an operand", "a workspace"])
@pytest.mark.parametrize("together", [False, True])
def test_workspaces_of_one_wave_must_not_overlap(other, together):
    """Workspaces of successive instructions may overlap if no later instruction reads them."""
    b = pieces(0, 64)
    x, y, sums = b.arg(0, (4,)), b.arg(1, (3, 2)), b.result(0, (3,))
    b.add("reduce_sum", (y,), (sums,), workspace=0, wave=together, **SUM)
    if other == "an operand":
        b.add("exp", (x,), (0,), wave=together)
    else:
        b.add("reduce_sum", (y,), (b.temp((3,)),), workspace=0, wave=together, **SUM)
    if together:
        refused(b, 2, [(RESULT, 0, F32, (3,))], "a workspace of its wave overlaps")
    else:
        b.build(2, [(RESULT, 0, F32, (3,))]).run([df.ones([4]), df.ones([3, 2])])


def test_results_must_be_written_as_a_whole():
    for places, match in (((0,), None), ((16,), "result 0 is not covered by one write"),
                          ((0, 16), "result 0 is not covered by one write")):
        b = Builder()
        x = b.arg(0, (4,))
        b.slots += [SlotSpec(RESULT, F32, (4,), 0, at) for at in places]
        for slot in range(1, 1 + len(places)):
            b.add("exp", (x,), (slot,))
        whole = b.slot(RESULT, (4 + max(places) // 4,))
        assert whole
        results = [(RESULT, 0, F32, (4 + max(places) // 4,))]
        if match:
            refused(b, 1, results, match, [df.zeros([4])])
        else:
            assert b.build(1, results).run([df.zeros([4])])[0].tolist() == [1] * 4


@pytest.mark.parametrize(("offsets", "axis", "match"), [
    ((0, 16), 0, None), ((16, 0), 0, "operands overlap"), ((0, 4), 0, "operands overlap"),
    ((0, 0), 0, "operands overlap"), ((0, 16), 1, "operands overlap")])
def test_parts_of_a_join_must_be_at_their_positions(offsets, axis, match):
    """An input may be in the memory of the output only where it would be copied to."""
    b = Builder()
    x = b.arg(0, (2, 2))
    b.slots += [SlotSpec(RESULT, F32, (2, 2), 0, at) for at in offsets]
    b.slots += [SlotSpec(RESULT, F32, (2, 4) if axis else (4, 2), 0, 0)]
    b.add("exp", (x,), (1,))
    b.add("negative", (x,), (2,))
    b.add("concat", (1, 2), (3,), axis=axis)
    results = [(RESULT, 0, F32, (2, 4) if axis else (4, 2))]
    if match:
        refused(b, 1, results, match, [df.zeros([2, 2])])
    else:
        program = b.build(1, results)
        assert program.run([df.zeros([2, 2])])[0].tolist() == [[1, 1]] * 2 + [[0, 0]] * 2


@pytest.mark.parametrize("part", ["copied", "overwritten"])
def test_part_of_a_join_may_be_read_later_only_if_it_is_unchanged(part):
    b = Builder()
    x, out = b.arg(0, (4,)), b.result(0, (4,))
    b.slots += [SlotSpec(ARENA, F32, (4,), 0, 0), SlotSpec(ARENA, F32, (4,), 0, 16),
                SlotSpec(ARENA, F32, (8,), 0, 0)]
    b.reserve(32)
    b.add("exp", (x,), (2,))
    b.add("exp", (x,), (3,))
    b.add("concat", (2, x if part == "overwritten" else 3), (4,), axis=0)
    b.add("multiply", (2, 3), (out,))
    results = [(RESULT, 0, F32, (4,))]
    if part == "overwritten":
        refused(b, 1, results, "has been overwritten since", [df.zeros([4])])
    else:
        assert b.build(1, results).run([df.zeros([4])])[0].tolist() == [1, 1, 1, 1]
