"""Amalgamation of csrc sources into one text: includes are expanded, a guarded header is emitted
once, and static names that occur in several files get the name of their file as a prefix."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import NamedTuple

from dualflow.aot.csrc import all_sources, read
from dualflow.aot.runtime import BUILT, Runtime, file_of_ops, is_kernel

INCLUDE = re.compile(r'\s*#\s*include\s+(?:"([^"]+)"|TEMPLATE\b)')
TEMPLATE = re.compile(r'\s*#\s*define TEMPLATE\s+"([^"]+)"')
GUARD = re.compile(r"^#ifndef (\w+_H)\n#define \1$", re.M)
PUBLIC = re.compile(r"(?:df|DF|t|v|m)_|dualflow|DUALFLOW|FN$|$")    # or with a vector suffix
CONDITION = re.compile(r"\s*#\s*if ((?:DF_(?:BUILT|PRODUCT)_\w+|[ |&!()])+)(?:/\*.*)?$")
DTYPE = r"(?:f16|bf16|f32|f64|c64|c128|bool|[iu](?:8|16|32|64))"
WORDS = r'/\*.*?\*/|//[^\n]*|"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)*\''
UNSEEN = re.compile(rf"{WORDS}|^[ \t]*#(?:[^\n\\]|\\.)*", re.S | re.M)

# Names with file scope, as csrc declares them: plain names, and FN(names) of templates.
NAMED = [re.compile(pattern, re.M) for pattern in (
    r"^(?:static|DF_INLINE|DF_THREAD_LOCAL)\b[^;{}()=]*?\b(\w+)\s*[(\[=;]",
    r"^DF_ONCE\([^(),]*, (\w+), \(",
    r"^(?:typedef )?(?:struct|enum|union)\s+(\w+)\s*\{",
    r"^\}\s*(\w+)\s*;",
    r"^typedef\b[^;{}]*?\(\*(\w+)\)\(",
    r"^typedef\b[^;{}()]*?\b(\w+)(?:\[\w+\])?;")]
TEMPLATED = [re.compile(pattern, re.M) for pattern in (
    r"^(?:static|DF_INLINE|DF_NOINLINE|typedef)\b[^;{}()=]*?\b(?:FN|CN)\((\w+)\)",
    r"^DF_ONCE\([^(),]*, FN\((\w+)\), \(",
    r"^\}\s*(?:FN|CN)\((\w+)\)\s*;")]
ENUM = re.compile(r"^(?:typedef )?enum\s*\w*\s*\{([^}]*)\}", re.M)


class Names(NamedTuple):
    """Names with file scope: plain names, and names of templates, which get a dtype's suffix."""

    plain: frozenset[str]
    templated: frozenset[str]


def is_shared(path: str) -> bool:
    """Return True if a file is a guarded header, emitted once; a template is emitted repeatedly."""
    return GUARD.search(read(path)) is not None


@cache
def included(path: str) -> tuple[str, ...]:
    """Return the files that a file includes, as headers or as templates."""
    return tuple([m[1] for line in read(path).splitlines()
                  if (m := INCLUDE.match(line) or TEMPLATE.match(line)) and m[1]])


def parts_of(path: str) -> Iterator[str]:
    """Yield a file and its templates."""
    yield path
    for name in included(path):
        if not name.endswith(".def") and not is_shared(name):
            yield from parts_of(name)


@cache
def names_in(paths: tuple[str, ...]) -> Names:
    """Return the names with file scope in files."""
    text = "\n".join([UNSEEN.sub(" ", read(path)) for path in paths])
    plain = {name for pattern in NAMED for name in pattern.findall(text)}
    plain |= {word.split("=")[0].strip() for body in ENUM.findall(text) for word in body.split(",")}
    templated = {name for pattern in TEMPLATED for name in pattern.findall(text)}
    return Names(*[frozenset([x for x in found if not PUBLIC.match(x)])
                   for found in (plain, templated)])


@cache
def side(kernels: bool) -> tuple[str, ...]:
    """Return all sources compiled once per SIMD level (`kernels`), or all others."""
    return tuple([path for path in all_sources() if is_kernel(path) is kernels])


@cache
def names_of_headers() -> Names:
    """Return the names in guarded headers."""
    headers: dict[str, None] = {}
    wanted = [*side(True), *side(False)]
    while wanted:
        for path in parts_of(wanted.pop()):
            found = [x for x in included(path) if x not in headers and is_shared(x)]
            headers.update(dict.fromkeys(found))
            wanted += found
    return names_in(tuple([part for path in headers for part in parts_of(path)]))


@cache
def clashing(kernels: bool) -> Names:
    """Return names that occur in several sources of a side, or in a source and a header."""
    owned = [names_in(tuple(parts_of(path))) for path in side(kernels)] + [names_of_headers()]

    def repeated(kind: int) -> frozenset[str]:
        counts = Counter([name for names in owned for name in names[kind]])
        return frozenset([name for name, n in counts.items() if n > 1])

    return Names(repeated(0), repeated(1))


@cache
def own_names(path: str) -> Names:
    """Return the names of a source that clash on its side. An op's names stay in the op's file."""
    own, others = names_in(tuple(parts_of(path))), clashing(is_kernel(path))
    ops = {op for op, file in file_of_ops().items() if file == path}
    return Names((own.plain & others.plain) - ops, (own.templated & others.templated) - ops)


@cache
def stem(path: str) -> str:
    """Return the prefix for a source's clashing names: `softmax`, `ops_attention`."""
    folder, *_, name = path.removesuffix(".c").split("/")
    alone = sum([x.split("/")[-1] == f"{name}.c" for x in side(is_kernel(path))]) == 1
    return name if alone or folder == name else f"{folder}_{name}"


