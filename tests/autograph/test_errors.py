"""Errors of unsupported control flow on tensors: they name the user's line, the variable, both
definitions, and a replacement."""

import re
import traceback

import pytest

import dualflow as df
from dualflow.errors import DTypeError, InvalidArgumentError, ShapeError, TracedValueError
from tests.autograph.referee import compiled, tensor


def fails(text, kind, says, line, *args, **names):
    """Trace a function from text; it must fail at a line with a message, which is returned."""
    f = compiled(text, **names)
    with pytest.raises(kind, match=says) as info:
        df.function(f)(*[x if isinstance(x, df.TensorBase) else tensor(x) for x in args])
    file = f.__code__.co_filename
    lines = [x.lineno for x in traceback.extract_tb(info.value.__traceback__) if x.filename == file]
    assert lines and lines[-1] == line, f"at {lines}, expected {line}"
    return str(info.value)


def test_variable_assigned_in_one_branch_only():
    says = fails("""
        def f(x):
            if x > 0:
                y = x * 2
            return y
        """, InvalidArgumentError, "y is assigned in one branch only of the `if` at .*:3,.*"
        "give it a value before the `if`", 5, 1)
    assert "int32 (), made at <test" in says and ":4, in f" in says
    assert "in the second one it has no value" in says and re.search("read at .*:5: in", says)


def test_branches_of_different_dtypes():
    says = fails("""
        def f(x):
            if x > 0:
                y = x * 2
            else:
                y = df.cast(x, "float32") / 2.
            return y
        """, DTypeError, "y differs between the branches at .*:3,.* int32 .* float32 .*cast", 3, 1)
    assert ":4, in f" in says and ":6, in f" in says


def test_branches_of_different_ranks():
    fails("""
        def f(x):
            if x > 0:
                y = df.stack([x, x])
            else:
                y = x
            return y
        """, ShapeError, r"y differs .* int32 \(2,\).* int32 \(\).*rank", 3, 1)


def test_branches_of_different_structures():
    fails("""
        def f(x):
            if x > 0:
                y = x, x
            else:
                y = x
            return y
        """, InvalidArgumentError, "y differs .*a tuple of 2 in the first, int32", 3, 1)


def test_branches_with_and_without_a_result():
    fails("""
        def f(x):
            if x > 0:
                return x
        """, InvalidArgumentError, "the return value differs .* None in the second", 3, 1)


def test_branches_with_different_strings():
    fails("""
        def f(x):
            name = "a"
            if x > 0:
                name = "b"
            return {name: x}
        """, InvalidArgumentError, "name differs .*'b' in the first, 'a' in the second", 4, 1)


def test_conditional_expressions():
    fails("def f(x):\n    return x if x > 0 else 'no'\n", InvalidArgumentError,
          "conditional expression differs .*'no'", 2, 1)


def test_carry_that_changes_dtype():
    says = fails("""
        def f(x):
            while x < 10:
                x = df.cast(x, "float32") * 1.5
            return x
        """, DTypeError, r"x is int32 .*before the `while` and float32 .* after an iteration; cast",
        3, 1)
    assert ":4, in f" in says


def test_carry_that_changes_shape():
    says = fails("""
        def f(x):
            while df.reduce_sum(x) < 10:
                x = df.concat([x, x], 0)
            return x
        """, ShapeError, r"x is int32 \(2,\).* int32 \(4,\).*shape_invariants", 3, [1, 2])
    assert "argument" not in says


def test_carry_that_changes_structure():
    fails("""
        def f(x):
            p = x, x
            while p[0] < 10:
                p = p[0] + 1, p
            return p
        """, InvalidArgumentError, "p is a tuple of 2 before", 4, 1)


def test_variable_assigned_only_in_a_loop():
    fails("""
        def f(n):
            for i in range(n):
                y = i
            return y
        """, InvalidArgumentError, "y is assigned in the `for` and read at .*:5.*before the loop",
        5, 3)


def test_list_appended_in_one_branch():
    fails("""
        def f(xs):
            out = []
            for x in xs:
                if x > 0:
                    out.append(x)
            return out
        """, InvalidArgumentError, "out differs .*append in both", 5, [1, 2])


def test_list_read_in_the_loop_that_appends():
    fails("""
        def f(xs):
            out = [xs[0]]
            for x in xs:
                out.append(out[-1] + x)
            return out
        """, InvalidArgumentError, "out has 1 items before the `for` and 2 after.*append", 4,
        [1, 2])


def test_list_of_different_structures():
    fails("""
        def f(xs):
            out = []
            for x in xs:
                out.append(x)
                out.append(df.stack([x, x]))
            return out
        """, InvalidArgumentError, "out: an iteration of the `for` appends .*dtype and shape", 4,
        [1, 2])


