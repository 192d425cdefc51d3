"""DOT and SVG of graphs."""

import re
import xml.etree.ElementTree as ET

import pytest

import dualflow as df
from dualflow.errors import InvalidArgumentError
from dualflow.graph.inspect.draw import MOST_BOXES, draw, picture, to_dot, to_svg

SVG = "{http://www.w3.org/2000/svg}"


def small():
    v = df.Variable([1., 2.], name="v")
    g = df.Graph("small")
    with g.as_default():
        x = g.placeholder([3, 2], name="x")
        with df.name_scope("layer"), df.name_scope("inner"):
            y = df.add(x, v, name="sum")
        z = y * 2. + df.constant([5., 6., 7., 8., 9.])[:2]
        v.assign_add([1., 1.])
        g.outputs.append(z)
    return g


def boxes(g):
    return {box.title: box for box in picture(g).boxes}


def test_picture():
    found = boxes(small())
    assert {title: box.kind for title, box in found.items()} == {
        "x": "parameter", "v": "variable", "add (sum)": "op", "multiply (mul)  2.0": "op",
        "constant": "constant", "strided_slice": "op", "add": "op", "assign_add": "effect",
        "result": "result"} | ({"constant_1": "constant"} if "constant_1" in found else {})
    assert found["add (sum)"].scope == ("layer", "inner")
    assert found["add (sum)"].subtitle == "float32 (3, 2)"
    assert "test_draw.py" in found["add (sum)"].tooltip


def test_edges_show_dtype_and_shape():
    drawn = picture(small())
    titles = [box.title for box in drawn.boxes]
    labels = {(titles[a], titles[b]): label for a, b, label in drawn.edges}
    assert labels["x", "add (sum)"] == "float32 (3, 2)"
    assert labels["v", "add (sum)"] == "float32 (2,)"
    assert all(a < b for a, b, _ in drawn.edges)


def test_unused_leaves_are_not_drawn():
    g = df.Graph()
    with g.as_default():
        g.placeholder([1], name="unused")
        g.outputs.append(g.placeholder([1], name="used"))
    assert set(boxes(g)) == {"used", "result"}


def test_dot():
    text = to_dot(small())
    assert text.startswith('digraph "small" {')
    assert text.count("{") == text.count("}")
    assert 'subgraph "cluster_layer/inner"' in text
    for shape in ("ellipse", "cylinder", "note", "box"):
        assert f"shape={shape}" in text
    names = set(re.findall(r"^\s*(n\d+) \[", text, re.M))
    for a, b in re.findall(r"^\s*(n\d+) -> (n\d+)", text, re.M):
        assert a in names
        assert b in names


def test_dot_escapes_quotes_and_backslashes():
    g = df.Graph('a "b" \\ c')
    assert to_dot(g).startswith('digraph "a \\"b\\" \\\\ c" {')


def test_svg_is_well_formed_and_inside_its_frame():
    root = ET.fromstring(to_svg(small()))
    width, height = float(root.get("width")), float(root.get("height"))
    rects = [r for r in root.iter(SVG + "rect") if r.get("x")]
    assert len(rects) == len(picture(small()).boxes)
    for r in rects:
        assert float(r.get("x")) >= 0
        assert float(r.get("x")) + float(r.get("width")) <= width
        assert float(r.get("y")) + float(r.get("height")) <= height
    texts = [t.text for t in root.iter(SVG + "text")]
    assert "add (sum)" in texts
    assert any("test_draw.py" in (t.text or "") for t in root.iter(SVG + "title"))


def test_svg_escapes():
    g = df.Graph()
    with g.as_default():
        g.outputs.append(g.placeholder([1], name="x"))
    g.nodes[0].name = "<&>"
    assert ET.fromstring(to_svg(g)) is not None


def test_long_graph_is_elided_in_the_middle():
    g = df.Graph()
    with g.as_default():
        y = x = g.placeholder([2], name="x")
        for _ in range(20_000):
            y = y + x
        g.outputs.append(y)
    drawn = picture(g)
    assert len(drawn.boxes) == MOST_BOXES + 2
    rest = [k for k, box in enumerate(drawn.boxes) if box.kind == "rest"]
    assert len(rest) == 1
    assert "19601 more nodes" in drawn.boxes[rest[0]].title
    assert any(a == rest[0] for a, _, _ in drawn.edges)
    assert any(b == rest[0] - 1 for _, b, _ in drawn.edges)


def test_draw_writes_files(tmp_path):
    g = small()
    for name, start in [("g.svg", "<svg"), ("g.dot", "digraph"), ("g.gv", "digraph")]:
        text = draw(g, tmp_path / name)
        assert (tmp_path / name).read_text() == text
        assert text.startswith(start)
    with pytest.raises(InvalidArgumentError, match=r"ends in '\.png', expected \.svg"):
        draw(g, tmp_path / "g.png")
    assert g.draw().startswith("<svg")


def test_fused_clusters_list_their_steps():
    @df.function
    def f(x):
        return df.tanh(x * x + 1.)

    graph = f.graph_for(df.ones([64, 64]))
    titles = [box.title for box in picture(graph).boxes]
    assert any("tanh" in t for t in titles)
