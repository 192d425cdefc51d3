"""Layers, orders and coordinates of graph drawings."""

import random

from dualflow.graph.inspect.draw_layout import GAP, lay_out, layers, order, place_row


def test_layers_are_longest_paths_and_sources_precede_their_first_reader():
    #   0 -> 1 -> 2 -> 4,  0 -> 4,  3 -> 4
    edges = [(0, 1), (1, 2), (2, 4), (0, 4), (3, 4)]
    assert layers(5, edges) == [0, 1, 2, 2, 3]


def test_edges_have_a_point_in_each_layer_they_cross():
    layout = lay_out([60.] * 4, [(0, 1), (1, 2), (2, 3), (0, 3)])
    assert [len(route) for route in layout.routes] == [2, 2, 2, 4]
    assert [level for _, level in layout.routes[3]] == [0, 1, 2, 3]


def test_chain_is_a_straight_line():
    layout = lay_out([60., 100., 80.], [(0, 1), (1, 2)])
    assert max(layout.x) - min(layout.x) < 1e-6
    assert layout.width == 100.


def test_crossings_are_removed():
    rows = [[0, 1], [2, 3]]
    above, below = [[], [], [1], [0]], [[3], [2], [], []]
    order(rows, above, below)
    assert rows == [[0, 1], [3, 2]]


def test_place_row_keeps_order_and_distance():
    rng = random.Random(1)
    size = [rng.uniform(10, 80) for _ in range(30)]
    x = [0.] * 30
    place_row(range(30), [rng.uniform(0, 500) for _ in range(30)], size, x)
    for a, b in zip(range(29), range(1, 30), strict=True):
        assert x[b] - x[a] >= (size[a] + size[b]) / 2 + GAP - 1e-6


def test_place_row_uses_preferred_positions_without_conflict():
    x = [0.] * 3
    place_row([0, 1, 2], [0., 100., 300.], [10.] * 3, x)
    assert x == [0., 100., 300.]


def test_nothing_overlaps_in_random_graphs():
    rng = random.Random(2)
    for _ in range(20):
        n = rng.randrange(1, 40)
        edges = sorted({tuple(sorted(rng.sample(range(n), 2))) for _ in range(n if n > 1 else 0)})
        widths = [rng.uniform(40, 120) for _ in range(n)]
        layout = lay_out(widths, edges)
        assert all(layout.layer[a] < layout.layer[b] for a, b in edges)
        for a in range(n):
            assert layout.x[a] - widths[a] / 2 >= -1e-6
            for b in range(a):
                if layout.layer[a] == layout.layer[b]:
                    assert abs(layout.x[a] - layout.x[b]) >= (widths[a] + widths[b]) / 2


def test_empty():
    assert lay_out([], []).width == 0.
