"""Small functions of ints, floats and lists, converted and compared with Python."""
# ruff: noqa: SIM108, SIM110, B007, B905

import functools

import pytest

import dualflow as df
from tests.autograph.referee import check, compiled, tensor

INTS = [(0,), (3,), (-4,), (17,)]
FLOATS = [(0.,), (2.5,), (-1.25,)]
LISTS = [([1, 2, 3],), ([4, -1, 0, 7],), ([-5],)]


def sign(x):
    if x > 0:
        return 1
    elif x < 0:
        return -1
    return 0


def swapped(x):
    a, b = x, x + 1
    if x > 1:
        a, b = b, a
    k = 0
    while k < x:
        a, b, k = b, a + 1, k + 1
    return a, b


def collatz(n):
    steps = 0
    while n > 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps


def fibonacci(n):
    a, b = 0, 1
    for _ in range(n):
        a, b = b, a + b
    return a


def gcd(n):
    m = 12
    while n > 0:
        m, n = n, m % n
    return m


def is_prime(n):
    if n < 2:
        return False
    for k in range(2, n):
        if n % k == 0:
            return False
    return True


def first_power(n):
    x = 1
    while True:
        if x > n:
            return x
        x = x * 2


def nothing_returned(x):
    y = x
    if x > 2:
        y = y + 1


def early_and_late(x):
    if x > 10:
        return x
    y = x + 1
    if y > 2:
        if y > 3:
            return y * 2
        y = y + 10
    z = y - 1
    return z


def nested_breaks(n):
    total = 0
    for i in range(n):
        for j in range(i):
            if i * j > 20:
                break
            if (i + j) % 3 == 0:
                continue
            total += i * j
        else:
            total += 100
        if total > 400:
            break
    return total


def loop_return_deep(n):
    for i in range(n):
        j = 0
        while j < i:
            if i * i + j * j == 25:
                return i, j
            j += 1
    return -1, -1


def while_else(n):
    k = 0
    while k < n:
        if k == 5:
            break
        k += 1
    else:
        k = -k
    return k


def for_else(n):
    found = 0
    for k in range(n):
        if k * k > 30:
            found = k
            break
    else:
        found = -1
    return found


def last_item(n):
    i = -1
    for i in range(n):
        pass
    return i


def steps_down(n):
    s = 0
    for i in range(n, -3, -2):
        s = s * 2 + i
    return s


def range_with_start(n):
    s = 1
    for i in range(2, n + 2):
        s = s * i % 1000
    return s


def chained(x):
    if -2 < x <= 3 < x + 5:
        return 1
    return 2 if x == 17 != 16 else 3


