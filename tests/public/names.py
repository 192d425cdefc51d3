"""Report which names of a table of uses exist: `python -m tests.public.names TABLE.tsv`.

The table has tab-separated columns with a first line of titles: `name`, such as ``tf.math.log``,
`uses`, a number, and optionally `keywords`, such as ``axis:3 name:1``, keyword arguments with their
numbers of uses. Names begin with ``tf``, for which the name `tensorflow` of `dualflow.tensorflow`
stands.
"""

import csv
import inspect
import sys

import dualflow.tensorflow


def found(path):
    """Return the object that a name stands for. Raise AttributeError if there is none."""
    thing = dualflow.tensorflow.bind()
    for name in path.split(".")[1:]:
        thing = getattr(thing, name)
    return thing


def lacks(thing, keyword):
    """Return True if a function has no argument of this name."""
    try:
        parameters = inspect.signature(thing).parameters
    except (TypeError, ValueError):
        return False
    return keyword not in parameters and not any(
        [p.kind is p.VAR_KEYWORD for p in parameters.values()])


def report(table, write=print):
    """Write the percentages and the missing names and keywords; return the share of uses."""
    with open(table, encoding="utf-8", newline="") as file:
        rows = [(row["name"], int(row["uses"]), row.get("keywords") or "")
                for row in csv.DictReader(file, delimiter="\t")]
    missing, keywords, given = [], [], 0
    for name, uses, used in rows:
        try:
            thing = found(name)
        except (AttributeError, ImportError):
            missing.append((uses, name))
            continue
        for pair in used.split():
            keyword, _, n = pair.partition(":")
            given += int(n)
            if lacks(thing, keyword):
                keywords.append((int(n), f"{name}({keyword}=)"))
    total, absent = sum([uses for _, uses, _ in rows]), sum([uses for uses, _ in missing])
    write(f"{len(rows) - len(missing)} of {len(rows)} names, {total - absent} of {total} uses "
          f"({100 * (1 - absent / total):.2f} %), {given - sum([n for n, _ in keywords])} of "
          f"{given} keyword arguments")
    for uses, name in [*sorted(missing, reverse=True), *sorted(keywords, reverse=True)]:
        write(f"{uses:5} {name}")
    return 1 - absent / total


if __name__ == "__main__":
    report(sys.argv[1])