@pytest.mark.parametrize("jump", ["break", "continue", "return x"])
def test_jumps_in_finally(jump):
    fails(f"""
        def f(x):
            for k in range(3):
                try:
                    x = x + 1
                finally:
                    if x > 2:
                        {jump}
            return x
        """, TracedValueError, "`finally` also jumps.*set a flag there", 7, 1)


@pytest.mark.parametrize("text, says", [
    ("{y: 1 for y in df.boolean_mask(x, x > 0)}", "with append in place of a comprehension"),
    ("[*df.boolean_mask(x, x > 0)]", "iteration"), ("x.tolist()", "tolist"),
    ("[1 for y in (1, 2) if x[0] > y]", "the `if` of a comprehension"),
    ("complex(x[0])", "complex"), ("range(x[0])", "range"),
])
def test_unsupported_expressions_raise(text, says):
    fails(f"def f(x):\n    return {text}\n", TracedValueError, says, 2, [1, 2])


def test_changed_source_file_raises(tmp_path):
    path = tmp_path / "changing.py"
    path.write_text("def f(x):\n    return x if x > 0 else -x\n")
    module = {}
    exec(compile(path.read_text(), str(path), "exec"), module)
    path.write_text("def f(x):\n    return x if x > 1 else -x\n")
    with pytest.raises(TracedValueError, match=f"{re.escape(str(path))}:1 does not match"):
        df.function(module["f"])(df.constant(1))


def test_user_errors_are_raised_unchanged():
    fails("""
        def f(x):
            while x > 0:
                x = x - 1
                if x.shape == ():
                    raise KeyError("mine")
            return x
        """, KeyError, "mine", 6, 3)
    f = df.function(lambda x: x + 1)
    assert f(df.constant(1)).item() == 2


def test_raise_in_a_branch():
    def f(x):
        if x > 3:
            raise ValueError("large")
        return x

    with pytest.raises(ValueError, match="large") as info:
        df.function(f)(df.constant(1))
    assert "condition holds at run time, use assert" in info.value.__notes__[0]


def test_error_caught_in_a_branch():
    def f(x):
        if x > 0:
            try:
                x = x + df.ones([2, 3]) @ df.ones([2, 3])
            except ShapeError:
                x = x * 10
        return x

    assert [df.function(f)(df.constant(x)).item() for x in (2, -2)] == [20, -2]


@pytest.mark.parametrize("opening", ["if x > 0:", "while x > 0:", "for i in range(x):"])
def test_error_caught_around_a_tensor_branch_raises(opening):
    """Only some runs would raise the error."""
    f = compiled(f"""
        def f(x):
            try:
                {opening}
                    x = x + df.ones([2, 3]) @ df.ones([2, 3])
            except ValueError:
                x = x * 10
            return x
        """)
    with pytest.raises(TracedValueError, match=r"ShapeError .* is caught outside of .*:4, "):
        df.function(f)(df.constant(2))


def test_bare_except_does_not_stop_conversion():
    def f(x):
        try:
            y = 1 if x > 0 else 2
        except:                                                                     # noqa: E722
            y = 3
        return y

    assert [df.function(f)(df.constant(x)).item() for x in (1, -1)] == [1, 2]


def test_generators_are_not_converted():
    def f(x):
        def parts():
            if x > 0:
                yield x
        return list(parts())

    with pytest.raises(TracedValueError, match="parts is a generator"):
        df.function(f)(df.constant(1))


def test_branch_on_a_tensor_of_several_elements_raises():
    with pytest.raises(InvalidArgumentError, match=r"bool\(\) expected .*one element, got int32"):
        df.function(lambda x: 1 if x else 2)(df.constant([1, 2]))
    assert df.function(lambda x: 1 if x else 2)(df.constant([[0]])).item() == 2


def test_branches_of_different_dtypes_in_a_loop_from_a_number():
    """The number takes another dtype, but the branches must still agree."""
    says = fails("""
        def f(x):
            k, y = 0, x
            while k < x:
                k = k + 1
                if y > 3:
                    y = y * 2
                else:
                    y = df.cast(y, "float32")
            return y
        """, DTypeError, "y differs between the branches at .*:6,.* int32 .* float32 .*cast", 6, 1)
    assert ":7, in f" in says


def test_number_takes_the_dtype_added_in_a_branch():
    def f(xs):
        total = 0
        for x in xs:
            total = total + x if x > 1.5 else total - 1
        return total

    for dtype in ("float32", "float64"):
        xs = df.constant([1., 2., 3.], dtype)
        got = df.function(f)(xs)
        assert got.item() == f(xs).item() == 4. and got.dtype is xs.dtype
