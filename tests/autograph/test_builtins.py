"""Python's builtins on traced tensors mean what they mean eagerly: results and gradients bit for
bit, with passes and without; errors name the builtin and the user's line."""

import pytest

import dualflow as df
from dualflow.nest import flatten
from tests.autograph.referee import compiled

NAN = float("nan")
SETS = [                # the arguments of some calls: x, y, m, s, t, i, j, k, b, c, d
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
    """A function of a text that returns an expression or has lines of its own."""
    lines = [x for x in text.strip("\n").split("\n")]
    if len(lines) == 1 and not lines[0].startswith("return "):
        lines = ["return " + lines[0].strip()]
    margin = min(len(x) - len(x.lstrip()) for x in lines if x.strip())
    body = "\n".join("    " + x[margin:] for x in lines)
    return compiled(f"import math, functools\ndef f({ARGUMENTS}):\n{body}\n")


def bits(x):
    """The value of a leaf, exactly; a number of Python's as a tensor takes it."""
    if isinstance(x, df.TensorBase):
        return x.numpy().tobytes(), x.dtype.name, tuple(x.shape)
    return x


def alike(got, want):
    """Whether two results are the same. A traced number may be a tensor."""
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
    """What a function returns, and the gradients of what is floating in that."""
    sources = [x for x in args if x.dtype.is_floating]
    with df.GradientTape() as tape:
        tape.watch(sources)
        y = f(*args)
        parts = [df.reduce_sum(df.sin(df.cast(z, df.float64))) for z in flatten(y)
                 if isinstance(z, df.TensorBase) and z.dtype.is_floating]
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
            alike(got, want)
            for a, b in zip(found, slopes, strict=True):
                assert bits(a + 0.) == bits(b + 0.), (text, a, b)
            got, found = inside(*args)
            alike(got, want)
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


@pytest.mark.parametrize("text", [x.replace("\\n", "\n") for x in PROGRAMS] + BLOCKS)
def test_the_same_as_eagerly(text):
    same(text)
