"""HTML of the rich reprs in notebooks: a title, a table, and a picture, in a fixed-width font."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["card", "counted"]


def card(title: str, rows: Iterable[Sequence[object]] = (), head: Sequence[str] = (),
         picture: str = "") -> str:
    """Return the HTML of an object.

    Parameters
    ----------
    title : str
    rows : iterable of sequences
        The cells of a table, shown by `str`.
    head : sequence of str, optional
        The titles of the columns.
    picture : str, optional
        HTML or SVG below the table.

    Examples
    --------
    >>> from dualflow._util.notebook import card
    >>> card("Title")
    '<div style="font-family: monospace"><div>Title</div></div>'
    """
    import html  # loaded at first use

    def line(tag: str, cells: Sequence[object]) -> str:
        return "<tr>" + "".join(f'<{tag} style="text-align: left">{html.escape(str(cell))}</{tag}>'
                                for cell in cells) + "</tr>"

    lines = [*([line("th", head)] if head else []), *[line("td", row) for row in rows]]
    table = f"<table>{''.join(lines)}</table>" if lines else ""
    return (f'<div style="font-family: monospace"><div>{html.escape(title)}</div>{table}{picture}'
            "</div>")


def counted(n: int, what: str) -> str:
    """Return the number `n` with the noun `what`, in the plural unless `n` is 1.

    Examples
    --------
    >>> from dualflow._util.notebook import counted
    >>> counted(1, "op"), counted(2, "op")
    ('1 op', '2 ops')
    """
    return f"{n:,} {what}{'s'[:n != 1]}"
