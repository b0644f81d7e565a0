"""Finding weights for the bot careful: an evolution strategy (CMA-ES) whose candidates play for their score.

Each generation draws a dozen *candidates* around the best guess so far, lets them play, and moves the guess, and the
shape in which it is varied, toward those that did well (Hansen 2016, "The CMA Evolution Strategy: A Tutorial",
arXiv:1604.00772; the library ``cma`` is by its author). What is found at the end is the guess itself, the mean of the
strategy and not the candidate that was luckiest.

A candidate sits at every seat in turn against the same opponents. All candidates of a generation play the same games
(common random numbers), so that luck with the deals says nothing about who is better, and the next generation plays
others, so that nothing is learned by heart. At the end the weights play games that no candidate has played.

A search that was interrupted is not stored with all its matrices: the scores of its candidates are, and from them the
strategy computes again what it was. So it goes on to the same weights, to the last digit.
"""

import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np

from craits_sim import __version__, runner
from craits_sim.bots import BotSpec
from craits_sim.design import DesignPoint
from craits_sim.features import (
    FEATURES,
    LARGEST_WEIGHT,
    UNIT,
    WeightsError,
    digest_of,
    load_weights,
    shipped_weights,
)
from craits_sim.files import replacing_file
from craits_sim.kernel import RNG_LAYOUT
from craits_sim.results import WIN_UNIT, Batch
from craits_sim.rules import Rules
from craits_sim.runner import Played
from craits_sim.stats import Floats, Moments, mean_interval, share_interval
from craits_sim.studies.base import Sums, cross_sums, moments
from craits_sim.text import nearest, toml_value

VALIDATION_GAMES = 10_000
"""Games at each seat by which the weights are judged at the end: a win share of 1/4 to about 0.4 percentage points."""

LEVEL = 0.95
"""The level of the intervals that a file of weights states."""

SMALLEST_SCALES = {"shed": 0.2, "shed_late": 0.1, "shed_behind": 0.1}
"""The least by which a weight is varied, times sigma, for features that count points; for all others `SMALLEST_SCALE`.

A weight is varied in proportion to its size, or to that of the careful bot's own, so that each matters about equally.
"""

SMALLEST_SCALE = 2.0

STARTS = ("careful", "tuned")
"""Weights of the package that a search can start from."""

Weights = tuple[int, ...]
"""One weight a feature, in 1 / `craits_sim.features.UNIT`."""

Scores = list[list[float]]
"""By generation and candidate; a higher one is better."""

OnProgress = Callable[[int, Mapping[str, float]], None]


class TuneError(ValueError):
    """A search that cannot be begun, or cannot go on; its text is one line for the user."""


class Task(NamedTuple):
    """What is searched for, and how."""

    rules: Rules
    opponents: tuple[BotSpec, ...]  # one fewer than players, in the order of their seats
    start: str  # one of `STARTS`, or the path of a file of weights
    generations: int
    games: int  # of each candidate at each seat
    sigma: float  # how far a generation strays at first, in proportion to the weights
    seed: int

    @property
    def start_weights(self) -> Weights:
        """The weights that the search starts from.

        Raises
        ------
        WeightsError
            If their file cannot be read.
        """
        if self.start in STARTS:
            return load_weights(shipped_weights(self.start, self.rules.players))
        path = Path(self.start)
        if not path.exists():
            allowed = f"allowed are {', '.join(STARTS)}, and files of weights{nearest(self.start, STARTS)}"
            raise WeightsError(f"{toml_value(self.start)}: there is no such file; {allowed}")
        return load_weights(path)

    @property
    def plays_for_points(self) -> bool:
        """Whether the score is the edge in total and not the win share.

        Where the lowest total wins, whoever has the better total wins more, and the edge is less noisy: a bot that is
        22 points better than three careful ones was 30 standard errors from even in its edge and 19 in its wins over
        the same games (classic), so that wins take 2.4 times as many. Where totals do not decide (first_out), or belong
        to two (partners), it is the share of wins.
        """
        return self.rules.win == "lowest_total" and not self.rules.partners


class Outcome(NamedTuple):
    """How weights did against the opponents, all seats together."""

    moments: Moments  # of a game index: win share, and edge in points, each the mean over the seats

    @property
    def win_share(self) -> float:
        """Share of games won, 0 to 1."""
        return float(self.moments.mean[0])

    @property
    def edge(self) -> float:
        """Mean of the others' totals minus the own total, in points a game."""
        return float(self.moments.mean[1])

    def described(self) -> dict[str, Any]:
        """Give both with their intervals, rounded; the games are those at each seat."""
        games, mean, se = self.moments.games, self.moments.mean, self.moments.se
        shares = share_interval(mean[0], se[0], games, LEVEL)
        edges = mean_interval(mean[1], se[1], games, LEVEL)
        return {
            "validation_games": games,
            "win_share": round(self.win_share, 4),
            "win_share_interval": [round(float(end), 4) for end in shares],
            "edge": round(self.edge, 2),
            "edge_interval": [round(float(end), 2) for end in edges],
            "level": LEVEL,
        }


