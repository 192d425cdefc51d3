"""Drawings of graphs: DOT for Graphviz, and SVG by `draw_layout`, which needs no other software.

`Inspection.draw` and notebooks call `draw`. Parameters, constants, variables and results have
different shapes, ops with effects a thick border; a tooltip shows attributes and the user's line.
Each body is drawn in a border below the box of its node. The middle of a long graph is left out.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from html import escape
from itertools import takewhile

from dualflow._core import Symbol
from dualflow.errors import InvalidArgumentError
from dualflow.graph.inspect.draw_layout import Layout, lay_out
from dualflow.graph.ir import (
    CONSTANT,
    LEAVES,
    PARAMETER,
    Graph,
    Input,
    Node,
    attrs_text,
    data_text,
    graphs,
    tile_text,
    type_text,
)

__all__ = ["draw"]

MOST_BOXES = 400          # limit of boxes in a drawing
LABEL = 44                # characters per line in a box


@dataclass
class Box:
    """The drawing of a node."""

    kind: str             # a key of STYLES
    title: str
    subtitle: str
    tooltip: str
    scope: tuple[str, ...]
    n_bodies: int = 0     # number of leading entries of `scope` that are bodies


@dataclass
class Picture:
    """Boxes, each after the boxes it depends on, and edges labelled with the types of values."""

    boxes: list[Box]
    edges: list[tuple[int, int, str]]


# DOT shape; fill and border colour of both formats.
STYLES = {
    "parameter": ("ellipse", "#dbeafe", "#2563eb"),
    "constant": ("note", "#f3f4f6", "#9ca3af"),
    "variable": ("cylinder", "#dcfce7", "#16a34a"),
    "op": ("box", "#ffffff", "#6b7280"),
    "cluster": ("box3d", "#fef9c3", "#ca8a04"),
    "owner": ("folder", "#e0e7ff", "#4f46e5"),
    "effect": ("box", "#fee2e2", "#dc2626"),
    "result": ("ellipse", "#ede9fe", "#7c3aed"),
    "rest": ("plaintext", "#ffffff", "#ffffff"),
}


class Drawing(str):
    """The text of a drawing; a notebook shows SVG as a picture."""

    __slots__ = ()

    def __repr__(self) -> str:
        kind = "SVG" if self.startswith("<svg") else "DOT"
        return f"<dualflow.Drawing: {len(self):,} characters of {kind}>"

    def _repr_svg_(self) -> str | None:
        return str(self) if self.startswith("<svg") else None


def draw(graph: Graph, path: str | os.PathLike[str] | None = None) -> str:
    """Return the text of a drawing; also write it to `path` if given.

    Parameters
    ----------
    graph : Graph
    path : str or path, optional
        Ends in ``.svg``, ``.dot`` or ``.gv``; without it the text is SVG.

    Returns
    -------
    str

    Raises
    ------
    InvalidArgumentError
        If the path ends in anything else.

    Examples
    --------
    >>> import dualflow as df
    >>> from dualflow.graph.inspect.draw import draw
    >>> g = df.Graph()
    >>> with g.as_default():
    ...     y = df.exp(g.placeholder([2], name="x"))
    >>> draw(g)[:4]
    '<svg'
    """
    suffix = ".svg" if path is None else os.path.splitext(os.fspath(path))[1].lower()
    writers = {".svg": to_svg, ".dot": to_dot, ".gv": to_dot}
    if suffix not in writers:
        raise InvalidArgumentError(f"draw: {path} ends in {suffix!r}, expected .svg, .dot or .gv")
    text = writers[suffix](graph)
    if path is not None:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    return Drawing(text)


# --- boxes and edges -----------------------------------------------------------------------------

def picture(graph: Graph) -> Picture:
    """Return the boxes and edges of a graph. Constants of one element are shown in the boxes that
    read them; leaves that are not read are left out."""
    read = {x for one in graphs(graph) for node in one.nodes for x in node.inputs}
    read.update(x for one in graphs(graph) for x in one.outputs)
    shown = [(node, bodies) for node, bodies in _with_inside(graph)
             if not _is_inline(node) and not isinstance(node.data, Input)
             and (node.op not in LEAVES or node.outputs[0] in read)]
    out = Picture([], [])
    hidden: dict[Node, int] = {}
    if len(shown) > MOST_BOXES:
        half = MOST_BOXES // 2
        hidden = dict.fromkeys([node for node, _ in shown[half:-half]], half)
        n_hidden, shown = len(shown) - 2 * half, [*shown[:half], *shown[-half:]]
    box_of: dict[Node, int] = {}
    edges: dict[tuple[int, int], list[str]] = {}
    for k, (node, bodies) in enumerate(shown):
        if hidden and k == half:
            out.boxes.append(Box("rest", f"... {n_hidden} more nodes ...", "", "", ()))
            box_of.update(hidden)
        box_of[node] = len(out.boxes)
        box_of.update((x.node, len(out.boxes)) for body in node.bodies for x in body.inputs)
        out.boxes.append(_box(node, bodies))
        _connect(node.inputs, box_of, box_of[node], edges)
    for k, x in enumerate(graph.outputs):
        label = f"result {k}" if len(graph.outputs) > 1 else "result"
        out.boxes.append(Box("result", label, type_text(x), "", ()))
        _connect([x], box_of, len(out.boxes) - 1, edges)
    out.edges = [(a, b, "\n".join(dict.fromkeys(types))) for (a, b), types in edges.items()]
    return out


def _with_inside(graph: Graph) -> Iterator[tuple[Node, tuple[str, ...]]]:
    """Yield all nodes, owners before their bodies, with the titles of the enclosing bodies."""
    open_graphs: list[tuple[Iterator[Node], tuple[str, ...]]] = [(iter(graph.nodes), ())]
    while open_graphs:
        nodes, bodies = open_graphs[-1]
        node = next(nodes, None)
        if node is None:
            open_graphs.pop()
            continue
        yield node, bodies
        open_graphs += [(iter(body.nodes), (*bodies, f"{body.name} of {node.name}"))
                        for body in reversed(node.bodies)]


def _is_inline(node: Node) -> bool:
    return node.op is CONSTANT and node.outputs[0].size == 1


def _makers(x: Symbol) -> list[Node]:
    """Return the producers of a value; for an output of a node with bodies, those in the bodies."""
    found, pending = [], [x]
    while pending:
        y = pending.pop()
        if y.node.bodies:
            pending += [body.outputs[y.index] for body in y.node.bodies]
        else:
            found.append(y.node)
    return found


def _connect(inputs: Iterable[Symbol], box_of: dict[Node, int], to: int,
             edges: dict[tuple[int, int], list[str]]) -> None:
    for x in inputs:
        for node in _makers(x):
            start = box_of.get(node)
            if start is not None and start < to:
                edges.setdefault((start, to), []).append(type_text(x))


def _cut(text: str) -> str:
    return text if len(text) <= LABEL else text[:LABEL - 4] + " ..."


def _box(node: Node, bodies: tuple[str, ...]) -> Box:
    kind = _kind(node)
    inline = [data_text(x.node) for x in node.inputs if _is_inline(x.node)]
    name = node.name.rsplit("/", 1)[-1]
    if node.op in LEAVES:
        title = data_text(node) if node.op is not CONSTANT else "constant"
        title = name if node.op is PARAMETER else title.strip("'")
    elif kind == "cluster":
        steps = tile_text.to_text(node.attrs.as_dict()[tile_text.CODE]) if node.attrs else ""
        title = f"{node.op.name}: {steps}"
    else:
        title = node.op.name + (f" ({name})" if not name.startswith(node.op.name) else "")
        title += f"  {', '.join(inline)}" if inline else ""
    subtitle = ", ".join(type_text(y) for y in node.outputs)
    parts = [node.name, node.op.name, attrs_text(node.op, node.attrs, len(node.inputs)),
             subtitle, str(node.line or "")]
    return Box(kind, _cut(title), _cut(subtitle), "\n".join(p for p in parts if p),
               (*bodies, *node.name.split("/")[:-1]), len(bodies))


def _kind(node: Node) -> str:
    if node.op in LEAVES:
        return node.op.name
    if node.effect:
        return "effect"
    if node.bodies:
        return "owner"
    return "cluster" if tile_text.CODE in node.op.attrs else "op"


# --- DOT ------------------------------------------------------------------------------------------

def to_dot(graph: Graph) -> str:
    """Return the graph in the DOT language; name scopes are clusters."""
    drawn = picture(graph)
    lines = [f"digraph {_quote(graph.name)} {{",
             '  node [fontname="Helvetica", fontsize=11, style=filled, margin="0.12,0.06"];',
             '  edge [fontname="Helvetica", fontsize=9, color="#6b7280", arrowsize=0.7];']
    lines += _dot_scopes(drawn.boxes)
    lines += [f"  n{a} -> n{b} [label={_quote(label)}];" for a, b, label in drawn.edges]
    return "\n".join([*lines, "}", ""])


def _dot_scopes(boxes: list[Box]) -> list[str]:
    """Return the lines of the boxes, with a subgraph for each scope."""
    order = sorted(range(len(boxes)), key=lambda k: boxes[k].scope)
    lines: list[str] = []
    current: tuple[str, ...] = ()
    for k in order:
        scope = boxes[k].scope
        shared = sum(1 for _ in takewhile(lambda both: both[0] == both[1],
                                          zip(current, scope, strict=False)))
        lines += ["  }"] * (len(current) - shared)
        for depth in range(shared, len(scope)):
            path = "/".join(scope[:depth + 1])
            lines.append(f"  subgraph {_quote('cluster_' + path)} {{ label={_quote(scope[depth])};"
                         ' color="#d1d5db"; fontname="Helvetica"; fontsize=10;')
        current = scope
        lines.append(_dot_box(k, boxes[k]))
    return lines + ["  }"] * len(current)


def _dot_box(k: int, box: Box) -> str:
    shape, fill, border = STYLES[box.kind]
    label = box.title + (f"\n{box.subtitle}" if box.subtitle else "")
    width = 2 if box.kind == "effect" else 1
    return (f"  n{k} [label={_quote(label)}, shape={shape}, fillcolor={_quote(fill)}, "
            f"color={_quote(border)}, penwidth={width}, tooltip={_quote(box.tooltip)}];")


def _quote(text: str) -> str:
    inner = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{inner}"'


# --- SVG ------------------------------------------------------------------------------------------

CHAR = 6.3                # width of a character at 11 pixels
HEIGHT, LEVEL = 38.0, 74.0        # height of a box; distance between the tops of layers
MARGIN = 16.0
INSET = 12.0              # between the outermost border around a box and the box


def to_svg(graph: Graph) -> str:
    """Return the graph as SVG, laid out from top to bottom."""
    drawn = picture(graph)
    widths = [max(CHAR * max(len(box.title), 0.9 * len(box.subtitle)) + 22, 60)
              for box in drawn.boxes]
    layout = lay_out(widths, [(a, b) for a, b, _ in drawn.edges])
    width = layout.width + 2 * MARGIN
    height = LEVEL * (max(layout.layer, default=0) + 1) - (LEVEL - HEIGHT) + 2 * MARGIN + 18
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
             f'viewBox="0 0 {width:.0f} {height:.0f}" font-family="Helvetica, Arial, sans-serif">',
             '<rect width="100%" height="100%" fill="white"/>',
             '<marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" '
             'markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8z" fill="#6b7280"/></marker>',
             f'<text x="{MARGIN:.0f}" y="18" font-size="12" font-weight="bold" fill="#374151">'
             f'{escape(graph.name)}</text>',
             '<g fill="none" stroke="#9ca3af" stroke-width="1.2">']
    for (_, _, label), route in zip(drawn.edges, layout.routes, strict=True):
        lines.append(f'<path d="{_curve(route)}" marker-end="url(#tip)">'
                     f'<title>{escape(label)}</title></path>')
    lines.append("</g>")
    lines += _svg_bodies(drawn.boxes, layout, widths)
    for k, box in enumerate(drawn.boxes):
        lines += _svg_box(box, layout, k, widths[k])
    return "\n".join([*lines, "</svg>", ""])


def _top(layer: int) -> float:
    return MARGIN + 18 + LEVEL * layer


def _curve(route: list[tuple[float, int]]) -> str:
    """Return an SVG path that leaves and enters layers vertically and crosses layers straight."""
    x, layer = route[0]
    y = _top(layer) + HEIGHT
    parts = [f"M{x + MARGIN:.1f} {y:.1f}"]
    for k, (to, level) in enumerate(route[1:], 2):
        top = _top(level)
        bend = (top - y) / 2
        parts.append(f"C{x + MARGIN:.1f} {y + bend:.1f} {to + MARGIN:.1f} {top - bend:.1f} "
                     f"{to + MARGIN:.1f} {top:.1f}")
        x, y = to, top
        if k < len(route):
            y = top + HEIGHT
            parts.append(f"V{y:.1f}")
    return "".join(parts)


def _svg_bodies(boxes: list[Box], layout: Layout, widths: list[float]) -> list[str]:
    """Return dashed borders around the boxes of each body, outermost first."""
    inside: dict[tuple[str, ...], list[int]] = {}
    for k, box in enumerate(boxes):
        for depth in range(1, box.n_bodies + 1):
            inside.setdefault(box.scope[:depth], []).append(k)
    lines = []
    for scope, members in sorted(inside.items(), key=lambda item: len(item[0])):
        pad = max(INSET - 2 * len(scope), 2)
        left = min(layout.x[k] - widths[k] / 2 for k in members) + MARGIN - pad
        right = max(layout.x[k] + widths[k] / 2 for k in members) + MARGIN + pad
        top = _top(min(layout.layer[k] for k in members)) - pad
        bottom = _top(max(layout.layer[k] for k in members)) + HEIGHT + pad
        lines.append(f'<g class="body"><title>{escape(scope[-1])}</title><rect x="{left:.1f}" '
                     f'y="{top:.1f}" width="{right - left:.1f}" height="{bottom - top:.1f}" rx="6" '
                     'fill="none" stroke="#4f46e5" stroke-dasharray="6 3"/></g>')
    return lines


def _svg_box(box: Box, layout: Layout, k: int, width: float) -> list[str]:
    _, fill, border = STYLES[box.kind]
    x, y = layout.x[k] + MARGIN - width / 2, _top(layout.layer[k])
    round_off = HEIGHT / 2 if box.kind in ("parameter", "result") else 4
    stroke = 2.2 if box.kind in ("effect", "variable") else 1.2
    dash = ' stroke-dasharray="4 2"' if box.kind == "constant" else ""
    middle = x + width / 2
    title_y = y + (16 if box.subtitle else 23)
    lines = [f'<g><title>{escape(box.tooltip)}</title><rect x="{x:.1f}" y="{y:.1f}" '
             f'width="{width:.1f}" height="{HEIGHT:.0f}" rx="{round_off:.0f}" fill="{fill}" '
             f'stroke="{border}" stroke-width="{stroke}"{dash}/>',
             f'<text x="{middle:.1f}" y="{title_y:.1f}" font-size="11" text-anchor="middle" '
             f'fill="#111827">{escape(box.title)}</text>']
    if box.subtitle:
        lines.append(f'<text x="{middle:.1f}" y="{y + 30:.1f}" font-size="9.5" '
                     f'text-anchor="middle" fill="#6b7280">{escape(box.subtitle)}</text>')
    return [*lines, "</g>"]
