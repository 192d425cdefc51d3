"""Python builtins on traced tensors behave as in eager mode: results and gradients have equal bits,
with and without passes; errors name the builtin and the user's line."""

import numpy as np
import pytest

import dualflow as df
from dualflow.errors import TracedValueError
from dualflow.nest import flatten
from tests.autograph.referee import compiled
from tests.autograph.test_errors import fails

NAN = float("nan")
SETS = [                # argument tuples (x, y, m, s, t, i, j, k, b, c, d)
    ([.5, -1.5, 2., 2., -.25], [1., -1.5, 3., .5, 0.], [[1., -2.], [0., 3.], [2.5, .5]],
     1.5, -.5, 3, 2, [3, -1, 2, 3], True, [True, False, True], .1),
    ([-3., -1., -2., -7., -.0], [0., 1., 3., 1., 0.], [[0., 0.], [-1., 3.], [2.5, -.5]],
     -.5, -.5, -1, 2, [0, 0, 0, 2], False, [False, False, False], -2.7),
    ([4., 3., 2., 1., 0.], [1., 2., 3., 4., 5.], [[7., 0.], [1., 3.], [1., -.5]],
     -2.5, 3.5, 2, 0, [1, 2, 3, 4], True, [True, True, True], 1e6),
]
ARGUMENTS = "x, y, m, s, t, i, j, k, b, c, d"


def arguments(values):
    made = [df.constant(v) for v in values[:-1]]
    return [*made, df.constant(values[-1], df.float64)]


def written(text):
    """Return a function whose text is an expression to return, or statements."""
    lines = [x for x in text.strip("\n").split("\n")]
    if len(lines) == 1 and not lines[0].startswith("return "):
        lines = ["return " + lines[0].strip()]
    margin = min(len(x) - len(x.lstrip()) for x in lines if x.strip())
    body = "\n".join("    " + x[margin:] for x in lines)
    return compiled(f"import math, functools\ndef f({ARGUMENTS}):\n{body}\n")


def bits(x):
    """Return the exact value of a leaf; a Python number as a tensor converts it."""
    if isinstance(x, df.TensorBase):
        return x.numpy().tobytes(), x.dtype.name, tuple(x.shape)
    return x


def assert_equal(got, want):
    """Assert that two results are equal. A traced number may be a tensor."""
    assert type(got) is type(want) or isinstance(want, bool | int | float), (got, want)
    a, b = flatten(got), flatten(want)
    assert len(a) == len(b), (got, want)
    for x, y in zip(a, b, strict=True):
        if isinstance(x, df.TensorBase) and isinstance(y, bool | int | float):
            y = df.constant(y, x.dtype)
        if isinstance(x, df.TensorBase) or isinstance(y, df.TensorBase):
            assert bits(x) == bits(y), (x, y)
        else:
            assert repr(x) == repr(y)


def gradients(f, args):
    """Return the results of a function, and the gradients of the floating ones."""
    sources = [x for x in args if x.dtype.is_floating]
    with df.GradientTape() as tape:
        tape.watch(sources)
        y = f(*args)
        leaves = [df.identity(z) for z in flatten(y) if hasattr(z, "__df_tensor__")
                  or isinstance(z, df.TensorBase)]
        parts = [df.reduce_sum(df.sin(df.cast(z, df.float64))) for z in leaves
                 if z.dtype.is_floating]
        loss = df.add_n(parts) if parts else df.constant(0., df.float64)
    return y, tape.gradient(loss, sources, unconnected_gradients="zero")


def same(text, sets=SETS):
    f = written(text)
    for passes in (True, False):
        traced = df.function(f, passes=passes)
        inside = df.function(lambda *args: gradients(f, args), passes=passes)
        for values in sets:
            args = arguments(values)
            want, slopes = gradients(f, args)
            got, found = gradients(traced, args)
            assert_equal(got, want)
            for a, b in zip(found, slopes, strict=True):
                assert bits(a + 0.) == bits(b + 0.), (text, a, b)
            got, found = inside(*args)
            assert_equal(got, want)
            for a, b in zip(found, slopes, strict=True):
                assert bits(a + 0.) == bits(b + 0.), (text, a, b)


