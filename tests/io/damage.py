"""Changes of the JSON of saved modules, with valid checksums."""

import copy
import json

from dualflow.io import content

OTHERS = (None, -1, 0, 1, 7, 2.5, True, "x", "op", [], [[]], {}, {"a": 1}, [0], [1, 2, 3, 4, 5, 6])


def places(value, path=()):
    """Return the paths of all parts of a JSON value."""
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(
        value, list) else ()
    return [path, *[x for key, part in parts for x in places(part, (*path, key))]]


def changed(said, random):
    """Return a JSON value with one part replaced, removed, repeated or exchanged with another."""
    made = copy.deepcopy(said)
    paths = places(made)[1:]
    path = paths[random.integers(len(paths))]
    inside = made
    for key in path[:-1]:
        inside = inside[key]
    how, key = random.integers(5), path[-1]
    if how == 0:
        del inside[key]
    elif how == 1 and isinstance(inside, list):
        inside.insert(int(random.integers(len(inside) + 1)), copy.deepcopy(inside[key]))
    elif how == 2:
        other = made
        for step in paths[random.integers(len(paths))]:
            other = other[step]
        inside[key] = copy.deepcopy(other)
    elif how == 3 and type(inside[key]) is int:
        inside[key] += int(random.integers(-3, 4))
    else:
        inside[key] = copy.deepcopy(OTHERS[random.integers(len(OTHERS))])
    return made


def damaged_files(folder, random, times):
    """Overwrite the file of a saved module with changed versions; yield each change as text."""
    path = f"{folder}/module.safetensors"
    with content.content_of(path, "dualflow module 1") as found:
        tensors, said = found.read(), found.states["module"]
    for _ in range(times):
        bad = changed(said, random)
        content.write_content(path, "dualflow module 1", tensors, {"module": bad})
        yield json.dumps(bad)
    content.write_content(path, "dualflow module 1", tensors, {"module": said})
