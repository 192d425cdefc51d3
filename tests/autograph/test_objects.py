"""Lists, dicts and objects mutated by statements, and the ways functions are found."""
# ruff: noqa: B023, SIM108

import contextlib
import dataclasses
import functools

import pytest

import dualflow as df
from tests.autograph.referee import check, tensor

NUMBERS = [(3,), (0,), (-2,)]


class Cell:
    """An object with one attribute."""

    def __init__(self, value=0):
        self.value = value
        self.inner = None


# --- in-place changes ---

def item_of_an_item(x):
    m = [[x, x], [x, x]]
    if x > 0:
        m[0][1] = x * 2
        m[1][0] += m[0][1]
    else:
        m[1][1] = 7
    return m


def item_of_an_item_in_a_loop(x):
    m = {"k": [0, 0], "n": ([1], 2)}
    while x > 0:
        m["k"][1] = m["k"][1] + x
        m["n"][0][0] += 1
        x = x - 1
    return m


def rows_and_items(x):
    m = [[0, 0], [0, 0]]
    kept = m[0]
    if x > 0:
        m[0][0] = x
        m[1] = [x, 5]
    else:
        m[0][1] = x
    return m, kept


def swapped_rows(x):
    m = [[x], [x + 1]]
    a, b = m
    if x > 0:
        m[0], m[1] = [x * 2], [x * 3]
        m[0][0] += 1
    return m, a, b


def attribute_of_an_item(x):
    cells = {"k": Cell(), "m": [Cell(1), Cell(2)]}
    if x > 0:
        cells["k"].value = x
        cells["m"][1].value += x
    k = 0
    while k < x:
        cells["m"][0].value += k
        k += 1
    return [cells["k"].value, *[c.value for c in cells["m"]]]


def attribute_of_an_attribute(x):
    cell = Cell(Cell(1))
    if x > 0:
        cell.value.value += x
        cell.value.inner = x
    else:
        cell.value.inner = 0
    while x > 0:
        cell.value.value -= 1
        x -= 1
    return cell.value.value, cell.value.inner


def list_extended(x):
    ys = [x]
    same = ys
    if x > 0:
        ys += [x * 2, x]
    else:
        ys.extend([x, 4])
    return ys, same


def list_made_anew(x):
    ys = [x, x]
    for _ in range(x):
        ys = [ys[1]]
        ys.append(x)
        ys[0] += 1
    return ys


def list_made_anew_in_a_branch(x):
    ys = [1]
    if x > 0:
        ys = []
        ys.append(x)
    else:
        ys[0] = x + 5
    return ys


def list_method_of_an_item(x):
    m = {"a": [x]}
    if x > 0:
        m["a"].append(x + 1)
    else:
        m["a"].insert(0, x - 1)
    return m


def dict_of_dicts(x):
    d = {"a": {"b": x}}
    for k in range(3):
        if x > k:
            d["a"]["b"] = d["a"]["b"] + k
        d["a"].update(c=x)
    return d


def one_object_twice(x):
    row = [0]
    m = [row, row]
    if x > 0:
        m[0][0] = x
    return m, row


def items_deleted(x):
    d = {"a": x, "b": x + 1}
    if x > 0:
        d["a"] = x * 5
    del d["a"]
    return d


def made_in_the_round(n):
    total = 0
    for _ in (1, 2):
        for i in range(n):
            ys, cell = [i], Cell()
            ys.append(i + 1)
            cell.value = ys[1]
            if i > 1:
                ys[0] = cell.value * 2
            total += ys[0]
    return total


def slices(x):
    ys = [1, 2, 3, 4]
    if x > 0:
        ys[1:3] = [x, x * 2]
    return ys


def returned_early_in_a_tuple(x):
    d = [x * 2, 5]
    if x > 1:
        return x, d
    d[0] = x * 7
    return x + 1, d


def in_a_tuple_of_both_branches(x):
    d = {"k": x * 2}
    if x > 1:
        z = (x, d)
    else:
        d["k"] = x * 7
        z = (-x, d)
    d["k"] += 1
    return z


def returned_early_from_a_loop(x):
    d = [x * 2, 5]
    for k in range(3):
        if x > k:
            return k, (d, x)
        if x > k - 2:
            d[0] = x * 7 + k
    return 9, (d, x)