class Search:
    """The strategy, and the scores that have brought it where it is.

    Raises
    ------
    TuneError
        If the library that it needs is missing.
    """

    def __init__(self, task: Task) -> None:
        try:
            import cma
        except ImportError:
            raise TuneError("tuning needs the library cma: pip install 'craits-sim[bots]'") from None
        self.scores: Scores = []
        self._start = np.array(task.start_weights) / UNIT
        careful = np.array(load_weights(shipped_weights("careful", task.rules.players))) / UNIT
        smallest = np.array([SMALLEST_SCALES.get(name, SMALLEST_SCALE) for name in FEATURES])
        self._scale = np.maximum(np.maximum(np.abs(self._start), np.abs(careful)), smallest)
        random = np.random.default_rng(task.seed)
        options = {
            "randn": lambda *shape: random.standard_normal(shape),
            "seed": np.nan,  # else numpy's global state would be touched
            "verbose": -10,
            "verb_log": 0,
        }
        self._strategy = cma.CMAEvolutionStrategy(np.zeros(len(FEATURES)), task.sigma, options)

    @property
    def candidates_each(self) -> int:
        """The number of candidates of a generation."""
        return int(self._strategy.popsize)

    @property
    def weights(self) -> Weights:
        """The best guess so far."""
        return self._weights(self._strategy.mean)

    def candidates(self) -> list[Weights]:
        """Draw the candidates of a generation."""
        self._drawn = self._strategy.ask()
        return [self._weights(point) for point in self._drawn]

    def learn(self, scores: Sequence[float]) -> None:
        """Take in the scores of the candidates that were drawn last, in their order."""
        self._strategy.tell(self._drawn, [-score for score in scores])
        self.scores.append(list(scores))

    def _weights(self, point: Floats) -> Weights:
        weights = np.clip(self._start + self._scale * point, -LARGEST_WEIGHT, LARGEST_WEIGHT)
        return tuple(np.rint(weights * UNIT).astype(int).tolist())


def tune(
    task: Task,
    *,
    threads: int,
    begun: Iterable[Sequence[float]] = (),
    on_progress: OnProgress | None = None,
    keep: Callable[[Search], None] | None = None,
) -> tuple[Weights, Outcome]:
    """Search for weights; the result is the same for any number of threads.

    Parameters
    ----------
    task
    threads
        1 or more.
    begun
        The scores of an earlier search for the same, which this one goes on from.
    on_progress
        Is called with the games played so far, those of ``begun`` included, and of the last generation its number, and
        ``edge`` and ``win_share`` of its best candidate.
    keep
        Is called before the first generation and after each.

    Returns
    -------
    The weights, and how they did in games that were not used to find them.

    Raises
    ------
    TuneError
        If the library that it needs is missing.
    WeightsError
        If the start cannot be read.
    """
    search = Search(task)
    for scores in begun:
        search.candidates()
        search.learn(scores)
    if keep:
        keep(search)
    games_each = task.rules.players * task.games
    played = len(search.scores) * search.candidates_each * games_each
    if on_progress:
        on_progress(played, {})
    with TemporaryDirectory(prefix="craits-tune-") as folder:
        for generation in range(len(search.scores), task.generations):
            outcomes = []
            for weights in search.candidates():
                outcomes.append(_play(task, weights, generation * task.games, task.games, threads, Path(folder)))
                played += games_each
                if on_progress:
                    best = max(outcomes, key=lambda outcome: _score(task, outcome))
                    figures = {"generation": generation + 1, "edge": best.edge, "win_share": best.win_share}
                    on_progress(played, figures)
            search.learn([_score(task, outcome) for outcome in outcomes])
            if keep:
                keep(search)
        first_unused = task.generations * task.games
        outcome = _play(task, search.weights, first_unused, VALIDATION_GAMES, threads, Path(folder))
    return search.weights, outcome


def by_name(weights: Weights) -> dict[str, float]:
    """Give each weight by its feature, as a file has it."""
    return {name: weight / UNIT for name, weight in zip(FEATURES, weights, strict=True)}


def games_of(task: Task) -> int:
    """Give the number of games that a search plays, those of its validation left out."""
    return task.generations * Search(task).candidates_each * task.rules.players * task.games


def _score(task: Task, outcome: Outcome) -> float:
    return outcome.edge if task.plays_for_points else outcome.win_share


def _play(task: Task, weights: Weights, first_game: int, games: int, threads: int, folder: Path) -> Outcome:
    """Play some games at each seat."""
    file = folder / "candidate.toml"
    file.write_text(_weights_table(weights), encoding="utf-8")
    bot = BotSpec("careful", weights=str(file))
    players = task.rules.players
    points = [
        DesignPoint({"seat": seat}, task.rules, (*task.opponents[:seat], bot, *task.opponents[seat:]))
        for seat in range(players)
    ]
    begun = Played(first_game, {})  # the games before count as played, and for nothing
    sums = runner.run(points, _tally, games=first_game + games, seed=task.seed, threads=threads, begun=begun)
    units = np.diag([1 / (players * WIN_UNIT), 1 / (players * (players - 1))])
    return Outcome(moments(sums, "own").combine(units))