PROGRAMS = r"""
a, p, q = m\nreturn a * p - q
(a, p), q, r = m\nreturn a * p, q * r
a, *rest = x\nreturn a, rest
[v * 2. for v in x]
[v * 2. if v > 0. else v for v in x]
{n: v * s for n, v in zip("abcde", x)}
df.stack([v + w for v, w in zip(x, y)])
df.stack([u * n for n, u in enumerate(x)])
[w for v in m for w in v]
[v for n, v in enumerate(x) if n % 2]
list(x)
tuple(m)
sum(x)
sum(x, s)
sum(m)
sum(v * v for v in x)
sum([v for v in x], start=t)
sum(c)
[*x]
[*x, *y][2:8:2]
df.stack([*x])
list(enumerate(x, 2))
list(zip(x, y))
list(map(df.sin, x))
list(map(lambda v, w: v * w, x, y))
list(map(abs, x))
list(reversed(x))
[v for v in reversed(m)]
dict(zip("abc", m))
max(s, t)
max(t, s)
min(s, t)
max(s, t, 0.)
max(x)
min(x)
max(*x)
max([s, t * 2., s * t])
max(i, j)
min(i, j, 0)
max(s, 0.)
min(0., s)
max(x, key=abs)
min(x, key=lambda v: -v * v)
max(list(zip(x, y)), key=lambda p: p[1])
max(zip(y, x), key=lambda p: p[0])[1]
max(enumerate(x), key=lambda p: p[1])
max((v * v for v in x), default=0.)
max([], default=s)
max(x) - min(x)
functools.reduce(max, x)
functools.reduce(min, [s, t, x[0]])
sorted(x)
sorted(x, reverse=True)
sorted(k)
sorted(k, reverse=True)
sorted([s, t, s * t])
sorted(x, key=abs)
sorted(x, key=lambda v: -v)
sorted(zip(x, y), key=lambda p: p[0])
sorted(zip(x, y), key=lambda p: p[0], reverse=True)
sorted(m, key=lambda r: r[1])
sorted(c)
sorted([3, 1, 2], key=lambda n: x[n])
sorted([s, 0., t])
df.stack(sorted(x))
any(c)
all(c)
any(x)
all(x)
any(v > 1. for v in x)
all(v > -3. for v in x)
any([s > 0., t > 0.])
all([s > 0., t > 0., b])
all([b, True])
any([False, b])
any(v > w for v, w in zip(x, y))
1. if any(v > 2. for v in x) else 0.
any([])
not any(v > 3. for v in x)
abs(s), abs(x), abs(i)
round(s), round(x)
divmod(i, 3), divmod(s, t)
divmod(7, j + 1)
pow(s, 2), pow(x, 2.), pow(2., s)
len(x), len(m), len(list(x))
bool(s)
bool(i), bool(b)
bool(s > t)
x if bool(s) else y
s * 2. if bool(i > 2) and bool(b) else t
not bool(i)
int(s)
int(s) * i
int(s) * s
x * int(d)
int(i) + 1
int(b)
int(d)
int(s * 7.9) // 2
x * float(i)
x * float(s)
float(s)
float(i) * 2.
float(d) * d
x * float(d > 0.)
i in [1, 2, 3]
i not in [1, 2, 3]
i in (j, j + 1)
s in [1.5, 2.]
s in x
1.5 in x
3 in k
i in k
i not in k
i in range(3)
i in range(0, 10, 2)
2 in [i, j]
s in [s]
x if i in (2, 3) else y
i in []
i in {2: 1}
isinstance(x, df.Tensor), isinstance(s, int)
list(filter(None, [1, 0, 2]))
[v for v in filter(lambda n: n > 1, [1, 2, 3])]
[*map(int, x)]
[*map(float, k)]
[*map(bool, x)]
sum(map(int, x))
sum(int(v > 0.) for v in x)
sum(1 if v > 0. else 0 for v in x)
sum(v if v > 0. else 0. for v in x)
sum(v * w for v, w in zip(x, y))
math.prod([v for v in x])
[max(v, w) for v, w in zip(x, y)]
[min(max(v, -1.), 1.) for v in x]
max(sum(v) for v in m)
[sorted(v) for v in m]
list(zip(*m))
[sum(v) for v in zip(*m)]
[a - p for a, p in m]
df.concat([v[None] for v in m], 0)
df.add_n([*m])
dict(enumerate(x))
(lambda *v: v[0] * v[-1])(*x)
(lambda a, p, q: a - p * q)(*m)
next(iter(x))
max(x, default=3.)
min(m[0])
max(i, 2) * s
max(d, 0.5)
max(s, s * 1.)
sorted(sorted(x, key=abs), key=lambda v: v > 0.)
{int(n): v for n, v in zip([1, 2, 3], m)}
[x[n] for n in range(len(x))]
str(len(x))
max(map(abs, x))
list(x) + list(y)
list(x)[::-1]
x[max(1, 2)]
set(map(len, m))
sum(k) + max(k)
abs(min(x)) + abs(max(x))
any(map(lambda v: v > 1., x))
all(map(bool, x))
[s, t].index(s)
sum(v for v in x if v > 0.)
sum((v * w for v, w in zip(x, y) if v > 0. if w > 1.), s)
sum(1 for v in x if v in y)
sum(v for n, v in enumerate(x) if n % 2)
any(v > 1. for v in x if v < 3.)
all(v > 1. for v in x if v > 0.)
not any(v for v in c if i > 2)
[s, t, s * t][j]
[s, t, s * t][-j - 1]
[1, 2, 3, 4][j] * i
(x, y)[int(i > 2)] * s
[(s, t), (t, s * 2.)][int(s > 0.)]
[x[n] * [1., 2., 3.][j] for n in range(3)]
int(i) in {1, 2, 3}
int(i) not in {3: s}
i in {1, 2, 3}
s in range(4)
int(s) in range(0, -10, -3)
int(d) in range(10 ** 6 + 1)
isinstance(int(s), int), isinstance(float(s), int), isinstance(bool(s) , bool), isinstance(i, int)
isinstance(int(s) + 1, int | str)
list(map(max, x, y))
[max(p) for p in zip(x, y)]
f"{len(x)}", f"{s}"[:0]
{"a": s}.get("a", t), {"a": s}.get(s, t)
""".strip().split("\n")
BLOCKS = ["""
total = 0.
for v in [w * 2. for w in x]:
    if v > 0.:
        total = total + v
return total
""", """
total = 0.
for v in x:
    total += max(v, 0.)
return total
""", """
best = x[0]
for v, w in zip(x, y):
    best = max(best, v * w)
return best
""", """
n = 0
while n < max(i, 3):
    n += 1
return n
""", """
out = []
for v in m:
    out.append(max(v) if any(w > 1. for w in v) else min(v))
return df.stack(out)
""", """
for v in x:
    if v in y:
        return v
return s
""", """
a, p, q = sorted([s, t, s * t])
if a < p:
    return a, q
return q, a
""", """
count = 0
for v in x:
    count += int(v > 0.)
return count
""", """
total = s * 0.
for v in map(df.sin, x):
    total = total + v
return total
""", """
total = s * 0.
for v, w in map(lambda a, p: (a * p, a), x, y):
    total = total + v * w
return total
""", """
if all(v > 0. for v in x):
    return min(x)
elif any(v > 1. for v in y):
    return max(y)
return s
""", """
def clipped(v, low, high):
    return max(low, min(v, high))
return clipped(s, t, 1.), [clipped(v, -1., 1.) for v in x]
""", """
def max(a, p):
    return a - p
return max(s, t)
""", """
sum = lambda v: v[0]
return sum(x) if s > 0. else x[1]
""", """
top = sorted(x, reverse=True)[:2]
return top[0] - top[1]
""", """
d = {"a": s, "b": t}
return max(d.values()), max(d, key=d.get) if False else min(d.values())
""", """
n = int(s)
if n > 0:
    return x * n
return y * n
""", """
n = int(i)
total = 0
for z in range(n):
    total += z
return total
""", """
n = bool(s > t)
if n:
    s = s + 1.
return s, n
""", """
z = float(s)
while z < 10.:
    z = z * 2. + 1.
    if z < -5.:
        break
return z
""", """
with df.name_scope("a"):
    low, high = min(x), max(x)
return (x - low) / (high - low + 1.)
"""]


