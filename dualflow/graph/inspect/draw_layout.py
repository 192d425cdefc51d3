"""Positions for the boxes of a drawing: layers from top to bottom, few crossings, straight lines.

The method of Sugiyama, Tagawa and Toda (1981): a layer for each step of the longest path, points
where an edge crosses a layer, orders by barycenters. Positions in a layer are as close to the
neighbours as the order allows (isotonic regression). The input is widths and edges, not graphs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

SWEEPS = 8
GAP = 24.0             # between neighbours of a layer
POINT = 8.0            # width of the point where an edge crosses a layer


@dataclass
class Layout:
    """The positions of boxes and edges.

    Attributes
    ----------
    x : list of float
        Middle of each box.
    layer : list of int
        Counted from the top.
    routes : list of list of (float, int)
        For each edge: middle and layer of its ends and of the points where it crosses layers.
    width : float
    """

    x: list[float] = field(default_factory=list)
    layer: list[int] = field(default_factory=list)
    routes: list[list[tuple[float, int]]] = field(default_factory=list)
    width: float = 0.0


def lay_out(widths: Sequence[float], edges: Sequence[tuple[int, int]]) -> Layout:
    """Return the positions of boxes and edges.

    Parameters
    ----------
    widths : sequence of float
    edges : sequence of (int, int)
        From a box to a later box.

    Returns
    -------
    Layout
    """
    layer = layers(len(widths), edges)
    size = list(widths)
    chains = []                        # for each edge, the boxes and points on it
    for a, b in edges:
        inner = range(len(size), len(size) + layer[b] - layer[a] - 1)
        size += [POINT] * len(inner)
        layer += range(layer[a] + 1, layer[b])
        chains.append([a, *inner, b])
    above: list[list[int]] = [[] for _ in size]
    below: list[list[int]] = [[] for _ in size]
    for chain in chains:
        for a, b in zip(chain, chain[1:], strict=False):
            above[b].append(a)
            below[a].append(b)
    rows: list[list[int]] = [[] for _ in range(max(layer, default=-1) + 1)]
    for k, at in enumerate(layer):
        rows[at].append(k)
    order(rows, above, below)
    x = place(rows, above, below, size)
    n = len(widths)
    return Layout(x[:n], layer[:n], [[(x[k], layer[k]) for k in chain] for chain in chains],
                  max((x[k] + size[k] / 2 for k in range(len(size))), default=0.0))


def layers(n: int, edges: Sequence[tuple[int, int]]) -> list[int]:
    """Return the layer of each box: below all predecessors; a box without predecessors is just
    above its first successor."""
    layer = [0] * n
    into: list[list[int]] = [[] for _ in range(n)]
    out: list[list[int]] = [[] for _ in range(n)]
    for a, b in edges:
        into[b].append(a)
        out[a].append(b)
    for b in range(n):
        layer[b] = max((layer[a] + 1 for a in into[b]), default=0)
    for a in range(n):
        if not into[a] and out[a]:
            layer[a] = min(layer[b] for b in out[a]) - 1
    return layer


def order(rows: list[list[int]], above: list[list[int]], below: list[list[int]]) -> None:
    """Order each row by the mean position of neighbours, in alternating sweeps down and up."""
    at: dict[int, float] = {}
    for row in rows:
        at.update((k, i / max(len(row), 1)) for i, k in enumerate(row))
    for sweep in range(SWEEPS):
        beside = above if sweep % 2 == 0 else below
        for row in rows if sweep % 2 == 0 else reversed(rows):
            mean = {k: sum(at[j] for j in beside[k]) / len(beside[k]) if beside[k] else at[k]
                    for k in row}
            row.sort(key=mean.__getitem__)
            at.update((k, i / len(row)) for i, k in enumerate(row))


def place(rows: list[list[int]], above: list[list[int]], below: list[list[int]],
          size: Sequence[float]) -> list[float]:
    """Return the middle of each box and point: near its neighbours, in order, without overlaps."""
    x = [0.0] * len(size)
    for row in rows:
        place_row(row, [0.0] * len(row), size, x)
    for sweep in range(2 * SWEEPS):
        beside = above if sweep % 2 == 0 else below
        for row in rows if sweep % 2 == 0 else reversed(rows):
            wish = [sum(x[j] for j in beside[k]) / len(beside[k]) if beside[k] else x[k]
                    for k in row]
            place_row(row, wish, size, x)
    left = min((x[k] - size[k] / 2 for k in range(len(size))), default=0.0)
    return [v - left for v in x]


def place_row(row: Sequence[int], wish: Sequence[float], size: Sequence[float],
              x: list[float]) -> None:
    """Set the positions of a row that minimise the squared distances to `wish`, by pooling
    neighbours that would overlap."""
    pools: list[tuple[float, int]] = []        # mean start of the row for these boxes, and count
    before = [0.0]                             # distance of each box from the first of the row
    for a, b in zip(row, row[1:], strict=False):
        before.append(before[-1] + size[a] / 2 + GAP + size[b] / 2)
    for want, distance in zip(wish, before, strict=True):
        mean, count = want - distance, 1
        while pools and pools[-1][0] > mean:
            other, n = pools.pop()
            mean, count = (mean * count + other * n) / (count + n), count + n
        pools.append((mean, count))
    starts = [mean for mean, count in pools for _ in range(count)]
    for k, start, distance in zip(row, starts, before, strict=True):
        x[k] = start + distance