def returned_early_twice(x):
    d = {"k": x, "m": [x * 2, x - 1]}
    for _ in range(2):
        if x < 0:
            return x, d
        if x > 2:
            y = x + 1
            if y > 6:
                return y, d
        d["m"][1] = x * 3
        d["k"] = x * 5
    return x + 2, d


def left_behind_by_a_branch(x):
    a, b = x, x + 1
    if x > 0:
        if x > 1:
            b = a + 1 if x < 5 else b * 2
    else:
        a, b = b, a
    b = a * 3
    return a, b


@pytest.mark.parametrize("f", [
    item_of_an_item, item_of_an_item_in_a_loop, rows_and_items, swapped_rows, attribute_of_an_item,
    attribute_of_an_attribute, list_extended, list_made_anew, list_made_anew_in_a_branch,
    list_method_of_an_item, dict_of_dicts, one_object_twice, items_deleted, slices,
    made_in_the_round, returned_early_in_a_tuple, in_a_tuple_of_both_branches,
    returned_early_from_a_loop, returned_early_twice, left_behind_by_a_branch])
def test_in_place_changes(f):
    check(f, *NUMBERS)


def test_objects_keep_their_identity():
    def f(x):
        row, cell = [x], Cell()
        m = [row, [x]]
        if x > 0:
            m[0][0] = x * 2
            cell.value = m[0]
        else:
            cell.value = row
        while x > 0:
            m[0][0] += x
            x -= 1
        assert m[0] is row and cell.value is row
        return m

    check(f, *NUMBERS)


# --- names ---

COUNT = 0


def global_name(x):
    global COUNT
    COUNT = x * 0
    while x > 0:
        COUNT = COUNT + x
        x = x - 1
    found, COUNT = COUNT, 0
    return found


def global_made(x):
    global MADE
    if x > 0:
        MADE = x
    else:
        MADE = -x
    found = MADE
    del MADE
    return found


def nonlocal_name(x):
    t = 0

    def add(v):
        nonlocal t
        if v > 2:
            t = t + v
        else:
            t = t - v

    while x > 0:
        add(x)
        x = x - 1
    return t


def deleted(x):
    y = x
    if x > 0:
        del y
        y = x + 3
    z = y
    del y
    return z


def starred(x):
    a, *rest = x, x + 1, x + 2
    if x > 0:
        a, *rest = x + 5, x, x
        *rest, z = rest[0], rest[1], a
    else:
        z = a
    return a, rest, z


def walrus(x):
    if (y := x * 2) > 4:
        y = y + 1
    while (z := y - 3) > 0:
        y = z
    return y, z


def functions_made_in_a_loop(n):
    s = 0
    for i in range(n):
        def g(v):
            return v + i if v > 2 else v - i
        s = s + g(i) + (lambda v, k=2: v * k if v > 1 else v)(i)
    return s


@pytest.mark.parametrize("f", [global_name, global_made, nonlocal_name, deleted, starred, walrus,
                               functions_made_in_a_loop])
def test_names(f):
    check(f, *NUMBERS)


# --- surrounding statements ---

@contextlib.contextmanager
def given(k):
    yield k


def in_with(x):
    with given(3) as k, given(1):
        if x > 0:
            x = x * k
        else:
            return x
    while x > 0:
        with given(7) as k:
            x = x - k
            if x == 4:
                break
    return x


def in_try(x):
    try:
        if x > 0:
            x = x * 2
    finally:
        x = x + 1
    try:
        while x > 3:
            x = x - 2
    except ValueError:
        x = 100
    else:
        x = x * 3
    return x


def matched(x):
    match x:
        case 0:
            return x + 10
        case 1 | 3:
            y = 20
        case y if y > 100:
            return y
        case _:
            y = -x
    match x + 1:
        case 4:
            y = y + 1
    match (y, "text"):
        case (_, "text"):
            y = y * 2
    return y


def matched_in_a_loop(n):
    total = 0
    for i in range(n):
        match i % 3:
            case 0:
                continue
            case 1:
                total += i
            case k:
                total += k * 10
                if total > 30:
                    break
    return total


