"""The directive `{api} module`, which documents the public names of a module, and their links."""

import inspect
import re
from typing import ClassVar

import names
from docutils import nodes
from docutils.parsers.rst import directives
from docutils.statemachine import StringList
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.docutils import SphinxDirective
from sphinx.util.nodes import make_refnode

BESIDE = 6                                  # number of entries under "see also"
FOUND = names.entries()


def family(entry, group):
    """Return the entries that are nearest in the source."""
    near = sorted(group, key=lambda e: abs(group.index(e) - group.index(entry)))[1:BESIDE + 1]
    return sorted(near, key=group.index)


def escaped(text):
    """Return text with stars outside code escaped."""
    parts = re.split(r"(`[^`]*`)", text)
    parts[::2] = [part.replace("*", r"\*") for part in parts[::2]]
    return "".join(parts)


def listed(group):
    """Yield a table of the entries, each with its first sentence."""
    yield from [".. list-table::", "   :widths: auto", ""]
    for entry in group:
        doc = (inspect.getdoc(entry.value) or "").strip()
        sentence = " ".join(doc.split("\n\n")[0].split())
        yield f"   * - :py:obj:`{entry.name}`"
        yield f"     - {escaped(sentence)}"
    yield ""


def text_of(entry, group, options):
    """Yield an entry as reStructuredText: autodoc directive, other names, see also."""
    kind = "autoclass" if entry.kind == "class" else "autofunction"
    yield f".. {kind}:: {entry.name}"
    if entry.kind == "class":
        yield from (f"   :{name}: {value or ''}" for name, value in options.items())
    yield ""
    if entry.others:
        yield "   Also " + ", ".join(f"``{name}``" for name in entry.others) + "."
        yield ""
    near = family(entry, group)
    alias = entry.kind == "class" and entry.value.__name__ != entry.name.rpartition(".")[2]
    if near and not alias:                  # autodoc names the class of an alias
        yield "   .. seealso:: " + ", ".join(f":py:obj:`{e.name}`" for e in near)
        yield ""


class Api(SphinxDirective):
    required_arguments = 1
    option_spec: ClassVar = {"inherited-members": directives.unchanged,
                             "exclude-members": directives.unchanged}

    def run(self):
        module = self.arguments[0]
        group = FOUND[module]
        options = {"members": "", **self.options}
        lines = ["```{eval-rst}", *(listed(group) if len(group) > 1 else ()),
                 *(line for entry in group for line in text_of(entry, group, options)), "```"]
        self.state.document.settings.record_dependencies.add(names.file_of(module))
        box = nodes.container()
        self.state.nested_parse(StringList(lines, source=module), 0, box)
        domain = self.env.get_domain("py")
        for entry in group:
            for other in set(entry.others) - {*domain.objects}:      # the name in its module exists
                domain.note_object(other, entry.kind, entry.name, aliased=True,
                                   location=self.get_location())
        return box.children


class LinkNames(SphinxPostTransform):
    """Links code that is a public name, such as `df.nn.relu` or `df.exp(x)`, to its entry."""

    default_priority = 50                   # after references are resolved

    def run(self, **kwargs):
        objects = self.env.get_domain("py").objects
        for literal in list(self.document.findall(nodes.literal)):
            match = re.fullmatch(r"(?:df|dualflow)\.([\w.]+)(\(.*\))?", literal.astext())
            entry = objects.get(f"dualflow.{match[1]}") if match else None
            if entry and not any(isinstance(above, nodes.reference | nodes.title)
                                 for above in _above(literal)):
                literal.replace_self(make_refnode(self.app.builder, self.env.docname,
                                                  entry.docname, entry.node_id,
                                                  literal.deepcopy()))


def _above(node):
    while node := node.parent:
        yield node


def setup(app):
    app.add_directive("api", Api)
    app.add_post_transform(LinkNames)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
