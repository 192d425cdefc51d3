"""Pipelines as lists of steps, run by a library, or by plain Python on lists.

Elements are numbers, or nested lists once batched. A step is a name with its arguments.
"""

import itertools

from hypothesis import assume, strategies as st

# --- as datasets, of dualflow or of tf.data -------------------------------------------------------

def build(steps, data):
    """Return the dataset of the steps; `data` is the module that has Dataset."""
    dataset = None
    for name, *args in steps:
        dataset = BUILD[name](data.Dataset, dataset, *args)
    return dataset


def last(x):
    """Return the sum of an element of any rank: a number for predicates."""
    while len(x.shape):
        x = x[-1]
    return x


BUILD = {
    "range": lambda D, d, *args: D.range(*args),
    "slices": lambda D, d, n: D.from_tensor_slices(list(range(100, 100 + n))),
    "map": lambda D, d, n, threads: d.map(lambda x: x * n + 1, num_parallel_calls=threads),
    "filter": lambda D, d, n: d.filter(lambda x: last(x) % n != 0),
    "take_while": lambda D, d, n: d.take_while(lambda x: last(x) % n != 0),
    "take": lambda D, d, n: d.take(n),
    "skip": lambda D, d, n: d.skip(n),
    "shard": lambda D, d, n, k: d.shard(n, k),
    "repeat": lambda D, d, n: d.repeat(n),
    "endless": lambda D, d, n: d.repeat().take(n),
    "shuffle": lambda D, d, n, seed, again: d.shuffle(n, seed, again),
    "batch": lambda D, d, n, drop: d.batch(n, drop),
    "unbatch": lambda D, d: d.unbatch(),
    "window": lambda D, d, *args: d.window(*args).flat_map(lambda w: w),
    "flat_map": lambda D, d, n: d.flat_map(lambda x: D.from_tensors(x).repeat(n)),
    "interleave": lambda D, d, cycle, block, n, threads: d.interleave(
        lambda x: D.range(1, n).map(lambda k: x * 10 + k), cycle, block, threads),
    "concatenate": lambda D, d, n: d.concatenate(d.take(n)),
    "zip": lambda D, d, n: D.zip((d, d.skip(n))).map(lambda a, b: a + b),
    "enumerate": lambda D, d: d.enumerate().map(lambda k, x: x + k),
    "prefetch": lambda D, d, n: d.prefetch(n),
    "cache": lambda D, d: d.cache(),
}


# --- as lists -------------------------------------------------------------------------------------

def run(steps, epoch, order):
    """Return a pass as lists; ``order(seed, epoch, window, n)`` shuffles a window."""
    def passes(k, epoch):
        """Yield the elements after step k in a pass of an epoch."""
        name, *args = steps[k]
        if name in SOURCES:
            return SOURCES[name](*args)
        if name in ("repeat", "endless"):
            return repeated(lambda e: passes(k - 1, e), epoch, name, *args)
        if name == "cache":
            return passes(k - 1, 0)
        before = passes(k - 1, epoch)
        if name == "shuffle":
            return shuffled(before, epoch, order, *args)
        return RUN[name](before, *args)

    return passes(len(steps) - 1, epoch)


def repeated(before, epoch, name, n):
    if name == "repeat":
        return [x for k in range(n) for x in before(epoch * n + k)]
    found = []
    for k in itertools.count():
        more = before(epoch * 2**32 + k)
        found += more
        if not more or len(found) >= n:
            return found[:n]


def shuffled(xs, epoch, order, n, seed, again):
    found = []
    for window, begin in enumerate(range(0, len(xs), n)):
        part = xs[begin:begin + n]
        found += [part[i] for i in order(seed, epoch if again else 0, window, len(part))]
    return found


def bottom(x):
    return bottom(x[-1]) if isinstance(x, list) else x


def applied(function, x):
    return [applied(function, y) for y in x] if isinstance(x, list) else function(x)


def added(x, y):
    if isinstance(y, list):
        x = x if isinstance(x, list) else [x] * len(y)
        return [added(a, b) for a, b in zip(x, y, strict=True)]
    return x + y


def grouped(xs, n, drop):
    found = [xs[i:i + n] for i in range(0, len(xs), n) if not drop or i + n <= len(xs)]
    assume(all(len({str(shape(x)) for x in batch}) < 2 for batch in found))    # stackable
    return found


def shape(x):
    return [len(x), *shape(x[0])] if isinstance(x, list) else []


