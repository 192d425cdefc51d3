"""Programs with one misplaced operand, slot or instruction. Every part is valid by itself, so such
files pass more checks than files with random words."""

from dualflow.graph.program.spec import SlotKind

BEHIND = -2


def replaced(items, k, item):
    return (*items[:k], item, *items[k + 1:])


def same_type(rng, slots, k):
    """Return a slot of the dtype and shape of slot k, often another one."""
    return rng.choice([j for j, x in enumerate(slots)
                       if (x.dtype, x.shape) == (slots[k].dtype, slots[k].shape)])


def other_operand(rng, p):
    """Let an instruction read or write another slot of the same type."""
    k = rng.randrange(len(p.instructions))
    x = p.instructions[k]
    field = rng.choice([f for f in ("inputs", "outputs") if getattr(x, f)])
    slots = getattr(x, field)
    at = rng.randrange(len(slots))
    slots = replaced(slots, at, same_type(rng, p.slots, slots[at]))
    return p._replace(instructions=replaced(p.instructions, k, x._replace(**{field: slots})))


def moved_slot(rng, p):
    """Move a slot a little, or to the offset of another one."""
    k, other = rng.randrange(len(p.slots)), rng.choice(p.slots)
    x = p.slots[k]
    by = rng.choice([1, 4, 8, 64, 256]) * rng.choice([-1, 1])
    at = rng.choice([x.offset + by, other.offset, other.offset + by])
    return p._replace(slots=replaced(p.slots, k, x._replace(offset=max(0, at))))


def swapped_slots(rng, p):
    """Swap the offsets of two slots."""
    j, k = rng.randrange(len(p.slots)), rng.randrange(len(p.slots))
    a, b = p.slots[j], p.slots[k]
    if SlotKind.CONSTANT in (a.kind, b.kind):
        return p
    slots = replaced(p.slots, j, a._replace(kind=b.kind, offset=b.offset, number=b.number))
    return p._replace(slots=replaced(slots, k, b._replace(kind=a.kind, offset=a.offset,
                                                          number=a.number)))


def other_kind(rng, p):
    """Turn an arena slot into a result, or vice versa."""
    k = rng.randrange(len(p.slots))
    x = p.slots[k]
    if x.kind is SlotKind.CONSTANT:
        return p
    kind = rng.choice([SlotKind.ARENA, SlotKind.ARG, SlotKind.RESULT, SlotKind.DYNAMIC])
    number = rng.randrange(max(1, p.n_args if kind is SlotKind.ARG else p.n_results))
    return p._replace(slots=replaced(p.slots, k, x._replace(kind=kind, number=number)))


def without_one(rng, p):
    k = rng.randrange(len(p.instructions))
    return p._replace(instructions=p.instructions[:k] + p.instructions[k + 1:])


def swapped_instructions(rng, p):
    j, k = rng.randrange(len(p.instructions)), rng.randrange(len(p.instructions))
    found = replaced(p.instructions, j, p.instructions[k])
    return p._replace(instructions=replaced(found, k, p.instructions[j]))


def one_again(rng, p):
    """Repeat an instruction."""
    x, k = rng.choice(p.instructions), rng.randrange(len(p.instructions) + 1)
    if x.bodies:                    # a body has one owner
        return p
    return p._replace(instructions=(*p.instructions[:k], x, *p.instructions[k:]))


def one_wave(rng, p):
    """Put successive instructions into one wave."""
    k, n = rng.randrange(len(p.instructions)), rng.choice([2, 2, 3, 8])
    wave = rng.choice([0, 77])
    found = [x._replace(wave=wave) if k <= j < k + n else x for j, x in enumerate(p.instructions)]
    return p._replace(instructions=tuple(found))


def moved_workspace(rng, p):
    """Move a workspace, possibly to the offset of a slot."""
    found = [k for k, x in enumerate(p.instructions) if x.workspace >= 0]
    if not found:
        return p
    k = rng.choice(found)
    x = p.instructions[k]
    at = rng.choice([x.workspace + rng.choice([-64, 64, 128]), rng.choice(p.slots).offset, BEHIND])
    return p._replace(instructions=replaced(p.instructions, k, x._replace(workspace=max(-2, at))))


def other_result(rng, p):
    """Let a body return another slot."""
    if not p.returned:
        return p
    k = rng.randrange(len(p.returned))
    return p._replace(returned=replaced(p.returned, k, same_type(rng, p.slots, p.returned[k])))


CHANGES = (other_operand, other_operand, other_operand, moved_slot, moved_slot, swapped_slots,
           other_kind, without_one, without_one, swapped_instructions, one_again, one_wave,
           moved_workspace, moved_workspace, other_result)


def misplaced(rng, programs):
    """Return the programs of a file with one misplaced part."""
    k = rng.randrange(len(programs))
    p = programs[k]
    return [*programs[:k], rng.choice(CHANGES)(rng, p) if p.instructions else p, *programs[k + 1:]]
