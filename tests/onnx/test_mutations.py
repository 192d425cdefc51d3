"""Damaged files: loading raises dualflow's errors, or the model computes something."""

import random

import pytest

pytest.importorskip("onnx")

import onnx

import dualflow as df
from tests import sampling
from tests.onnx.runtimes import tensor
from tests.onnx.test_node_cases import cases, known

INTS = [0, 1, -1, 2, 7, 11, 18, 100, 2**31 - 1, 2**63 - 1, -2**63]
FLOATS = [0., -1., 1e30, float("inf"), float("nan")]
WORDS = ["", "x", "y", "Add", "Concat", "If", "Loop"]


def messages(proto):
    """Yield a message and all messages inside it."""
    found, waiting = [], [proto]
    while waiting:
        found.append(waiting.pop())
        for field, value in found[-1].ListFields():
            if field.type == field.TYPE_MESSAGE:
                waiting.extend([value] if hasattr(value, "ListFields") else value)
    return found


def other(chance, value):
    """Return a wrong value in place of a valid one."""
    if isinstance(value, int):
        return chance.choice([*INTS, value + 1, value * 3])
    if isinstance(value, float):
        return chance.choice(FLOATS)
    if isinstance(value, str):
        return chance.choice([*WORDS, value + "_"])
    return value[:len(value) // 2] if chance.random() < 0.5 else bytes(
        [chance.randrange(256) for _ in value])


def change(chance, proto):
    """Clear or replace one field of one message; in a list, one element."""
    message = chance.choice(messages(proto))
    fields = message.ListFields()
    if not fields:
        return
    field, value = chance.choice(fields)
    how = chance.random()
    if hasattr(value, "ListFields") or (how < 0.25 and not hasattr(value, "extend")):
        message.ClearField(field.name)
    elif not hasattr(value, "extend"):
        setattr(message, field.name, other(chance, value))
    elif how < 0.3:
        del value[chance.randrange(len(value))]
    elif field.type == field.TYPE_MESSAGE:
        value.add().CopyFrom(chance.choice(list(value)))
    else:
        value[chance.randrange(len(value))] = other(chance, chance.choice(list(value)))


def damaged(chance, data):
    """Return bytes with some replaced, removed or repeated, or with the rest cut off."""
    data = bytearray(data)
    for _ in range(chance.choice([1, 2, 5])):
        k, how = chance.randrange(len(data)), chance.random()
        if how < 0.5:
            data[k] = chance.randrange(256)
        elif how < 0.7:
            del data[k:k + chance.randrange(1, 9)]
        elif how < 0.9:
            data[k:k] = data[chance.randrange(len(data)):][:20]
        else:
            data = data[:k]
        if not data:
            return b""
    return bytes(data)


def mutation(chance, case):
    if chance.random() < 0.4:
        return damaged(chance, case.model.SerializeToString())
    proto = onnx.ModelProto()
    proto.CopyFrom(case.model)
    for _ in range(chance.choice([1, 1, 2, 4])):
        try:
            change(chance, proto)
        except (TypeError, ValueError):     # a number out of the field's range
            continue
    return proto


def check(seed):
    chance = random.Random(seed)
    case = cases()[chance.choice(known())]
    given = mutation(chance, case)
    if not isinstance(given, bytes) and chance.random() < 0.3:
        given = given.SerializeToString()
    try:
        model = df.onnx.load(given)
        fn = df.function(model) if chance.random() < 0.4 else model
        fn(*map(tensor, case.data_sets[0][0]))
    except df.errors.DualflowError:
        pass


@pytest.mark.filterwarnings("ignore")
def test_mutations():
    for seed in sampling.part(range(200), 16):
        check(seed)


@pytest.mark.soak
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("start", range(0, 50_000, 1000))
def test_many_mutations(start):
    for seed in range(start, start + 1000):
        check(seed)