def windows(xs, n, shift, stride, drop):
    found = [xs[i:][:(n - 1) * stride + 1:stride] for i in range(0, len(xs), shift)]
    return [x for w in found if len(w) == n or not drop for x in w]


def interleaved(xs, cycle, block, n, threads):
    """Interleave as tf.data describes: slots in a cycle; an exhausted slot is refilled in turn."""
    rest, places, found, turn = iter(xs), [None] * cycle, [], 0
    more = True
    while more or any(p is not None for p in places):
        if places[turn] is None and more:
            x = next(rest, None)
            more = x is not None
            places[turn] = None if x is None else [applied(lambda y, k=k: y * 10 + k, x)
                                                   for k in range(1, n)]
        if places[turn] is not None:
            found += places[turn][:block]
            ended = len(places[turn]) < block
            places[turn] = None if ended else places[turn][block:]
        turn = (turn + 1) % cycle
    return found


SOURCES = {
    "range": lambda *args: list(range(*args)),
    "slices": lambda n: list(range(100, 100 + n)),
}
RUN = {
    "map": lambda xs, n, threads: [applied(lambda y: y * n + 1, x) for x in xs],
    "filter": lambda xs, n: [x for x in xs if bottom(x) % n != 0],
    "take_while": lambda xs, n: list(itertools.takewhile(lambda x: bottom(x) % n != 0, xs)),
    "take": lambda xs, n: xs if n < 0 else xs[:n],
    "skip": lambda xs, n: [] if n < 0 else xs[n:],
    "shard": lambda xs, n, k: xs[k::n],
    "batch": grouped,
    "unbatch": lambda xs: [y for x in xs for y in x],
    "window": windows,
    "flat_map": lambda xs, n: [x for x in xs for _ in range(n)],
    "interleave": interleaved,
    "concatenate": lambda xs, n: xs + xs[:n],
    "zip": lambda xs, n: [added(a, b) for a, b in zip(xs, xs[n:], strict=False)],
    "enumerate": lambda xs: [added(k, x) for k, x in enumerate(xs)],
    "prefetch": lambda xs, n: xs,
    "cache": lambda xs: xs,
}


# --- random pipelines -----------------------------------------------------------------------------

small = st.integers(1, 4)
THREADS = st.sampled_from([None, None, 2])
SOURCE = st.one_of(
    st.tuples(st.just("range"), st.integers(0, 12)),
    st.tuples(st.just("range"), st.integers(-3, 3), st.integers(4, 20), small),
    st.tuples(st.just("slices"), st.integers(1, 12)))
# Steps that preserve the rank of elements; the rank decides which steps may follow.
ANY_RANK = [
    st.tuples(st.just("map"), small, THREADS),
    st.tuples(st.just("filter"), st.integers(2, 4)),
    st.tuples(st.just("take_while"), st.integers(2, 9)),
    st.tuples(st.just("take"), st.integers(-1, 9)),
    st.tuples(st.just("skip"), st.integers(-1, 5)),
    st.integers(1, 3).flatmap(
        lambda n: st.tuples(st.just("shard"), st.just(n), st.integers(0, n - 1))),
    st.tuples(st.just("repeat"), st.integers(0, 3)),
    st.tuples(st.just("endless"), st.integers(0, 15)),
    st.tuples(st.just("flat_map"), st.integers(0, 2)),
    st.tuples(st.just("interleave"), small, small, small, THREADS),
    st.tuples(st.just("window"), small, small, small, st.booleans()),
    st.tuples(st.just("concatenate"), st.integers(0, 3)),
    st.tuples(st.just("prefetch"), small),
    st.tuples(st.just("cache")),
]
SHUFFLE = st.tuples(st.just("shuffle"), st.integers(1, 9), st.integers(0, 99), st.booleans())
FLAT = [st.tuples(st.just("enumerate")), st.tuples(st.just("zip"), st.integers(0, 2))]


@st.composite
def pipelines(draw, shuffles=True):
    """Draw a source and up to six steps."""
    steps, rank = [draw(SOURCE)], 0
    for _ in range(draw(st.integers(0, 6))):
        choices = [*ANY_RANK, *[SHUFFLE] * (3 * shuffles)]
        if rank == 0:
            choices += FLAT
        choices.append(st.tuples(st.just("batch"), small, st.booleans()))
        if rank:
            choices.append(st.tuples(st.just("unbatch")))
        steps.append(draw(st.one_of(choices)))
        rank += {"batch": 1, "unbatch": -1}.get(steps[-1][0], 0)
    return steps
