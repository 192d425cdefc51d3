"""Measures how comments, docstrings and pages read: unidiomatic patterns per 1,000 words.

Admired projects almost never match these patterns (JAX 1.1, NumPy 2.0, Lua 2.5 per 1,000 words). A
match is a sentence to look at, not an error. ``python -m tests.prose PATH...`` lists the matches in
files and folders; ``python -m tests.prose --since REVISION`` those in lines added since a revision.
"""

import ast
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SUFFIXES = {".py", ".pyx", ".pxi", ".pxd", ".pyi", ".c", ".h", ".md"}

PATTERNS = {
    "relative 'what': name the thing": r"\b[Ww]hat\b(?![^.?!]{0,200}\?)(?!'s)",
    "sentence that starts with a pronoun": (
        r"\A\s*(?:What|Who|Whoever|Those|That|Which|How|Where|Whatever|All that|Such|One that|"
        r"The same)\b(?! to\b)(?![^.]*\?)"),
    "'Whether': write 'Return True if'": r"\A\s*Whether\b(?! to\b)",
    "preposition and pronoun at the end": (
        r"\b(?:to|of|by|for|in|with|from|on|into|behind|than) "
        r"(?:that|those|these|it|them|one|what)(?=[.,;:)]|$)"),
    "'that of', 'those of'": r"\b(?:that|those) of\b",
    "'where' and a pronoun": (
        r"\bwhere (?:there|it|that|they|those|these|nothing|nobody|none|something|one)\b"),
    "a person in place of code": (
        r"\b(?:nobody|somebody|whoever|who|whom|anybody|everybody)\b"),
    "code that speaks or wishes": (
        r"\b(?:says|said|wants|asks|asked|tells|told|knows|sees|forgets|promises|promised|"
        r"looks at|decides about)\b"),
    "'flows': cotangent of": r"\bflow(?:s|ed)\b",
    "'round': iteration": (
        r"\b(?:a|an|each|every|the|of|first|last|next|many|one|per|by|its|more|no|other|later|"
        r"that|this|all|some|n|two|few|several) rounds?\b"
        r"(?! (?:to|up|down|half|toward|trip|off|brackets|robin|result))"),
    "private verb": (
        r"\bstands?\b|\b(?:goes|go|went|going) on\b|"
        r"\bhand(?:s|ed|ing)? (?:on|in|over|out|back|down)\b|\b(?:lent|lends?|loans?|lending)\b|"
        r"\blet(?:s|ting)? go\b|\bwalk(?:s|ed|ing)? (?:it )?back\b|\bway back\b|"
        r"\b(?:comes?|came) to (?:it|them|those|that|what)\b"),
    "'made', 'gives': return, create, build": r"\b[Mm]ade\b(?! sure)|\b[Gg]ives\b|\b[Gg]ave\b",
    "'place', 'numbers': index, elements": (
        r"\b(?:the|a|its|their|by|of|what|which|each|that|same|at|in|another|other|this|all) "
        r"places?\b(?! holder)|\bnumbers\b(?! of)"),
    "'beside', 'anew', 'as it is', 'in force'": (
        r"\bbesides?\b|\banew\b|\bmeanwhile\b|\belsewhere\b|\bperhaps\b|"
        r"\bas (?:it is|they are|it was|they were)\b|\bin force\b|\bif need be\b|"
        r"\bin any case\b|\ball there is\b"),
    "'is none', 'is no x'": (
        r"\b(?:is|are|was|be|has) none\b(?! of the)|"
        r"(?<![Tt]here )\b(?:is|are|was|were) no "
        r"(?!longer|more|such|need|way|reason|guarantee|point|other|effect|one\b)[a-z]+"),
    "'so many' without 'as'": (
        r"\bso (?:many|far|much)\b(?! (?:as|that))|\bas (?:many|far)\b(?! as)"),
    "'of its own', 'by itself', 'of which'": (
        r"\bof (?:its|their) own\b|\bby (?:itself|themselves)\b|\bof which\b|\bof whom\b|"
        r"\bby whom\b"),
    "'wants' in a message: expected": (
        r"\bwants? (?:an?|the|one|two|\d|pairs|integers|numbers|<|>|='|')"),
}
COMPILED = {name: re.compile(pattern) for name, pattern in PATTERNS.items()}


