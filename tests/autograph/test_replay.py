"""Functions without source: traced once per execution path, if there are few."""

import textwrap

import pytest

import dualflow as df
from dualflow.errors import DTypeError, InvalidArgumentError, TracedValueError
from tests.autograph.referee import check, tensor


def unseen(text, name="f", **names):
    """Return a function whose source text is unavailable."""
    module = {"df": df, **names}
    exec(textwrap.dedent(text), module)
    return module[name]


NUMBERS = [(0,), (3,), (-4,), (17,)]
TEXTS = {
    "if": """
        def f(x):
            if x > 0:
                x = x * 2
            elif x < -2:
                return x, 1
            return x, 0
        """,
    "two": """
        def f(x):
            y = x if x > 0 else -x
            if y > 3 and y % 2 == 1:
                y = y + 10
            return {"y": y, "same": 7}
        """,
    "numbers": "f = lambda x: 1 if x > 0 else 0",
    "match": """
        def f(x):
            match x:
                case 0 | 17:
                    return 5
                case y if y > 1:
                    return y
            return [x in (1, -4), max(x, 2)][1]
        """,
    "short loop": """
        def f(x):
            for k in range(3):
                if x > k * 4:
                    x = x - 1
            return x
        """,
    "list": """
        def f(x):
            ys = [x]
            if x > 0:
                ys.append(1)
            return sum(ys)
        """,
    "helper": """
        def g(x):
            return x * 2 if x > 3 else x
        def f(x):
            return g(x) + g(-x)
        """,
    "caught": """
        def f(x):
            try:
                return 1 if x > 0 else 2
            except:
                return 3
        """,
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_execution_paths(text):
    check(unseen(text), *NUMBERS)


def test_calls_to_and_from_converted_code():
    def loop(x):
        while x > 5:
            x = x - 2
        return x

    f = unseen("def f(x):\n    return loop(x) if x > 3 else loop(x + 9)\n", loop=loop)
    check(f, *NUMBERS)
    g = unseen("g = lambda x: x if x > 2 else -x", "g")

    def outer(x):
        return g(x) if x > -3 else g(x * 2)

    with pytest.raises(TracedValueError, match="nothing may be decided in a branch"):
        df.function(outer)(tensor(3))


def test_gradients():
    f = unseen("def f(x):\n    y = x * x if x > 0 else -x\n    return y * 3. if y > 2 else y\n")

    def gradient(f, x):
        with df.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        return tape.gradient(y, x)

    for x in (1., 2., -1., -3.):
        x = df.constant(x)
        want = gradient(f, x).item()
        assert gradient(df.function(f), x).item() == want
        assert df.function(lambda x: gradient(f, x))(x).item() == want


def test_variables_written_after_a_branch():
    v = df.Variable(1)
    f = df.function(unseen("""
        def f(x):
            if x > 0:
                v.assign_add(x)
            else:
                v.assign(0)
            return v + 1
        """, v=v))
    assert [f(tensor(x)).item() for x in (3, 2, -1, 5)] == [5, 7, 1, 6]


@pytest.mark.parametrize("text, says", [
    ("def f(x):\n    while x > 0:\n        x = x - 1\n    return x\n", "at most 16 paths"),
    ("def f(x):\n    v.assign(x)\n    return 1 if v > 0 else 2\n", "nothing may be written"),
    ("def f(x):\n    return [y for y in df.unique(df.stack([x, x]))[0]]\n", "iteration"),
])
def test_too_many_paths_raise(text, says):
    with pytest.raises(TracedValueError, match=r"the source of f is not available .*a file or a "
                                               r"notebook, or use dualflow\.cond") as info:
        df.function(unseen(text, v=df.Variable(0)))(tensor(3))
    assert says in str(info.value)


def test_paths_with_different_results_raise():
    with pytest.raises(InvalidArgumentError, match=r"the return value differs between the "
                                                   r"branches at <string>:2,.*'no' in the second"):
        df.function(unseen("def f(x):\n    return x if x > 0 else 'no'\n"))(tensor(3))
    with pytest.raises(DTypeError, match="cast"):
        df.function(unseen("def f(x):\n    return x if x > 0 else x / 2\n"))(tensor(3))


def test_without_autograph():
    f = unseen("f = lambda x: 1 if x > 0 else 0")
    with pytest.raises(TracedValueError, match="bool"):
        df.function(f, autograph=False)(tensor(3))
