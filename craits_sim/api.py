"""From Python: what the commands compute, as frames.

>>> from craits_sim import simulate, study, Rules

The same arguments give the same numbers as on the command line, to the last digit, whatever the number of threads. A
mistake in the arguments raises a ``ValueError`` whose text is the message that the command prints.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from craits_sim import aggregate, runner
from craits_sim.bots import parse_bot, parse_bots
from craits_sim.check import check
from craits_sim.design import MAX_DESIGN_POINTS, DesignError, DesignPoint, Experiment, caption, make_experiment
from craits_sim.ranges import GAMES, SEED, THREADS, NumberError, usable_cpus
from craits_sim.records import recording
from craits_sim.rules import NAMES, Rules, differences, load_rules, preset_names
from craits_sim.studies import get_study
from craits_sim.studies.base import Study
from craits_sim.studies.stopping import StoppingRule
from craits_sim.text import nearest

OnProgress = Callable[[int, Mapping[str, Any]], None]
RuleSet = Rules | Path | str
"""Rules, the name of a preset, or the path of a rules file."""


def simulate(
    rules: RuleSet = "classic",
    *,
    changes: Mapping[str, object] | None = None,
    players: int | None = None,
    bots: str = "random",
    games: int = 100_000,
    seed: int = 1,
    threads: int | None = None,
) -> pd.DataFrame:
    """Play games and say what happened on average, as ``craits simulate`` does.

    Parameters
    ----------
    rules
        Rules, the name of a preset, or the path of a rules file.
    changes
        Rule fields that differ, by dotted key, like ``--set``: ``{"draw.count": 2}``.
    players
        2 to 10; as the rules say when left out.
    bots
        One bot for all seats, or one a seat: ``"greedy,random,random"``.
    games
        1 or more; also a text like ``"1e6"``.
    seed
        0 to 2**64 - 1.
    threads
        Threads that play; as many as there are usable CPUs when left out.

    Returns
    -------
    DataFrame
        A row for each quantity and what it is known by: ``estimand``; ``position`` (0 = first dealer), ``seat``,
        ``offset`` (from the dealer of the round) or ``round`` (from 1), missing where it does not apply; ``estimate``;
        its standard error ``se``, missing for spreads and counts; ``n``, the games. Shares are between 0 and 1.
        ``attrs`` holds rules, bots, players, seed and versions.

    Raises
    ------
    ValueError
        If an argument is not allowed.

    Examples
    --------
    >>> table = simulate(players=3, games=20_000)
    >>> wins = table[(table["estimand"] == "win_share") & table["position"].notna()]
    >>> wins[["position", "estimate", "se"]].round(3).values.tolist()
    [[0, 0.33, 0.003], [1, 0.338, 0.003], [2, 0.332, 0.003]]
    """
    count, number = GAMES.parse(games), SEED.parse(seed)
    table_size = {} if players is None else {"players": players}
    played = _load(rules).with_changes({**(changes or {}), **table_size})
    seats = parse_bots(bots, played.players)
    sums = runner.run(
        [DesignPoint({}, played, seats)], aggregate.tally, games=count, seed=number, threads=_threads(threads)
    )
    means, errors = aggregate.describe(sums, played, seats, number), aggregate.standard_errors(sums)
    frame = pd.DataFrame(aggregate.rows(means, errors))
    labels = dict.fromkeys(aggregate.LABELS, "Int64")
    frame = frame.astype({**labels, "estimate": "float64", "se": "float64"})
    frame.attrs = {key: means[key] for key in ("rules", "players", "bots", "seed", "games", "version", "rng")}
    return frame


def study(
    name: str,
    *,
    rules: RuleSet = "classic",
    changes: Mapping[str, object] | None = None,
    vary: Mapping[str, Sequence[object]] | None = None,
    threads: int | None = None,
    **values: object,
) -> pd.DataFrame:
    """Run a study and give its table, as ``craits NAME`` writes it into ``summary.csv``.

    Parameters
    ----------
    name
        One of the studies that ``craits studies`` lists.
    rules, changes, threads
        As for `simulate`.
    vary
        Factors and their levels, like ``--vary``: ``{"players": [2, 3, 4]}``.
    **values
        Other fields of an experiment: ``players``, ``bots`` and ``games`` (the study's own when left out),
        ``seed``, ``level``, ``margin``, ``precision``, ``until_decided``, ``options``, ...

    Returns
    -------
    DataFrame
        A row for each design point and estimand: the factors, ``estimand``, what it is known by (``position``,
        ``offset``, ...), ``unit``, ``estimate``, ``se``, ``ci_low``, ``ci_high``, ``ci_level``, ``n``, and where
        something is tested ``p_value``, ``p_adjusted``, ``margin`` and ``verdict``. ``attrs["conclusion"]`` says it in
        sentences, ``attrs["caption"]`` what was played, and ``attrs["stopped"]`` why it ended where it could go on.

    Raises
    ------
    ValueError
        If an argument is not allowed.

    Examples
    --------
    >>> table = study("seats", vary={"players": [2, 3]}, games=5000)
    >>> wins = table[table["estimand"] == "win_share"]
    >>> wins[["players", "position", "n"]].values.tolist()
    [[2, 0, 5000], [2, 1, 5000], [3, 0, 5000], [3, 1, 5000], [3, 2, 5000]]
    >>> table.attrs["caption"]
    '5,000 games at each design point · seed 1 · 2, 3 players · bots random · rules classic'
    """
    base, differing = _in_text(rules)
    looks = values.get("precision") is not None or values.get("until_decided")
    asked = get_study(name)
    own_games = {} if looks else {"games": asked.default_games}
    own_bots = {} if "bots" in (vary or {}) else {"bots": asked.default_bots}
    experiment = make_experiment(
        {
            "name": name,
            "study": name,
            "rules": base,
            "set": {**differing, **(changes or {})},
            "vary": {key: list(levels) for key, levels in (vary or {}).items()},
            **own_games,
            **own_bots,
            **values,
        }
    )
    prepared = prepare(experiment)
    summary = play(prepared, threads=_threads(threads))
    summary.attrs["conclusion"] = conclude(prepared.study, summary)
    return summary


def compare(
    base: RuleSet,
    variants: Mapping[str, RuleSet | Mapping[str, object]],
    *,
    changes: Mapping[str, object] | None = None,
    threads: int | None = None,
    **values: Any,
) -> pd.DataFrame:
    """Compare rules with variants of them, game by game on the same deals, as ``craits compare`` does.

    Parameters
    ----------
    base
        Rules, the name of a preset, or the path of a rules file; ``changes`` are made in them first.
    variants
        By name: the fields that differ from the base, or other rules altogether.
    threads
        As for `simulate`.
    **values
        Other fields of an experiment, as for `study`.

    Returns
    -------
    DataFrame
        A row for each variant and metric; ``estimate`` is the paired difference, variant minus base. See `study`.

    Raises
    ------
    ValueError
        If an argument is not allowed, or a variant changes nothing.

    Examples
    --------
    >>> table = compare("classic", {"two": {"draw.count": 2}, "wiki": "wiki"}, players=3, games=2000)
    >>> sorted(set(table["variant"]))
    ['two', 'wiki']
    """
    tables = []
    for name, variant in variants.items():
        text, differing = (None, dict(variant)) if isinstance(variant, Mapping) else _in_text(variant)
        tables.append({"name": name, "set": differing, **({"rules": text} if text else {})})
    return study("compare", rules=base, changes=changes, threads=threads, variant=tables, **values)


def check_bot(
    bot: str,
    rules: RuleSet = "classic",
    *,
    changes: Mapping[str, object] | None = None,
    players: int | None = None,
    games: int = 1000,
    seed: int = 1,
) -> pd.DataFrame:
    """Try a bot of your own against random and greedy, as ``craits bots --check`` does; for your own tests.

    It sits at every seat, under classic and under the given rules. Every step is checked, and all is played twice.

    Parameters
    ----------
    bot
        ``FILE.py:FUNCTION``; the path starts in the current folder. See `craits_sim.view`.
    rules, changes, players, seed
        As for `simulate`.
    games
        Games at each seat of each table.

    Returns
    -------
    DataFrame
        A row for each table: ``rules``, ``players``, ``opponent``, ``games`` of all seats, ``asked`` (choices),
        ``win_share`` (0 to 1) and ``ns_a_choice``.

    Raises
    ------
    ValueError
        If the bot cannot be compiled, makes no move, raises, never ends, or plays the same game in two ways; or if
        another argument is not allowed.
    """
    table_size = {} if players is None else {"players": players}
    loaded = _load(rules).with_changes({**(changes or {}), **table_size})
    return pd.DataFrame(check(parse_bot(bot), tables_to_try(loaded), GAMES.parse(games), SEED.parse(seed)))


# --- What the command line shares ---------------------------------------------------------------------------


def tables_to_try(rules: Rules) -> list[Rules]:
    """Give classic, and the rules themselves if they are others."""
    classic = load_rules("classic")
    return [classic] if rules.digest == classic.digest else [classic, rules]


class Prepared(NamedTuple):
    """An experiment that is ready to be played."""

    study: Study
    experiment: Experiment
    points: tuple[DesignPoint, ...]


def prepare(experiment: Experiment, max_points: int = MAX_DESIGN_POINTS) -> Prepared:
    """Find the study of an experiment, fill in its margin and options, and expand the design.

    The completed experiment says all that its numbers depend on, also when a study's defaults change one day.

    Parameters
    ----------
    max_points
        The most design points that are wanted.

    Raises
    ------
    BotError, DesignError, RulesError, StudyError
        If the experiment names something that does not exist or cannot be played.
    """
    asked = get_study(experiment.study)
    known = [option.name for option in asked.options]
    for key in experiment.options:
        if key not in known:
            allowed = f"its options are {', '.join(known)}{nearest(key, known)}" if known else "it has none"
            raise DesignError(f"options.{key} is no option of the study {asked.name}: {allowed}")
    if experiment.until_decided and asked.no_verdict:
        raise DesignError(
            f"until_decided: the study {asked.name} {asked.no_verdict}, so that there is no verdict to wait for; "
            "precision works with every study"
        )
    if experiment.margin is not None:
        try:
            asked.margins().parse(experiment.margin)
        except NumberError as error:
            raise DesignError(f"margin = {error}") from error
    defaults = {option.name: float(option.default) for option in asked.options}
    completed = experiment.model_copy(
        update={
            "margin": asked.margin if experiment.margin is None else experiment.margin,
            "options": {**defaults, **experiment.options},
        }
    )
    completed = asked.completed(completed)
    return Prepared(asked, completed, asked.design(completed, max_points))


def play(
    prepared: Prepared,
    *,
    threads: int,
    on_progress: OnProgress | None = None,
    records: Path | None = None,
    records_rounds: Path | None = None,
    begun: runner.Played | None = None,
    keep: runner.Keep | None = None,
) -> pd.DataFrame:
    """Play a prepared experiment, record it where wanted, and give the summary of its study, captioned.

    Parameters
    ----------
    begun, keep
        As for `craits_sim.runner.run`.
    """
    asked, experiment, points = prepared
    rule = StoppingRule(asked, experiment)
    with recording(points, experiment.seed, records, records_rounds) as recorder:
        sums = runner.run(
            points,
            asked.tally,
            games=experiment.games,
            seed=experiment.seed,
            threads=threads,
            on_progress=on_progress,
            recorder=recorder,
            enough=rule if experiment.looks else None,
            details=asked.details,
            begun=begun,
            keep=keep,
        )
    played = experiment.model_copy(update={"games": rule.games})
    summary = asked.summarise(sums, played)
    summary.attrs["caption"] = caption(played, points)
    summary.attrs["games"] = rule.games
    summary.attrs["stopped"] = rule.sentence if experiment.looks else ""
    return summary


def conclude(asked: Study, summary: pd.DataFrame) -> str:
    """Say what a summary of `play` shows, and why the run ended where it could have gone on."""
    return "\n".join(filter(None, (asked.conclude(summary), summary.attrs["stopped"])))


def _threads(threads: int | None) -> int:
    return usable_cpus() if threads is None else THREADS.parse(threads)


def _load(rules: RuleSet) -> Rules:
    return rules if isinstance(rules, Rules) else load_rules(rules)


def _in_text(rules: RuleSet) -> tuple[str, dict[str, object]]:
    """Write rules as an experiment does: the name of a preset or a path, and what differs from it."""
    if not isinstance(rules, Rules):
        return str(rules), {}
    for preset in preset_names():
        if load_rules(preset) == rules:
            return preset, {}
    classic = load_rules("classic")
    changed = {key: value for key, (value, _) in differences(rules, classic).items()}
    named = {key: value for key, value in rules.by_key().items() if key in NAMES and value != classic.by_key()[key]}
    return "classic", named | changed