def passages(text, suffix):
    """Return the docstrings and runs of comments of a source text, or the paragraphs of a page."""
    if suffix == ".md":
        plain = re.sub(r"```.*?```", "", text, flags=re.S)
        return [p for p in re.split(r"\n\s*\n", plain) if re.search(r"[a-z]{3}", p)]
    if suffix in (".c", ".h"):
        return [re.sub(r"\n\s*\*", "\n", found) for found in re.findall(r"/\*(.*?)\*/", text, re.S)]
    if suffix == ".py":
        return docstrings(ast.parse(text)) + comments(text)
    return re.findall(r'"""(.*?)"""', text, re.S) + re.findall(r"(?m)#\s?(.*)$", text)


def statements(node):
    """Yield a node and the statements inside of it. Expressions are skipped: they are many."""
    yield node
    for field in ("body", "handlers", "orelse", "finalbody", "cases"):
        for inner in getattr(node, field, ()):
            yield from statements(inner)


def docstrings(tree):
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    found = [ast.get_docstring(node) for node in statements(tree) if isinstance(node, kinds)]
    return [re.sub(r"(?m)^\s*(>>>|\.\.\. ).*$", "", text) for text in found if text]


# A string or a comment. The module `tokenize` finds the same comments in ten times the time.
LEXEMES = re.compile(r'''"""(?:\\.|[^\\])*?"""|\'{3}(?:\\.|[^\\])*?\'{3}|'''
                     r'''"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|(\#[^\n]*)''', re.S)


def comments(text):
    """Return the comments of a Python text; those on consecutive lines are one."""
    found, last, line, at = [], None, 1, 0
    for m in LEXEMES.finditer(text):
        if m[1]:
            line, at = line + text.count("\n", at, m.start()), m.start()
            if last is not None and line == last + 1:
                found[-1] += " " + m[1].lstrip("#: ")
            else:
                found.append(m[1].lstrip("#: "))
            last = line
    return found


def matches(passage):
    """Return (name of the pattern, text around the match) of each match."""
    passage = re.sub(r"\s+", " ", passage)
    return [(name, passage[max(0, m.start() - 50):m.end() + 60])
            for name, pattern in COMPILED.items() for m in pattern.finditer(passage)]


def measure(path):
    """Return the number of words of a file, and its matches."""
    texts = passages(path.read_text(), path.suffix)
    words = sum(len(re.findall(r"[A-Za-z']+", text)) for text in texts)
    return words, [found for text in texts for found in matches(text)]


def files_under(path):
    """Return the files of prose that git tracks under a path of the project."""
    listed = subprocess.run(["git", "ls-files", "--", path], cwd=ROOT, capture_output=True,
                            text=True, check=True).stdout.split()
    return [ROOT / name for name in listed if Path(name).suffix in SUFFIXES]


def added_since(revision):
    """Return (file, line) of each line of prose added since a git revision."""
    diff = subprocess.run(["git", "diff", "-U0", revision], cwd=ROOT, capture_output=True,
                          text=True, check=True).stdout
    name, added = "", []
    for line in diff.splitlines():
        if line.startswith("+++ b/"):
            name = line[6:]
        elif line.startswith("+") and Path(name).suffix in SUFFIXES:
            text = line[1:].strip()
            is_prose = name.endswith(".md") or re.match(r'#|\*|/\*|"""', text) or (
                re.match(r"[A-Z]?[a-z]+( [a-z]+){3}", text))
            if is_prose:
                added.append((name, text.lstrip('#*/" ')))
    return added


def main(arguments):
    """List the matches in files, or in the lines added since a revision."""
    if arguments[:1] == ["--since"]:
        for name, line in added_since(arguments[1]):
            for pattern, text in matches(line):
                print(f"{name}: {pattern}: ...{text}...")
        return
    total = n = 0
    for path in (file for argument in arguments for file in files_under(argument)):
        words, found = measure(path)
        total, n = total + words, n + len(found)
        for pattern, text in found:
            print(f"{path.relative_to(ROOT)}: {pattern}: ...{text}...")
    print(f"{1000 * n / max(total, 1):.1f} matches per 1,000 of {total} words")


if __name__ == "__main__":
    main(sys.argv[1:])
