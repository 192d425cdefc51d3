"""C identifiers and literals."""

import re

from dualflow.errors import InvalidArgumentError

WORDS = """
    asm auto bool break case char complex const continue default do double else enum extern false
    float for goto if imaginary inline int long model register restrict return short signed sizeof
    static struct switch true typedef typeof union unsigned void volatile while"""
KEYWORDS = frozenset(WORDS.split())
DEFAULT = "model"         # the default prefix
LEXEMES = re.compile(r"""/\*.*?\*/|//[^\n]*|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|\bdf_""", re.S)
TAKEN = {"new", "free", "error", "load", "save", "set", "get", "stop"}    # model_new and so on


def identifier(text: str) -> str:
    """Return a C identifier for a Python path.

    >>> identifier("batch['image'][0]"), identifier("int"), identifier("é")
    ('batch_image_0', 'int_', 'value')
    """
    name = re.sub(r"[^A-Za-z0-9]+", "_", text).strip("_") or "value"
    if name[0].isdigit():
        name = f"value_{name}"
    return f"{name}_" if name in KEYWORDS else name


def unique(name: str, taken: set[str]) -> str:
    """Return a name that is not in `taken`, and add it.

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
    """Return the name of an entry. Raise if it is not a C identifier."""
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name):
        raise InvalidArgumentError(f"export: an entry is called {name!r}, expected a C identifier")
    if name in TAKEN:
        raise InvalidArgumentError(f"export: an entry is called {name!r}, and model_{name} is a "
                                   "function of every model")
    return name


def prefix_of(name: object) -> str:
    """Return the prefix of a model's names. Raise if it is not a permitted C identifier."""
    if (not isinstance(name, str) or not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name)
            or name in KEYWORDS - {DEFAULT} or name == "check" or re.match("df(_|$)", name, re.I)):
        raise InvalidArgumentError(f"export: prefix is {name!r}, expected a C identifier other "
                                   "than 'check', 'df' and names that begin with 'df_'")
    return name


def own_symbols(text: str, prefix: str) -> str:
    """Return C text in which the names ``df_...`` have a prefix, so that several models can be
    linked into one program; literals and comments stay. No change for the default prefix.

    >>> own_symbols('df_run(x, "df_x", df_op_##name); /* df_run */', "digits")
    'digits_df_run(x, "df_x", digits_df_op_##name); /* df_run */'
    """
    if prefix == DEFAULT:
        return text
    return LEXEMES.sub(lambda found: f"{prefix}_df_" if found[0] == "df_" else found[0], text)


def text_literal(text: str) -> str:
    """Return a C string literal.

    >>> text_literal('a"é')
    '"a\\\\"\\\\303\\\\251"'
    """
    return '"' + "".join([chr(b) if 32 <= b < 127 and b not in b'"\\?' else f"\\{b:03o}"
                          for b in text.encode()]).replace('\\042', '\\"') + '"'
