"""Carries that a loop masks: the parts that an iteration reads are masked instead of the whole.

    carry = where(flag, carry, k), and where(flag, f(carry), k)    ->    where(flag, f(start), k)

`flag` is a carry that stays False, `f` selects elements. Exact: while the flag is True, the carry
is its start. Second derivatives have such carries: the gradient of a sum over a loop, which is
missing in iterations before the first term. An iteration then takes time in proportion to the part.
"""

from __future__ import annotations

from dualflow._core import Symbol, get_op
from dualflow.graph.ir import LOOP, Graph, Node, graphs, loop_parts
from dualflow.graph.passes import bodies
from dualflow.graph.passes.options import Options
from dualflow.graph.passes.values import is_zero, number

LOGICAL_AND, WHERE = get_op("logical_and"), get_op("where")
SELECT = {get_op(name) for name in ("expand_dims", "gather", "gather_nd", "reshape", "squeeze",
                                    "strided_slice", "transpose")}


def run(graph: Graph, options: Options) -> Graph:
    """Rewrite the carries of all loops."""
    changed = False
    for one in graphs(graph):
        loops = [node for node in one.nodes if node.op is LOOP]
        read = {x for node in one.nodes for x in node.inputs} if loops else set()
        read.update(one.outputs)
        for loop in loops:
            changed |= _unmask(loop, read)
    return bodies.run(graph, options) if changed else graph


def _unmask(loop: Node, read: set[Symbol]) -> bool:
    """Rewrite the carries of a loop whose last values are not read."""
    parts, body = loop_parts(loop), loop.bodies[0]
    carries = range(parts.n_carried)
    found = [c for c in carries if loop.outputs[c] not in read
             and body.outputs[parts.first + c].node.op is WHERE]
    if not found:
        return False
    readers: dict[Symbol, list[Node | None]] = {}
    for node in body.nodes:
        for x in node.inputs:
            readers.setdefault(x, []).append(node)
    for y in body.outputs:
        readers.setdefault(y, []).append(None)
    after = {body.outputs[parts.first + c]: body.inputs[parts.carried.start + c] for c in carries}
    changed = False
    for c in found:
        place = parts.first + c
        x, mask = body.inputs[parts.carried.start + c], body.outputs[place].node
        flag = after.get(mask.inputs[0])
        if (mask.inputs[1] is x and len(readers[mask.outputs[0]]) == 1 and flag is not None
                and mask.inputs[0].node.op is LOGICAL_AND
                and any([z is flag for z in mask.inputs[0].node.inputs])
                and x.known_shape == mask.outputs[0].known_shape
                and all([reader is mask or _is_masked(x, reader, flag, mask, readers)
                         for reader in readers[x]])):
            body.outputs[place] = x
            changed = True
    return changed


def _is_masked(x: Symbol, reader: Node | None, flag: Symbol, mask: Node,
               readers: dict[Symbol, list[Node | None]]) -> bool:
    """Return True if a reader selects elements of x, and masks them like `mask`, by the flag."""
    while reader is not None and reader.op in SELECT and reader.inputs[0] is x:
        if sum([z is x for z in reader.inputs]) > 1:
            return False
        x = reader.outputs[0]
        if len(readers.get(x, ())) != 1:
            return False
        reader, = readers[x]
    if reader is None or reader.op is not WHERE:
        return False
    a, b = number(reader.inputs[2]), number(mask.inputs[2])
    return (reader.inputs[0] is flag and reader.inputs[1] is x and is_zero(a, negative=True)
            and is_zero(b, negative=True))
