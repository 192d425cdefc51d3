"""The specification of a program: printed, compared, and built without the compiler."""

import re
from pathlib import Path
from textwrap import dedent

import numpy as np
import pytest

import dualflow as df
from dualflow._core import Attrs, Executable, Op, Program, get_op, make_attrs
from dualflow.graph.ir import Line
from dualflow.graph.program.compile import source
from dualflow.graph.program.spec import (
    SLOT_KINDS,
    ArgumentSpec,
    InstructionSpec,
    ProgramSpec,
    ResultSpec,
    SlotKind,
    SlotSpec,
    VariableSpec,
)
from dualflow.graph.trace.parameters import Argument, Feed

ROOT = Path(__file__).resolve().parents[2]
X = df.constant([[1., 2., 3.], [4., 5., 6.]])


def spec_of(f, *args, passes=True):
    return df.function(f, passes=passes).compiled_for(*args).spec


def test_slot_kinds_match_c():
    header = (ROOT / "csrc/exec/program.h").read_text()
    body = re.search(r"typedef enum \{([^}]*)\} df_slot_kind;", header)[1]
    assert re.findall(r"DF_SLOT_(\w+)", body) == [kind.name for kind in SLOT_KINDS]
    assert [getattr(SlotKind, kind.name) for kind in SLOT_KINDS] == list(SLOT_KINDS)
    assert list(SLOT_KINDS) == list(range(len(SLOT_KINDS)))


def test_text_of_a_program():
    v = df.Variable([1., 2., 3.], name="v")

    @df.function(name="f", passes=False)
    def f(x):
        y = df.reduce_sum(x * v, axis=1)
        v.assign_add([1., 1., 1.])
        return y, x, df.boolean_mask(y, y > 20.)

    spec = f.compiled_for(X).spec
    assert spec.text(lines=False) == dedent("""\
        program f, arena of 128 bytes:
          argument 0: x, float32 (2, 3), leaf 0
          argument 1: variable v, float32 (3,), written
          constant 0: [1.0, 1.0, 1.0], float32 (3,)
          constant 1: 20.0, float32 ()
          %0: float32 (2, 3) in argument 0
          %1: float32 (3,) in argument 1
          %2: float32 (2, 3) in arena at 0
          %3: float32 (2,) in result 0
          %4: float32 (3,) in constant 0
          %5: float32 () in constant 1
          %6: bool (2,) in arena at 0
          %7: int64 (?, 1) allocated when it runs, until 5
          %8: float32 (?,) allocated when it runs, until 6
          0: %2 = multiply(%0, %1)
          1: %3 = reduce_sum(%2, axes=(1,), keepdims=False) with workspace at 64
          2: assign_add(%1, %4)
          3: %6 = greater(%3, %5)
          4: %7 = where_indices(%6)
          5: %8 = gather_nd(%3, %7, axis=0, batch_dims=0)
          return result 0 float32 (2,), argument 0 float32 (2, 3), %8 float32 (?,)""")
    assert f"0: %2 = multiply(%0, %1)    # {__file__}:" in str(spec)
    assert [x.line.function for x in spec.instructions] == ["f"] * len(spec.instructions)


def test_text_shows_the_origin_of_arguments():
    @df.function
    def f(x, n):
        return x * (n + 1) + df.random.normal([2, 3])

    for n in (2., 3., 4.):
        f(X, n)
    spec = f.compiled_for(X, 5.).spec
    assert [line.strip() for line in str(spec).splitlines()[1:4]] == [
        "argument 0: x, float32 (2, 3), leaf 0",
        "argument 1: number, float32 (), a number, add(leaf 1, 1)",
        "argument 2: key, int64 (2,), from GeneratorState._next at each run"]
    assert isinstance(spec.arguments[2].source, Feed)
    assert spec.arguments[1].source.make([X, 5.]).item() == 6.


def test_specs_compare_by_value():
    v, w, c = df.Variable([1., 2., 3.]), df.Variable([1., 2., 3.]), [1., 2., 3.]

    def f(v, c):
        def f(x):
            v.assign_add(df.constant(c))
            return x * v
        return spec_of(f, X, passes=False)

    spec = f(v, c)
    assert spec == f(v, c)
    assert spec != "a spec"
    assert spec != f(w, c)
    assert spec != f(v, [1., 2., 4.])
    assert spec != spec_of(lambda x: x * v, X, passes=False)
    assert VariableSpec(v, True) == VariableSpec(v, True) != VariableSpec(v, False)
    assert VariableSpec(v, True) != VariableSpec(w, True)
    first = spec.instructions[0]
    assert first._replace(line=Line("f.py", 1, "f")) != first


