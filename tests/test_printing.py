"""df.print and Python's print: immediate in eager mode, on each call and in order when traced."""

import builtins
import io
import threading

import pytest

import dualflow as df


def test_print_eagerly(capsys):
    df.print("x", df.constant([1., 2.]), 3, {"a": [df.Variable(4.), "s"]}, sep=", ", end="!\n")
    assert capsys.readouterr().out == "x, [1. 2.], 3, {'a': [4.0, 's']}!\n"


def test_print_without_arguments_and_to_a_stream(capsys):
    stream = io.StringIO()
    df.print(output_stream=stream)
    df.print("a", output_stream=stream)
    assert stream.getvalue() == "\na\n"
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("summarize, text", [
    (1, "[0 ... 9]"), (2, "[0 1 ... 8 9]"), (-1, "[0 1 2 3 4 5 6 7 8 9]"),
    (None, "[0 1 2 3 4 5 6 7 8 9]")])
def test_summarize(capsys, summarize, text):
    df.print(df.range(10), summarize=summarize)
    assert capsys.readouterr().out == text + "\n"


def test_traced_prints_each_time_and_in_order(capsys):
    v = df.Variable(1.)

    @df.function
    def f(x):
        df.print("first", x)
        v.assign_add(1.)
        df.print("second", v, [x * 2.])
        v.assign_add(1.)
        df.print("third", v)
        return x

    for k in (1., 5.):
        f(df.constant(k))
    assert capsys.readouterr().out == (
        "first 1.0\nsecond 2.0 [2.0]\nthird 3.0\nfirst 5.0\nsecond 4.0 [10.0]\nthird 5.0\n")


def test_text_without_tensors_is_printed_on_each_call(capsys):
    @df.function
    def f(x):
        df.print("here")
        return x

    f(df.constant(1.))
    f(df.constant(1.))
    assert capsys.readouterr().out == "here\nhere\n"


def test_current_python_values_are_printed(capsys):
    given = [1]

    @df.function
    def f(x):
        df.print(given, x, [given, x])
        return x

    f(df.constant(2.))
    given.append(2)
    f(df.constant(2.))
    assert capsys.readouterr().out == "[1] 2.0 [[1], 2.0]\n[1, 2] 2.0 [[1, 2], 2.0]\n"


def test_python_print_of_traced_values(capsys):
    v = df.Variable(1., name="v")

    @df.function
    def f(x):
        print("tracing", f"{x}")
        print("x", x, v, sep=": ")
        return x + 1.

    f(df.constant(1.))
    f(df.constant(2.))
    shown = ("x: <dualflow.Tensor shape=() dtype=float32 {}.0>: "
             "<dualflow.Variable 'v' shape=() dtype=float32 1.0>\n")
    assert capsys.readouterr().out == (
        "tracing <dualflow.Symbol 'x:0' shape=() dtype=float32>\n"
        + shown.format(1) + shown.format(2))


def test_python_print_goes_to_its_file(capsys):
    stream = io.StringIO()

    @df.function
    def f(x):
        print(x, file=stream, flush=True)
        return x

    f(df.constant(1.))
    assert "1.0" in stream.getvalue()
    assert capsys.readouterr().out == ""


def test_python_print_is_restored():
    before = builtins.print

    @df.function
    def f(x):
        assert builtins.print is not before
        raise KeyError("stop")

    with pytest.raises(KeyError):
        f(df.constant(1.))
    assert builtins.print is before


def test_other_threads_print_at_once(capsys):
    @df.function
    def f(x):
        thread = threading.Thread(target=lambda: print("other", df.constant(7.).item()))
        thread.start()
        thread.join()
        print("traced", x)
        return x

    before = builtins.print
    f(df.constant(1.))
    out = capsys.readouterr().out
    assert out.startswith("other 7.0\ntraced")
    assert builtins.print is before


def test_str_of_a_traced_tensor_describes_it():
    @df.function
    def f(x):
        assert str(x) == f"{x}" == repr(x) == "<dualflow.Symbol 'x:0' shape=(2,) dtype=float32>"
        return x

    f(df.constant([1., 2.]))


def test_str_of_a_graph_tensor_describes_it(capsys):
    g = df.Graph()
    with g.as_default():
        x = g.placeholder([2], name="x")
        print(x)
    assert 'Tensor("x:0", shape=(2,), dtype=float32)' in capsys.readouterr().out
    assert len(g.nodes) == 1


def test_exceptions_of_the_stream_are_raised(capsys):
    stream = io.StringIO()
    stream.close()

    @df.function
    def f(x):
        df.print(x, output_stream=stream)
        return x

    with pytest.raises(ValueError, match="closed file"):
        f(df.constant(1.))


def test_nested_functions_print_in_order(capsys):
    @df.function
    def inner(x):
        df.print("inner", x)
        return x * 2.

    @df.function
    def outer(x):
        df.print("before", x)
        y = inner(x)
        df.print("after", y)
        return y

    outer(df.constant(1.))
    assert capsys.readouterr().out == "before 1.0\ninner 1.0\nafter 2.0\n"