# --- lengths known only at run time --------------------------------------------------------------

BY_DATA = """
[v * 2. for v in z]
[v * n for n, v in enumerate(z)]
[v - w for v, w in zip(z, reversed(z))]
[a * s for a in map(df.sin, z)]
[df.stack([v, s]) for v in z]
[k * 2 for k in range(i)]
[s * k for k in range(1, i + 3, 2)]
df.stack([v * s for v in z])
sum(z)
sum(z, s)
sum([v * v for v in z])
sum([k * k for k in range(i)])
max([k * k for k in range(j + 1)])
len(z), len([v for v in z])
any(z), all(z)
2. in z, 3. not in z
df.concat([z, x], 0)[max(len(z), 1)]
1 if len(z) else 0
""".strip().split("\n")


@pytest.mark.parametrize("text", BY_DATA)
def test_builtins_of_data_dependent_length(text):
    same(f"z = df.boolean_mask(x, x > -2.5)\nreturn {text}", SETS)


@pytest.mark.parametrize("text", ["max(z)", "min(z)", "max(z, key=abs)",
                                  "min(z, key=lambda v: -v)"])
def test_max_and_min_of_data_dependent_rows(text):
    same(f"z = df.boolean_mask(x, x > -2.5)\nreturn {text}")


@pytest.mark.parametrize("text", [x.replace("\\n", "\n") for x in PROGRAMS] + BLOCKS)
def test_builtins_match_eager_mode(text):
    same(text)