def by_hand(n=3):
    """Return a program: result 0 = row sums of (x * v), v += first row of x; x is returned as
    well."""
    given = SlotKind.ARG, df.float32
    slots = (SlotSpec(*given, (2, n)), SlotSpec(*given, (n,), 1), SlotSpec(*given, (n,), 0, 4 * n),
             SlotSpec(SlotKind.ARENA, df.float32, (2, n)),
             SlotSpec(SlotKind.RESULT, df.float32, (2,)))
    total = get_op("reduce_sum")
    instructions = (
        InstructionSpec(get_op("multiply"), (0, 1), (3,)),
        InstructionSpec(total, (3,), (4,), make_attrs(total, axes=[1], keepdims=False),
                        workspace=64),
        InstructionSpec(get_op("assign_add"), (1, 2), ()))
    v = df.Variable(np.arange(n).astype("float32"))
    return ProgramSpec(
        "by_hand", slots, instructions,
        (ArgumentSpec(Argument(0, "x"), df.float32, (2, n), "x"),), (VariableSpec(v, True),), (),
        (ResultSpec(SlotKind.RESULT, 0, df.float32, (2,)),
         ResultSpec(SlotKind.ARG, 0, df.float32, (2, n))), 128)


def test_handwritten_program_runs():
    spec = by_hand()
    v = spec.variables[0].variable
    executable = Executable(Program(spec), [0], [v], [True])
    total, same = executable.run([X])
    assert same is X
    assert total.tolist() == [8., 17.]
    assert v.tolist() == [4., 6., 8.]


@pytest.mark.parametrize(("place", "change", "message"), [
    (("slots", 3), {"offset": 108}, "ends at 132 of an arena of 128"),
    (("slots", 2), {"number": 2}, "refers to argument or result 2 of 2"),
    (("slots", 4), {"shape": (3,)}, "the program declares"),
    (("instructions", 0), {"inputs": (0, 9)}, "bad inputs"),
    (("instructions", 0), {"outputs": (-1,)}, "bad outputs"),
    (("instructions", 1), {"attrs": None}, "bad attributes"),
    (("instructions", 1), {"workspace": None}, "needs 64 bytes of workspace"),
    (("instructions", 1), {"workspace": 999}, "bad workspace"),
    (("results", 1), {"number": 2}, "cannot return value 2"),
])
def test_c_rejects_invalid_specs(place, change, message):
    spec = by_hand()
    field, k = place
    parts = list(getattr(spec, field))
    parts[k] = parts[k]._replace(**change)
    with pytest.raises(ValueError, match=message):
        Program(ProgramSpec(**{**vars(spec), field: tuple(parts)}))


def training_step():
    """Return a function that reads and writes variables, draws random numbers, takes a number."""
    rng = np.random.default_rng(0)
    w = [df.Variable(rng.normal(size=s).astype("float32")) for s in ((3, 4), (4,))]
    generator = df.random.Generator(3)

    @df.function
    def step(x, rate):
        with df.GradientTape() as tape:
            y = df.nn.relu(x @ w[0] + w[1]) * generator.uniform([2, 4])
            loss = df.reduce_mean(df.boolean_mask(y, y > .1))
        for v, g in zip(w, tape.gradient(loss, w), strict=True):
            v.assign_sub(g * (rate * 2))
        return loss, x

    for rate in (.1, .2, .3):
        step(X, rate)
    return step, w


def executable_of(spec):
    return Executable(Program(spec), list(map(source, spec.arguments)),
                      [x.variable for x in spec.variables], [x.written for x in spec.variables])


def test_spec_suffices_to_run_a_program():
    step, w = training_step()
    spec = step.compiled_for(X, .1).spec
    del step
    other, u = training_step()
    again = executable_of(spec)
    for rate in (.1, .5):
        got, want = again.run([X, rate]), other(X, rate)
        assert [x.numpy().tobytes() for x in got] == [x.numpy().tobytes() for x in want]
        assert [v.numpy().tobytes() for v in w] == [v.numpy().tobytes() for v in u]


def test_spec_holds_only_serialisable_values():
    def parts(x):
        if isinstance(x, ProgramSpec | VariableSpec):
            x = tuple(vars(x).values())
        if isinstance(x, Feed):
            feeds.append(x)
        elif isinstance(x, tuple):
            for part in x:
                yield from parts(part)
        else:
            yield x

    feeds = []
    spec = training_step()[0].compiled_for(X, .1).spec
    found = {type(x) for x in parts(spec)}
    assert found <= {str, int, float, bool, type, type(None), SlotKind, df.DType, df.Tensor,
                     df.Variable, Op, Attrs}
    assert {Op, Attrs, df.Tensor, df.Variable, type} <= found and len(feeds) == 1