def matched_by_python(x):
    found = []
    for kind in ("a", None, 3):
        match kind:
            case "a" if x > 0:
                found.append(x)
            case "a":
                found.append(-x)
            case None:
                found.append(0)
            case _:
                found.append(kind + 1)
        match found[-1], kind:
            case _, int(k):
                found.append(k)
    return found


@pytest.mark.parametrize("f", [in_with, in_try, matched, matched_in_a_loop, matched_by_python])
def test_surrounding_statements(f):
    check(f, *NUMBERS, (1,), (7,))


# --- kinds of callables ---

def magnitude(x):
    return x if x > 0 else -x


def at_least_two(f):
    @functools.wraps(f)
    def call(*args, **options):
        y = f(*args, **options)
        return y if y > 2 else y * 0
    return call


@at_least_two
@at_least_two
def decorated(x):
    return x if x > 0 else -x


@functools.lru_cache
def above(k):
    return lambda x: x if x > k else -x


class Base:
    def scaled(self, x):
        return x * 3

    @classmethod
    def made(cls, x):
        return x if x > 0 else -x


class PathExplorer(Base):
    def __init__(self):
        self.__hidden = 1
        self.given = 0

    def scaled(self, x):
        if x > 0:
            return super().scaled(x)
        return super().scaled(-x) + 1

    @classmethod
    def made(cls, x):
        if x > 1:
            return super().made(x)
        return super().made(x) + 100

    @staticmethod
    def static(x):
        return x if x > 0 else -x

    @property
    def size(self):
        return self.given if self.given > 0 else -self.given

    def hidden(self, x):
        self.__hidden = x
        if x > 0:
            self.__hidden = self.__hidden * 2
        found, self.__hidden = self.__hidden, 0
        return found

    def by_property(self, x):
        self.given = x
        try:
            return self.size * 2
        finally:
            self.given = 0

    def __call__(self, x):
        return x if x > 0 else -x


@dataclasses.dataclass
class Limit:
    k: int
    seen: object = None

    def cut(self, x):
        self.seen = x if x > self.k else -x
        return self.seen


@dataclasses.dataclass(frozen=True)
class Frozen:
    k: int

    def cut(self, x):
        return x if x > self.k else -x


class Slots:
    __slots__ = ("value",)

    def put(self, x):
        self.value = x
        if x > 0:
            self.value = x * 2
        return self.value


WAYS = PathExplorer()


@pytest.mark.parametrize("f", [
    decorated, functools.partial(lambda a, x: x if x > a else a, 1), lambda x: above(1)(x),
    WAYS, WAYS.scaled, WAYS.made, PathExplorer.made, WAYS.static, WAYS.hidden, WAYS.by_property,
    lambda x: Limit(1).cut(x), lambda x: Frozen(1).cut(x), lambda x: Slots().put(x),
    lambda x: list(map(magnitude, [x, x * 2])), lambda x: {k: magnitude(x * k) for k in range(3)},
    lambda x: [y if y > 0 else -y for y in [x, x + 1]],
    lambda x: sum(y if y > 0 else -y for y in [x, x + 1]),
], ids=lambda f: getattr(f, "__name__", type(f).__name__))
def test_kinds_of_callables(f):
    check(f, *NUMBERS)


def test_several_lambdas_on_one_line():
    f, g, h = (lambda x: x if x > 0 else 0), (lambda x: x if x < 0 else 0), (lambda x: x)
    check(f, *NUMBERS)
    check(g, *NUMBERS)
    check(h, *NUMBERS)


def test_coroutines_are_not_converted():
    async def f(x):
        return x if x > 0 else -x

    def g(x):
        try:
            f(x).send(None)
        except StopIteration as done:
            return done.value

    assert g(tensor(-2)).item() == 2
    with pytest.raises(df.errors.TracedValueError, match="f is a generator or a coroutine"):
        df.function(g)(tensor(-2))


def test_to_graph():
    for f in (magnitude, df.function(magnitude), WAYS.scaled):
        made = df.autograph.to_graph(f)
        first = (WAYS,) if f == WAYS.scaled else ()
        assert made.__name__ == f.__name__ and made(*first, -3) == f(-3)
        traced = df.function(made)(*first, tensor(-3))
        assert traced.item() == f(-3)
    assert df.autograph.experimental.do_not_convert is df.autograph.do_not_convert
