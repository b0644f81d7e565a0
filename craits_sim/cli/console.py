"""Tables and text on stdout."""

import sys
from collections.abc import Iterable, Sequence

from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table
from rich.text import Text

_WIDTH_WHEN_PIPED = 10_000
"""Wide enough that a file or another program gets each row and each sentence on one line."""


def stdout() -> Console:
    """Give the console of stdout as it is now."""
    return Console(width=None if sys.stdout.isatty() else _WIDTH_WHEN_PIPED, highlight=False, markup=False)


def print_table(columns: Sequence[str], rows: Iterable[Sequence[str]], title: str = "") -> None:
    """Print rows of text under column names; columns of figures are aligned to the right."""
    rows = list(rows)
    table = Table(box=SIMPLE, title=title or None, title_justify="left", title_style="bold", pad_edge=False)
    for number, column in enumerate(columns):
        figures = all(_is_figure(row[number]) for row in rows)
        table.add_column(Text(column), justify="right" if figures else "left")
    for row in rows:
        table.add_row(*map(Text, row))
    stdout().print(table)


def _is_figure(text: str) -> bool:
    return not text or text[0] in "0123456789-+<"