@cache
def rename_statics(path: str, owner: str) -> str:
    """Return the text of a source, or of its template, with the source's prefix on clashing names.
    Members of structures are not renamed."""
    text, own, first = read(path), own_names(owner), stem(owner) + "_"
    every = "|".join(sorted(own.plain | own.templated))
    if not every:
        return text
    inside: list[bool] = []                 # for each open brace: whether it is of a structure

    def changed(found: re.Match[str]) -> str:
        word, name = found[0], found["name"]
        if found["head"]:
            inside.append(True)
            return re.sub(rf"\b({every})\b", lambda x: first + x[0] if x[0] in own.plain else x[0],
                          word)
        if word == "{":
            inside.append(False)
        elif word == "}" and inside:
            inside.pop()
        elif name:
            after = text[found.end():found.end() + 3]
            if inside and inside[-1] and re.match(r"\s*[;,:\[]", after):
                return word
            templated = (found["dtype"] or after == "##_"
                         or text[:found.start()].endswith(("FN(", "CN(")))
            if name in (own.templated if templated else own.plain):
                return first + word
        return word

    return re.sub(rf"{WORDS}|(?<!\.)\.\s*[A-Za-z_]\w*|->\s*\w+|#[ \t]*include[^\n]*"
                  rf"|(?P<head>\b(?:struct|union)\b[^;{{}}()=,]*\{{)|[{{}}]"
                  rf"|\b(?P<name>{every})(?P<dtype>_{DTYPE})?\b", changed, text, flags=re.S)


def holds(condition: str, built: Mapping[str, bool]) -> bool:
    """Evaluate a condition on built kernels: ``DF_BUILT_U8 || DF_BUILT_BOOL``."""
    words = re.sub(r"DF_\w+", lambda x: str(built[x[0]]), condition)
    python = words.replace("||", " or ").replace("&&", " and ").replace("!", " not ")
    return bool(eval(python, {"__builtins__": {}}))


HEADERS = ("model/model.h",)       # included by models and most sources
RUNTIME, KERNELS, HEADER = "runtime.c", "kernels.c", "runtime.h"
TITLE = """\
/* Part of dualflow, licensed under the Apache License, Version 2.0: {what}
 * Concatenated from the files of csrc named below; static names that occur in several of these
 * files have the file's name as a prefix. */
"""


def joined(runtime: Runtime) -> dict[str, str]:
    """Return the files of a runtime: headers, sources compiled once, and kernels."""
    shared: set[str] = set()
    header = Joined(runtime.changed, shared).text(HEADERS)
    first = f'#include "{HEADER}"\n'
    return {HEADER: TITLE.format(what="the runtime's headers.") + header,
            RUNTIME: TITLE.format(what="the runtime.") + first
            + Joined(runtime.changed, shared.copy()).text(runtime.common),
            KERNELS: TITLE.format(what="its kernels.") + first
            + Joined(runtime.changed, shared.copy()).text(runtime.kernels)}


class Joined:
    """A concatenation of sources.

    Parameters
    ----------
    files : dict of str to str
        By path, the texts of files that differ from csrc's.
    there : set of str
        Headers that another text contains; the headers of this text are added.
    """

    def __init__(self, files: Mapping[str, str], there: set[str]) -> None:
        self.files = files
        self.there = there
        self.built = {name: n == "1" for name, n in
                      re.findall(r"#define (DF_\w+) ([01])", files[BUILT])}
        self.template = ""

    def text(self, paths: Sequence[str]) -> str:
        """Return the concatenated text of sources."""
        lines: list[str] = []
        for path in paths:
            lines += self.expanded(path, path)
            if path.endswith(".c"):
                lines += [f"#undef {name}" for name in macros(path)]
        return "\n".join(lines) + "\n"

    def expanded(self, path: str, owner: str | None) -> Iterator[str]:
        """Yield the lines of a file with its includes expanded. `owner` is the source to which the
        file belongs, or None in a guarded header."""
        if path.endswith(".h") and is_shared(path):
            if path in self.there:
                return
            self.there.add(path)
            owner = None
        if path in self.files:
            text = self.files[path]
        else:
            text = (read(path) if owner is None or owner.endswith(".h")
                    else rename_statics(path, owner))
        yield f"/* ======== csrc/{path} */"
        skipped: list[bool | None] = []     # per open #if: None if it is not a dtype condition
        for line in text.splitlines():
            condition = CONDITION.match(line)
            if condition and set(re.findall(r"\w+", condition[1])) <= self.built.keys():
                skipped.append(not holds(condition[1], self.built))
                continue
            if re.match(r"\s*#\s*if", line):
                skipped.append(None)
            elif re.match(r"\s*#\s*else", line) and skipped[-1] is not None:
                skipped[-1] = not skipped[-1]
                continue
            elif re.match(r"\s*#\s*endif", line) and skipped.pop() is not None:
                continue
            if True in skipped:
                continue
            template, include = TEMPLATE.match(line), INCLUDE.match(line)
            if template:
                self.template = template[1]
            elif include:
                yield from self.expanded(include[1] or self.template, owner)
            elif not re.match(r"\s*#\s*undef TEMPLATE", line):
                yield line


@cache
def macros(path: str) -> tuple[str, ...]:
    """Return the macros that a source and its templates leave defined."""
    left: dict[str, None] = {}
    for part in parts_of(path):
        made, gone = [re.findall(rf"^\s*#\s*{what}\s+(\w+)", read(part), re.M)
                      for what in ("define", "undef")]
        left.update(dict.fromkeys([x for x in made if x not in (*gone, "_GNU_SOURCE", "TEMPLATE")]))
    return tuple(left)
