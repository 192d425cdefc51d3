"""Public functions accept TensorFlow's arguments: same names, order and defaults.

`tensorflow_signatures.txt` holds the TensorFlow 2.21 signatures, one per line, of the names that
dualflow has. dualflow may accept more arguments after them."""

import inspect
import re
from pathlib import Path

import pytest

import dualflow as df
from tests.signature_differences import BEHAVIOUR, DIFFERENCES, EVERYWHERE

ROWS = dict(re.fullmatch(r"tf\.([\w.]+)\((.*)\)", line).groups() for line in
            Path(__file__).with_name("tensorflow_signatures.txt").read_text().splitlines())

# An argument and its default; a default has commas only inside brackets.
ARGUMENT = re.compile(r"(\w+)(?:=((?:\[[^]]*\]|\([^)]*\)|<[^>]*>|'[^']*'|[^,])*))?")


def found(path):
    thing = df
    for part in path.split("."):
        thing = getattr(thing, part)
    return thing


def theirs(text):
    return {name: default or None for name, default in ARGUMENT.findall(text)}


def ours(function):
    """Return arguments with their defaults as text; `*inputs` and `**kwargs` lose their stars."""
    found = {}
    for p in inspect.signature(function).parameters.values():
        found[p.name] = None if p.default is p.empty else repr(p.default)
    return found


def plain(default):
    """Return a default without notation that only one of the two libraries uses."""
    if default is None:
        return None
    text = default.replace("tf.", "").replace("dualflow.", "")
    text = re.sub(r"<UnconnectedGradients.NONE: ('none')>", r"\1", text)
    try:
        return float(text)
    except ValueError:
        return text


def differences(path, text):
    """Return the differences, as `"axis=None, here 0"`."""
    want, have = theirs(text), ours(found(path))
    missing = [name for name in want if name not in have]
    said = [f"no {name}" for name in missing if (path, name) not in DIFFERENCES and
            name not in EVERYWHERE]
    common = [name for name in want if name in have]
    if [name for name in have if name in want] != common or list(have)[:len(common)] != common:
        said.append(f"order {', '.join(have)}")
    for name in common:
        if plain(want[name]) != plain(have[name]) and name not in EVERYWHERE and (
                path, name) not in DIFFERENCES:
            said.append(f"{name}={want[name]}, here {have[name]}")
    return [] if (path, "*") in DIFFERENCES else said


@pytest.mark.parametrize("path", ROWS)
def test_arguments_match_tensorflow(path):
    assert not differences(path, ROWS[path])


def test_listed_differences_exist_and_have_a_reason():
    assert all(EVERYWHERE.values())
    for (path, name), reason in DIFFERENCES.items():
        assert reason and path in ROWS, path
        want, have = theirs(ROWS[path]), ours(found(path))
        assert name == "*" or name not in have or plain(want[name]) != plain(have[name]), (
            f"{path}: {name} does not differ any more")


@pytest.mark.parametrize("call", BEHAVIOUR)
def test_listed_behaviour_differences(call):
    want, reason = BEHAVIOUR[call]
    assert reason and str(eval(f"df.{call}").tolist()) == want
