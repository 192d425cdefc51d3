"""The reduction tree, checked against its definition."""

import pytest
from hypothesis import given, settings, strategies as st

import dualflow as df
from dualflow._core import combine, empty_with_buffer, get_op, memory_of
from dualflow.distribute.tree import TreeAccumulator, nodes_of


def whole(n):
    """Return every node of the tree of n leaves, with its children."""
    found, queue = {}, [(0, n)]
    while queue:
        a, b = queue.pop()
        found[a, b] = ()
        if b - a > 1:
            middle = a + (1 << (b - a - 1).bit_length() - 1)
            found[a, b] = (a, middle), (middle, b)
            queue += found[a, b]
    return found


@given(st.integers(1, 200), st.data())
def test_nodes_of_a_range_of_leaves(n, data):
    first = data.draw(st.integers(0, n - 1))
    end = data.draw(st.integers(first + 1, n))
    nodes, spans = whole(n), nodes_of(n, first, end)
    assert [k for a, b in spans for k in range(a, b)] == list(range(first, end))
    assert set(spans) <= set(nodes)
    assert not any(set(children) <= set(spans) for children in nodes.values() if children)


def combined(op, xs, spans):
    y, out = empty_with_buffer(xs[0].dtype, xs[0].shape)
    combine(get_op(op), xs[0].dtype, [memory_of(x) for x in xs], spans, out)
    return y


@settings(deadline=None)
@given(st.integers(1, 40), st.lists(st.integers(1, 39)), st.sampled_from([1, 511, 513, 20_000]))
def test_kernel_matches_add(n, cuts, size):
    """For any division into ranks, the bits match one rank with all leaves."""
    leaves = [df.random.normal([size], seed=k) * 10. ** (k % 7) for k in range(n)]
    one = TreeAccumulator(n, 0, df.add)
    for x in leaves:
        one.add(x)
    borders = sorted({0, n, *[c for c in cuts if c < n]})
    xs, spans = [], []
    for a, b in zip(borders, borders[1:], strict=False):
        pile = TreeAccumulator(n, a, df.add)
        for x in leaves[a:b]:
            pile.add(x)
        xs += pile.values
        spans += pile.spans
    assert one.spans == [(0, n)]
    assert combined("add", xs, spans).numpy().tobytes() == one.values[0].numpy().tobytes()


def test_ranges_that_are_not_nodes_raise():
    x = df.ones([4])
    for spans in ([(0, 1), (2, 3)], [(1, 2), (2, 3)], [(0, 3), (3, 4)], [(0, 0), (0, 1)]):
        with pytest.raises(df.errors.InvalidArgumentError, match="not the nodes of one tree"):
            combined("add", [x, x], spans)
    with pytest.raises(df.errors.DTypeError, match="add: no kernel combines arrays of bool"):
        combined("add", [df.constant([True])] * 2, [(0, 1), (1, 2)])
    with pytest.raises(df.errors.DTypeError, match="exp: no kernel"):
        combined("exp", [x, x], [(0, 1), (1, 2)])
    with pytest.raises(df.errors.ShapeError, match="expected equal lengths"):
        combined("add", [x, df.ones([5])], [(0, 1), (1, 2)])
    with pytest.raises(df.errors.InvalidArgumentError, match="1 arrays and 2 spans"):
        combined("add", [x], [(0, 1), (1, 2)])
