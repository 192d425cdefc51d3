"""Names in C."""

import re

from dualflow.errors import InvalidArgumentError

WORDS = """
    asm auto bool break case char complex const continue default do double else enum extern false
    float for goto if imaginary inline int long model register restrict return short signed sizeof
    static struct switch true typedef typeof union unsigned void volatile while"""
KEYWORDS = frozenset(WORDS.split())
DEFAULT = "model"         # what a model's own names begin with
LEXEMES = re.compile(r"""/\*.*?\*/|//[^\n]*|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|\bdf_""", re.S)
TAKEN = {"new", "free", "error", "load", "save", "set", "get", "stop"}    # model_new and its like


def identifier(text: str) -> str:
    """A path in Python as a name in C.

    >>> identifier("batch['image'][0]"), identifier("int"), identifier("é")
    ('batch_image_0', 'int_', 'value')
    """
    name = re.sub(r"[^A-Za-z0-9]+", "_", text).strip("_") or "value"
    if name[0].isdigit():
        name = f"value_{name}"
    return f"{name}_" if name in KEYWORDS else name


def unique(name: str, taken: set[str]) -> str:
    """A name that is not taken, which it is from now on.

    >>> taken = {"x"}
    >>> unique("x", taken), unique("x", taken), unique("y", taken)
    ('x_1', 'x_2', 'y')
    """
    found, n = name, 0
    while found in taken:
        n += 1
        found = f"{name}_{n}"
    taken.add(found)
    return found


def entry_name(name: object) -> str:
    """The name of an entry, which must be one in C as it is."""
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name):
        raise InvalidArgumentError(f"export: an entry is called {name!r}, want a name in C")
    if name in TAKEN:
        raise InvalidArgumentError(f"export: an entry is called {name!r}, and model_{name} is a "
                                   "function of every model")
    return name


def prefix_of(name: object) -> str:
    """What the names of a model begin with, which must be one in C."""
    if (not isinstance(name, str) or not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name)
            or name in KEYWORDS - {DEFAULT} or name == "check" or re.match("df(_|$)", name, re.I)):
        raise InvalidArgumentError(f"export: prefix is {name!r}, want a name in C other than "
                                   "'check', 'df' and what begins with 'df_'")
    return name


def own_symbols(text: str, prefix: str) -> str:
    """C in which all that is called ``df_...`` begins with a prefix, so that several models are
    linked into one program; literals and comments stay. As it is, if the prefix is the default.

    >>> own_symbols('df_run(x, "df_x", df_op_##name); /* df_run */', "digits")
    'digits_df_run(x, "df_x", digits_df_op_##name); /* df_run */'
    """
    if prefix == DEFAULT:
        return text
    return LEXEMES.sub(lambda found: f"{prefix}_df_" if found[0] == "df_" else found[0], text)


def text_literal(text: str) -> str:
    """A text as C reads it.

    >>> text_literal('a"é')
    '"a\\\\"\\\\303\\\\251"'
    """
    return '"' + "".join([chr(b) if 32 <= b < 127 and b not in b'"\\?' else f"\\{b:03o}"
                          for b in text.encode()]).replace('\\042', '\\"') + '"'