# --- unsupported in a graph ----------------------------------------------------------------------

@pytest.mark.parametrize("text, says", [
    ("list(z)", r"list\(\) of a traced tensor .*depends on data .*use a `for` statement"),
    ("tuple(z)", r"tuple\(\) of"), ("sorted(z)", r"sorted\(\) of"), ("set(z)", r"set\(\) of"),
    ("list(map(df.sin, z))", r"map\(\) of"), ("list(zip(z, x))", r"zip\(\) of"),
    ("list(enumerate(z))", r"enumerate\(\) of"), ("list(reversed(z))", r"reversed\(\) of"),
    ("[*z]", "iteration needs .*unpacking"), ("max(z, default=0.)", r"max\(\) of"),
    ("{v: 1 for v in z}", "iteration needs"), ("sum(v for v in z)", "iteration needs"),
    ("list(range(n))", r"range\(\) of a traced tensor .*or dualflow\.range\(n\)"),
    ("sum(range(n))", r"range\(\) of"), ("range(n)[0]", r"range\(\) of"),
    ("[v for v in x if v > 0.]", "the `if` of a comprehension: .*boolean_mask"),
    ("next(v for v in x if v > 0.)", "the `if` of a comprehension"),
    ("max(v for v in x if v > 0.)", "the `if` of a comprehension"),
    ("list(filter(lambda v: v > 0., x))", r"filter\(\) by the truth of .*boolean_mask"),
    ("list(filter(None, x))", r"filter\(\) by the truth"),
    ("__import__('math').sin(x[0])", r"float\(\) needs .*dualflow\.sin for math\.sin"),
    ("__import__('math').sin(float(x[0]))", r"float\(\) needs .*dualflow\.sin for math\.sin"),
    ("complex(x[0])", r"complex\(\) needs"), ("hex(n)", "use as an index"),
    ("{3: x}[int(n)]", "the item of a dict by the number of .*dualflow.switch_case"),
    ("{3: x}.get(int(n) + 1)", "the item of a dict by the number"),
    ("f'{int(n)}'", "the text of the number .*dualflow.print"),
    ("str(float(x[0]))", "the text of the number"), ("f'{x[0]:.2f}'", "formatting as a number"),
    ("[min, max][n](x)", "use as an index"), ("'abc'[n]", "use as an index"),
])
def test_unavailable_values_raise(text, says):
    message = fails(f"""
        def f(x, n):
            z = df.boolean_mask(x, x > 0.)
            return {text}
        """, TracedValueError, says, 4, [1., -2., 3.], 3)
    assert "made at" in message or "argument" in message


@pytest.mark.parametrize("text, kind, says", [
    ("max(n, 1.5)", df.errors.DTypeError, r"max\(\) differs .*cast"),
    ("max('ab', key=lambda c: x[ord(c) - 97])", ValueError, r"max\(\) differs"),
    ("sorted('ab', key=lambda c: x[ord(c) - 97])", ValueError, r"sorted\(\): an item must be"),
    ("sorted([n, 1.5])", ValueError, r"sorted\(\): a key must have one dtype"),
    ("max(x[:0])", ValueError, "arg is an empty sequence|empty"),
    ("bool(x)", ValueError, r"bool\(\) expected a tensor with one element"),
    ("int(x)", ValueError, r"int\(\) expected a tensor with one element"),
    ("float(x)", ValueError, r"float\(\) expected a tensor with one element"),
    ("max(x[0], x[1], default=2)", TypeError, "default"),
    ("max()", TypeError, "at least 1 argument"),
])
def test_invalid_arguments_raise(text, kind, says):
    fails(f"""
        def f(x, n):
            return {text}
        """, kind, says, 3, [1., -2., 3.], 3)


