"""Progress of a run, on stderr: a bar on a terminal, else a line now and then."""

import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import click

SECONDS_BETWEEN_LINES = 10.0
SECONDS_BETWEEN_FIGURES = 0.5

OnProgress = Callable[[int, Mapping[str, Any]], None]
Headline = Callable[[Mapping[str, Any]], str]


@contextmanager
def show_progress(
    label: str, games: int, *, quiet: bool = False, headline: Headline | None = None
) -> Iterator[OnProgress | None]:
    """Show how far a run is: games played of ``games``, rate, time left, and the headline where there is one.

    Yields
    ------
    A function of (games played so far, sums so far) to call now and then; None where nothing is to be shown.
    """
    if quiet:
        yield None
    elif sys.stderr.isatty():
        with _bar(label, games, headline) as on_progress:
            yield on_progress
    else:
        yield _lines(label, games, headline)


@contextmanager
def _bar(label: str, games: int, headline: Headline | None) -> Iterator[OnProgress]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed:,.0f}/{task.total:,.0f} games"),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(compact=True),
        TextColumn("{task.fields[headline]}"),
    )
    started = last_figure = time.monotonic()
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(label, total=games, rate="", headline="")

        def on_progress(played: int, sums: Mapping[str, Any]) -> None:
            nonlocal last_figure
            now = time.monotonic()
            progress.update(task, completed=played, rate=_rate(played, now - started))
            if headline and now - last_figure >= SECONDS_BETWEEN_FIGURES:
                last_figure = now
                progress.update(task, headline=headline(sums))

        yield on_progress


def _lines(label: str, games: int, headline: Headline | None) -> OnProgress:
    started = last_line = time.monotonic()

    def on_progress(played: int, sums: Mapping[str, Any]) -> None:
        nonlocal last_line
        now = time.monotonic()
        if now - last_line < SECONDS_BETWEEN_LINES or not 0 < played < games:
            return
        last_line = now
        seconds_left = (now - started) * (games - played) / played
        parts = [f"{played:,} of {games:,} games", _rate(played, now - started), f"{seconds_left:.0f} s left"]
        if headline:
            parts.append(headline(sums))
        click.echo(f"{label}: {', '.join(filter(None, parts))}", err=True)

    return on_progress


def _rate(played: int, seconds: float) -> str:
    return f"{played / seconds:,.0f} games/s" if seconds > 0 else ""