def _tally(batches: Sequence[Batch]) -> Sums:
    """Sum up, over the seats, the wins of who sits there and by how much the totals of the others exceed its own.

    Design point S is the one in which the candidate has seat S. The games of an index are at all of them games of the
    same deals, so that the unit is the index.
    """
    wins = sum(batch.wins[:, seat].astype(np.int64) for seat, batch in enumerate(batches))
    edge = sum(batch.totals.sum(axis=1) - len(batches) * batch.totals[:, seat] for seat, batch in enumerate(batches))
    own = np.stack([wins, edge], axis=1)
    return {"games": np.array([len(own)])} | cross_sums("own", own)


def provenance(task: Task, generations: int, outcome: Outcome | None = None) -> dict[str, object]:
    """Say where weights come from: with the same versions, it is all that decides them.

    Parameters
    ----------
    generations
        Those that were played.
    outcome
        How the weights did in the end.
    """
    players = task.rules.players
    return {
        "version": __version__,
        "rng": RNG_LAYOUT,
        "cma": version("cma"),
        "numpy": np.__version__,
        "rules": task.rules.name,
        "digest": task.rules.digest,
        "players": players,
        "opponents": [bot.described(players) for bot in task.opponents],
        "start": f"{task.start} (weights {digest_of(task.start_weights)})",
        "seed": task.seed,
        "games": task.games,
        "sigma": task.sigma,
        "score": "edge" if task.plays_for_points else "win_share",
        "generations": generations,
        **(outcome.described() if outcome else {}),
    }


def write_weights(file: Path, weights: Weights, origin: Mapping[str, object]) -> None:
    """Write a file of weights that says where they come from.

    Raises
    ------
    OSError
        If it cannot be written; an earlier one is untouched then.
    """
    heading = (
        "# Weights for the bot careful, found by `craits tune`. Games are those at each seat, edges in points a game."
    )
    _write(file, heading, _weights_table(weights), _table("provenance", origin))


def partial_file(file: Path) -> Path:
    """Give the file that holds an unfinished search, beside that of its weights."""
    return file.with_name(f".{file.stem}.partial.toml")


def keep_search(file: Path, task: Task, search: Search) -> None:
    """Write an unfinished search, as a file of the weights so far that a bot can play by.

    Raises
    ------
    OSError
        If it cannot be written; an earlier one is untouched then.
    """
    heading = "# An unfinished search: `craits tune` with --resume goes on from the scores of its candidates."
    origin = provenance(task, len(search.scores))
    scores = "".join(f"    {toml_value(generation)},\n" for generation in search.scores)
    _write(
        partial_file(file),
        heading,
        _weights_table(search.weights),
        _table("provenance", origin),
        f"[search]\nscores = [\n{scores}]\n",
    )


def load_search(file: Path, task: Task) -> Scores:
    """Read the scores of an unfinished search for the same; none where there is no such file.

    Raises
    ------
    TuneError
        If the file is damaged, or of another search, or has more generations than are wanted.
    """
    path = partial_file(file)
    if not path.exists():
        return []
    candidates_each = Search(task).candidates_each
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
        there = dict(document["provenance"])
        scores = [list(map(float, generation)) for generation in document["search"]["scores"]]
    except (KeyError, TypeError, ValueError) as error:  # also text that is no TOML, or no text
        raise TuneError(f"{path} is damaged: delete it, or leave out --resume") from error
    here = provenance(task, len(scores))
    differing = [key for key in here if here[key] != there.get(key)]
    if differing:
        values = ", ".join(
            f"{key} was {toml_value(there.get(key, 'unknown'))} and is {toml_value(here[key])}" for key in differing
        )
        raise TuneError(f"{path} is of another search: {values}; leave out --resume to begin anew")
    if any(len(generation) != candidates_each for generation in scores):
        raise TuneError(f"{path} is damaged: delete it, or leave out --resume")
    if len(scores) > task.generations:
        raise TuneError(
            f"{path} has {len(scores):,} generations already, and generations = {task.generations:,}: ask for as many "
            "or more, or leave out --resume to begin anew"
        )
    return scores


def _weights_table(weights: Weights) -> str:
    return _table("weights", by_name(weights))


def _table(name: str, values: Mapping[str, Any]) -> str:
    return f"[{name}]\n" + "".join(f"{key} = {toml_value(value)}\n" for key, value in values.items())


def _write(file: Path, *parts: str) -> None:
    with replacing_file(file, "the weights") as temporary:
        temporary.write_text("\n".join(part.rstrip("\n") + "\n" for part in parts), encoding="utf-8", newline="\n")