@pytest.mark.parametrize("value, kind, says", [
    (NAN, ValueError, "cannot convert float NaN to integer"),
    (float("inf"), OverflowError, "cannot convert float infinity to integer"),
    (3e9, OverflowError, r"int\(\) of a traced float32: 3000000000 does not fit in int32"),
])
def test_int_of_values_out_of_range_raises(value, kind, says):
    f = df.function(compiled("def f(x):\n    return int(x) * 2\n"))
    assert f(df.constant(-2.7)).item() == -4
    with pytest.raises(kind, match=says):
        f(df.constant(value))
    assert f(df.constant(1e5)).item() == 200_000


@pytest.mark.parametrize("text", ["max(x)", "min(x)", "max(x, key=lambda v: -v)", "x[1] in x",
                                  "max(*x[::-1])", "any(x)", "min(x[2], x[1])", "1. in x"])
def test_comparisons_of_nan(text):
    f = compiled(f"def f(x):\n    return {text}\n")
    for values in ([1., NAN, 2.], [NAN, 1., NAN], [3., 2., NAN]):
        x = df.constant(values)
        got, want = df.function(f)(x).numpy(), np.asarray(f(x), df.function(f)(x).dtype.name)
        assert got.tobytes() == want.tobytes() or (np.isnan(got) and np.isnan(want))


def test_items_are_evaluated_lazily_in_order():
    v = df.Variable(0)
    f = compiled("""
        def f(x):
            def more(y):
                v.assign_add(1)
                return y > 2.
            return any(more(y) for y in x), v + 0
        """, v=v)
    traced = df.function(f)
    for values in ([1., 3., 5.], [3., 1., 1.], [1., 1., 1.], [1., 1., 3.]):
        v.assign(0)
        want = [x if isinstance(x, bool) else x.item() for x in f(df.constant(values))]
        v.assign(0)
        assert [x.item() for x in traced(df.constant(values))] == want
        assert v.numpy() == want[1]


def test_numbers_have_no_gradient():
    def f(x):
        with df.GradientTape() as tape:
            tape.watch(x)
            y = x * float(x) + x * int(x) + x * bool(x)
        return tape.gradient(y, x)

    x = df.constant(2.5)
    assert df.function(f)(x).item() == f(x).item() == 5.5


def test_shadowed_builtins():
    module = {"sum": lambda x: x[1], "len": lambda x: x.shape[0] * 10}
    f = compiled("""
        def f(x, max=lambda a, b: a - b):
            any = [x[0]]
            if x[0] > 0.:
                return max(x[0], x[1]) + sum(x) + len(x) + any[0]
            return -x[0]
        """, **module)
    for values in ([1., 2.], [-1., 2.]):
        x = df.constant(values)
        assert df.function(f)(x).item() == f(x).item()


def test_builtins_of_variables():
    v = df.Variable([1., -2., 3.])
    f = compiled("""
        def f():
            return max(v), sorted(v), any(v), 1. in v, sum(v), int(v[1]), [min(w, 0.) for w in v]
        """, v=v)
    got = df.nest.flatten(df.function(f)())
    assert [float(x) for x in got] == [float(x) for x in df.nest.flatten(f())]


def test_code_of_converted_builtins():
    text = df.autograph.to_code(compiled("def f(x, y):\n    return max(x, abs(y)) in (x, y)\n"))
    assert text.split("return ")[1] == "ag.in_(ag.call(max, x, abs(y)), (x, y))"


@pytest.mark.parametrize("a", [1., -1.])
@pytest.mark.parametrize("b", [1., -1.])
def test_any_and_all_of_a_condition_that_the_branch_decides(a, b):
    def f(x, y):
        c = x > 0.
        if c:
            return df.constant([float(any([c, y > 0.])), float(all([c, y > 0.]))])
        return df.constant([float(any([c, y > 0.])), float(all([c, y > 0.]))])

    x, y = df.constant(a), df.constant(b)
    assert df.function(f)(x, y).tolist() == f(x, y).tolist()