def short_circuit(x):
    return (x > 0 and 10 // (x if x > 0 else 1) > 1) or not (x > -3)


def values_of_and(x):
    return (x > 1 and x < 9), (x < 0 or x > 5), not x


def many_flags(n):
    a = b = c = False
    for i in range(n):
        if i == 1:
            a = True
        elif i == 2 and a:
            b = True
        elif b and not c:
            c = i > 4
    return a, b, c


def tuple_state(n):
    p = (0, (1, 2))
    while p[0] < n:
        p = (p[0] + 1, (p[1][1], p[1][0] + p[1][1]))
    return p


def dict_state(n):
    d = {"a": 1, "b": 0}
    for i in range(n):
        if i % 2 == 0:
            d = {"a": d["b"], "b": d["a"] + i}
    return d


def dict_in_place(n):
    d = {"a": 1, "b": 0}
    for i in range(n):
        d["a"] = d["a"] + i
        if d["a"] > 4:
            d["b"] = i
    return d


def list_in_place(n):
    v = [0, 1, 2]
    for i in range(n):
        if i % 2 == 1:
            v[0] = v[0] + i
        else:
            v[2] -= 1
    return v


def walrus(n):
    k = 0
    while (m := k * 2) < n:
        k += 1
    return k, m


def with_inner_function(n):
    def add(x, y):
        if x > y:
            return x
        return x + y

    s = 0
    for i in range(n):
        s = add(s, i)
    return s


def with_lambda(n):
    half = lambda x: x // 2 if x > 4 else x                                         # noqa: E731
    return half(n) + half(n + 3)


def with_nonlocal(n):
    count = 0

    def step(x):
        nonlocal count
        if x > 2:
            count = count + 1
        return x - 1

    while n > 0:
        n = step(n)
    return count


def python_values_decide(n):
    k = 5
    if k > 3:
        n = n + 1
    for w in ["a", "bb"]:
        if len(w) == 2:
            break
        n = n + len(w)
    while k > 3:
        k -= 1
        if k == 4:
            continue
        n = n * 2
    return n, k


def try_inside(n):
    try:
        if n > 2:
            n = n * 2
        else:
            n = -n
    finally:
        n = n + 1
    return n


def python_jumps_in_try(n):
    s = 0
    for k in range(4):
        try:
            if k == 2:
                break
            s = s + n
        finally:
            s = s + 1
    else:
        s = -1
    return s


def undefined_in_python(n):
    k = 3
    if k > 2:
        y = n
    if n > 3:
        z = y + 1
        w = z * z
        y = w
    return y


def delete(n):
    y = n + 1
    if n > 1:
        z = y
        del y
        y = z * 2
    return y


def ternary_chain(x):
    return 1 if x > 9 else 2 if x > 2 else 3 if x > -1 else 4


def augmented(n):
    x = 2
    while x < n:
        x **= 2
        x -= 1
        if x > 50:
            x //= 3
            break
    return x


@pytest.mark.parametrize("f", [
    sign, swapped, collatz, fibonacci, gcd, is_prime, first_power, early_and_late, nested_breaks,
    loop_return_deep, while_else, for_else, last_item, steps_down, range_with_start, chained,
    short_circuit, values_of_and, many_flags, tuple_state, dict_state, dict_in_place, list_in_place,
    walrus, with_inner_function, with_lambda, with_nonlocal, python_values_decide, try_inside,
    python_jumps_in_try, undefined_in_python, delete, ternary_chain, augmented, nothing_returned,
], ids=lambda f: f.__name__)
def test_ints(f):
    check(f, *INTS)


# --- floats --------------------------------------------------------------------------------------

def newton(x):
    y, rounds = 1., 0
    while abs(y * y - x) > .5 and rounds < 20:
        y = (y + x / y) / 2. if y > .125 else y + 1.
        rounds += 1
    return y, rounds


def clipped(x):
    if x < -1.:
        x = -1.
    if x > 2.:
        x = 2.
    return x


def halves(x):
    n = 0
    while x > .1:
        x, n = x / 2., n + 1
    return x, n


def mixed(x):
    total = 0
    for k in range(3):
        if x > k:
            total = total + x / 2
        else:
            total = total - 1
    return total


@pytest.mark.parametrize("f", [newton, clipped, halves, mixed, sign, ternary_chain],
                         ids=lambda f: f.__name__)
def test_floats(f):
    check(f, *FLOATS)


# --- rows ----------------------------------------------------------------------------------------

def summed(xs):
    s = 0
    for x in xs:
        s = s + x
    return s


def largest(xs):
    best, at = xs[0], 0
    for i, x in enumerate(xs):
        if x > best:
            best, at = x, i
    return best, at


def last_row(xs):
    for x in xs:
        y = x * 2
    return x, y


def dot(xs):
    s = 0
    for a, b in zip(xs, reversed(xs)):
        s += a * b
    return s


def enumerated_from(xs):
    s = 0
    for i, (a, b) in enumerate(zip(xs, xs), 2):
        s += i * a - b
    return s


def zip_with_range(xs):
    s = 0
    for k, x in zip(range(10, 0, -1), xs):
        s += k * x
    return s


def zip_with_list(xs):
    s = 0
    for w, x in zip([3, 1, 4, 1], xs):
        s += w * x
    return s


def until_negative(xs):
    kept = 0
    for x in xs:
        if x < 0:
            break
        kept += x
    else:
        kept = kept + 1000
    return kept


def find(xs):
    for i, x in enumerate(xs):
        if x == 3 or x == 7:
            return i
    return -1


def in_python_list(xs):
    s = 0
    for x in [xs[0], xs[-1]]:
        if x > 0:
            s += x
    return s


def doubled(xs):
    out = []
    for x in xs:
        out.append(x * 2)
    return out


def running(xs):
    out, s = [], 0
    for x in xs:
        s = s + x
        if s > 3:
            s = s - 3
        out.append(s)
    return out


def appended_to(xs):
    out = [7]
    for x in xs:
        out.append(x)
    out.append(8)
    return out


def two_per_round(xs):
    out = []
    for x in xs:
        out.append(x)
        out.append(-x)
    return out


def either_appends(xs):
    out = []
    for x in xs:
        if x > 0:
            out.append(x)
        else:
            out.append(0)
    return out


def pairs(xs):
    out = []
    for i, x in enumerate(xs):
        out.append((i, x))
    return out


def matrix(xs):
    rows = []
    for x in xs:
        row = []
        for y in xs:
            row.append(x * y)
        rows.append(row)
    return rows


@pytest.mark.parametrize("f", [
    summed, largest, last_row, dot, enumerated_from, zip_with_range, zip_with_list, until_negative,
    find, in_python_list, doubled, running, appended_to, two_per_round, either_appends, pairs,
    matrix,
], ids=lambda f: f.__name__)
def test_rows(f):
    check(f, *LISTS)
    check(f, *[([float(x) for x in xs],) for (xs,) in LISTS])


def test_list_of_unknown_length_becomes_a_tensor():
    @df.function
    def f(n):
        out = []
        while n > 0:
            out.append(n * n)
            n = n - 1
        return df.stack(out), df.reduce_sum(out)

    got = f(df.constant(4))
    assert got[0].tolist() == [16, 9, 4, 1] and got[1].item() == 30
    assert f(df.constant(0))[0].tolist() == []


def test_matrix_rows_and_carried_vectors():
    def f(m):
        s = 0
        for row in m:
            if df.reduce_sum(row) > 2.:
                s = s + row
            else:
                s = s - row
        return s

    m = df.constant([[1., 2.], [0., 1.], [3., 4.]])
    assert df.function(f)(m).tolist() == f(m).tolist() == [4., 5.]


# --- kinds of functions --------------------------------------------------------------------------

def twice(f):
    @functools.wraps(f)
    def wrapper(*args):
        return f(f(*args))

    return wrapper


@twice
def decorated(x):
    return x * 2 if x > 0 else x - 1


class Base:
    def __init__(self, k):
        self.k = k
        self.__hidden = 3

    def step(self, x):
        if x > self.k:
            return x - self.k
        return x + self.__hidden

    def count(self, x):
        self.n = 0
        while x > 0:
            self.n = self.n + 1
            x = x - self.k
        return self.n


class Derived(Base):
    def step(self, x):
        if x > 5:
            x = super().step(x)
        for _ in range(2):
            x = super().step(x) if x > 1 else x
        return x

    @staticmethod
    def plain(x):
        return 1 if x > 2 else 0

    @classmethod
    def named(cls, x):
        while x > 3:
            x -= len(cls.__name__)
        return x

    @property
    def adder(self):
        return lambda x: x + self.k if x > 0 else x

    def __call__(self, x):
        return x if x > self.k else self.k


@pytest.mark.parametrize("f", [
    decorated, Base(2).step, Base(2).count, Derived(2).step, Derived.plain, Derived.named,
    Derived(4).adder, Derived(3), functools.partial(lambda k, x: x if x > k else k, 2),
    lambda x: x if x > 0 else -x, lambda x: 1 if 0 < x < 9 else 2, twice(lambda x: -x if x else 1),
], ids=range(12))
def test_kinds_of_functions(f):
    check(f, *INTS)


def test_helpers_are_converted_at_any_call_site():
    def helper(x):
        if x > 1:
            return x * x
        return x

    def f(x):
        return sum(map(helper, [x, x + 1, x + 2])) + sorted([x], key=lambda y: 0)[0]

    check(f, *INTS)


def test_two_lambdas_on_one_line():
    a, b = (lambda x: x if x > 0 else -x), (lambda x: 1 if x > 0 else 2)
    check(a, *INTS)
    check(b, *INTS)


def test_helpers_defined_while_tracing():
    def make(k):
        def inner(x):
            def innermost(y):
                return y if y > k else k
            return innermost(x) + 1
        return inner

    check(lambda x: make(2)(x) + make(3)(x), *INTS)


def test_classes_defined_while_tracing():
    def f(x):
        class Counter:
            n = 0

            def up(self, y):
                if y > 0:
                    self.n = self.n + y
                return self.n

        c = Counter()
        return c.up(x) + c.up(x - 1)

    check(f, *INTS)


def test_functions_without_a_source_file():
    f = compiled("""
        def f(x):
            while x > 2:
                x = x // 2
            return x
        """)
    check(f, *INTS)


def test_defaults_and_keywords():
    def f(x, k=2, *, m=3):
        if x > k:
            return x * m
        return k

    traced = df.function(f)
    for x in (1, 5):
        assert traced(tensor(x), m=tensor(4)).item() == f(x, m=4)
        assert traced(tensor(x), tensor(7)).item() == f(x, 7)
    assert f.__code__.co_name == "f" and f(5) == 15


def test_functions_called_by_traced_functions():
    @df.function
    def inner(x):
        return x if x > 1 else -x

    check(lambda x: inner(x) + inner(x - 2), *INTS)


def test_branch_on_a_variable():
    v = df.Variable(3)

    @df.function
    def f(x):
        if v > 2:
            v.assign_sub(1)
            x = x + v
        else:
            v.assign(10)
        return x

    assert [f(df.constant(0)).item() for _ in range(4)] == [2, 0, 9, 8]


def test_variables_written_in_loops():
    v = df.Variable(0)

    @df.function
    def f(n):
        for i in range(n):
            if i % 2 == 1:
                v.assign_add(i)
        return v + 0

    assert f(df.constant(6)).item() == 9 and f(df.constant(4)).item() == 13


def test_variables_created_on_the_first_call():
    made = []

    @df.function
    def f(x):
        if not made:
            made.append(df.Variable(2))
        if x > 0:
            return x * made[0]
        return x

    assert f(df.constant(3)).item() == 6 and f(df.constant(-3)).item() == -3


def test_variables_created_before_and_after_a_branch():
    made = {}

    def variable(name, value):
        if name not in made:
            made[name] = df.Variable(value)
        return made[name]

    @df.function
    def f(x):
        x = x * variable("a", 2)
        if x > 4:
            x = x - 1
        return x + variable("b", 10)

    assert [f(df.constant(x)).item() for x in (1, 3)] == [12, 15]
    late = df.function(lambda x: x + df.Variable(1))
    with pytest.raises(df.errors.InvalidArgumentError, match="a call that is not its first"):
        late(df.constant(1))


def test_functions_with_asserts_rewritten_by_pytest():
    @df.function
    def f(x):
        assert x.shape == ()
        if x > 2:
            x = x * 2
        return x

    assert [f(df.constant(x)).item() for x in (1, 3)] == [1, 6]


def test_random_numbers():
    def f(n):
        s = 0.
        for _ in range(n):
            if df.random.uniform([]) > .5:
                s = s + df.random.uniform([])
        return s

    df.random.set_seed(3)
    want = [f(4).item(), f(3).item()]
    df.random.set_seed(3)
    traced = df.function(f)
    assert [traced(df.constant(4)).item(), traced(df.constant(3)).item()] == want
