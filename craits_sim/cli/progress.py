"""Progress of a run, on stderr: a bar on a terminal, else a line now and then."""

import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import click

SECONDS_BETWEEN_LINES = 10.0
SECONDS_BETWEEN_FIGURES = 0.5

OnProgress = Callable[[int, Mapping[str, Any]], None]
Headline = Callable[[Mapping[str, Any]], str]
NextPart = Callable[[str, int, int, Headline | None], OnProgress | None]


@dataclass
class Part:
    """What is being played: a run, or the present one of a series."""

    label: str
    headline: Headline | None


class Clock:
    """Measures how fast games are played, from the first time on that it is asked."""

    def __init__(self) -> None:
        self._began: tuple[float, int] | None = None

    def rate(self, played: int) -> float:
        """Give the games a second, when ``played`` are there; 0 the first time."""
        now = time.monotonic()
        if self._began is None:
            self._began = now, played
        started, before = self._began
        return (played - before) / (now - started) if now > started else 0.0


@contextmanager
def show_progress(
    label: str, games: int, *, quiet: bool = False, headline: Headline | None = None
) -> Iterator[OnProgress | None]:
    """Show how far a run is: games played of ``games``, rate, time left, and the headline where there is one.

    Yields
    ------
    A function of (games played so far, sums so far) to call when the first ones begin, with those that are there
    already, and then now and then; None where nothing is to be shown.
    """
    with _display(Part(label, headline), games, quiet) as on_progress:
        yield on_progress


@contextmanager
def show_series(games: int, *, quiet: bool = False) -> Iterator[NextPart]:
    """Show how far a series of runs is, in one display.

    Parameters
    ----------
    games
        The games of all runs, at all their design points.

    Yields
    ------
    A function to call before each run, with its label, its games at each design point, the number of design points and
    its headline; it gives what `show_progress` does.
    """
    part = Part("", None)
    begun = 0
    with _display(part, games, quiet) as overall:

        def next_part(label: str, games: int, points: int, headline: Headline | None) -> OnProgress | None:
            nonlocal begun
            part.label, part.headline = label, headline
            earlier = begun
            begun += games * points
            if overall is None:
                return None

            def on_progress(played: int, sums: Mapping[str, Any]) -> None:
                if played or not earlier:  # the clock starts once
                    overall(earlier + played * points, sums)

            return on_progress

        yield next_part


@contextmanager
def _display(part: Part, games: int, quiet: bool) -> Iterator[OnProgress | None]:
    if quiet:
        yield None
    elif sys.stderr.isatty():
        with _bar(part, games) as on_progress:
            yield on_progress
    else:
        yield _lines(part, games)


@contextmanager
def _bar(part: Part, games: int) -> Iterator[OnProgress]:
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
    clock = Clock()
    last_figure = time.monotonic()
    # What is printed meanwhile goes above the bar where both are on the terminal, and else where it belongs.
    both = sys.stdout.isatty()
    with Progress(*columns, console=Console(stderr=True), transient=True, redirect_stdout=both) as progress:
        task = progress.add_task(part.label, total=games, rate="", headline="")

        def on_progress(played: int, sums: Mapping[str, Any]) -> None:
            nonlocal last_figure
            rate = clock.rate(played)
            now = time.monotonic()
            progress.update(task, description=part.label, completed=played, rate=_rate_text(rate))
            if sums and part.headline and now - last_figure >= SECONDS_BETWEEN_FIGURES:
                last_figure = now
                progress.update(task, headline=part.headline(sums))

        yield on_progress


def _lines(part: Part, games: int) -> OnProgress:
    clock = Clock()
    last_line = time.monotonic()

    def on_progress(played: int, sums: Mapping[str, Any]) -> None:
        nonlocal last_line
        now = time.monotonic()
        rate = clock.rate(played)
        if not rate:
            last_line = now
        if now - last_line < SECONDS_BETWEEN_LINES or not 0 < played < games:
            return
        last_line = now
        left = f"{(games - played) / rate:.0f} s left" if rate else ""
        parts = [f"{played:,} of {games:,} games", _rate_text(rate), left]
        if part.headline:
            parts.append(part.headline(sums))
        click.echo(f"{part.label}: {', '.join(filter(None, parts))}", err=True)

    return on_progress


def _rate_text(rate: float) -> str:
    return f"{rate:,.0f} games/s" if rate else ""
