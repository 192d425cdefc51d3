"""Line references of the documentation, ``[`apply`](../dualflow/_core/apply.pxi#L8)``: each must be
the line that defines the name. ``python -m tests.line_references`` updates them."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/one_op.md"
REFERENCE = re.compile(r"\[`(\w+)`\]\(\.\./([\w/.]+)#L(\d+)\)")


def line_of(name, path):
    """Return the first line of a file that defines a name, in Python, Cython or C."""
    defines = re.compile("|".join([
        rf"\b(?:def|class) {name}\b", rf"^cdef \w.* {name}\(", rf"^[a-z]\w*[\w *]* \**{name}\(",
        rf"^DF_INLINE .*FN\({name}\)", rf"^(?:DF_OP|TILE_\w+)\({name}\)"]))
    for k, line in enumerate((ROOT / path).read_text().splitlines(), 1):
        if defines.search(line):
            return k
    raise LookupError(f"{path} does not define {name}")


def references():
    """Yield (name, path, line in the page, line in the file) of each reference."""
    for name, path, line in REFERENCE.findall(PAGE.read_text()):
        yield name, path, int(line), line_of(name, path)


def update():
    def now(found):
        name, path, _ = found.groups()
        return f"[`{name}`](../{path}#L{line_of(name, path)})"

    PAGE.write_text(REFERENCE.sub(now, PAGE.read_text()))


if __name__ == "__main__":
    update()
