"""Sphinx extension: includes project files outside docs/ as pages, and adapts their links."""

import os
import re
from pathlib import Path

DOCS = Path(__file__).resolve().parent.parent
ROOT = DOCS.parent
OUTSIDE = {"readme": "README.md", "changes": "CHANGELOG.md", "contributing": "CONTRIBUTING.md",
           "eager_tour": "examples/eager_tour.md", "tracing_tour": "examples/tracing_tour.md"}
PAGE_OF = {ROOT / path: DOCS / f"{name}.md" for name, path in OUTSIDE.items()}


def replace_source(app, docname, source):
    """Replace the source of a page by its file outside docs/, if any, and adapt its links."""
    page = DOCS / f"{docname}.md"
    if page.exists():
        path = ROOT / OUTSIDE[docname] if docname in OUTSIDE else page
        source[0] = relinked(path.read_text(), path.parent, page.parent)


def relinked(text, here, there):
    """Return the text of a file in folder `here` with links for a page in folder `there`. A link
    to a file that is not a page becomes code."""
    def link(match):
        label, target, anchor = match.groups()
        if re.match(r"\w+:", target):
            return match[0]
        path = Path(os.path.normpath(here / target))
        path = PAGE_OF.get(path, path)
        if path.is_relative_to(DOCS):
            return f"[{label}]({os.path.relpath(path, there)}{anchor or ''})"
        return f"`{label.strip('`')}`"

    parts = re.split(r"(^```.*?^```$)", text, flags=re.M | re.S)        # code is unchanged
    parts[::2] = [re.sub(r"(?<!!)\[([^\]]+)\]\(([^)#\s]+)(#[^)\s]*)?\)", link, part)
                  for part in parts[::2]]
    parts[1::2] = [part.replace("\n\n```", "\n```") for part in parts[1::2]]  # ends a doctest only
    return "".join(parts)


def setup(app):
    app.connect("source-read", replace_source)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
