"""The commands that run a study: one for each registered study, and ``craits run`` for an experiment file."""

import json
from collections.abc import Mapping
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from craits_sim.cli.options import (
    BOTS_HELP,
    CONTEXT_SETTINGS,
    Number,
    bots_option,
    combine,
    games_option,
    output_options,
    precision_option,
    records_options,
    resume_option,
    seed_option,
    study_options,
    table_options,
    threads_option,
    until_decided_option,
)
from craits_sim.ranges import SEED, STUDY_OPTION

if TYPE_CHECKING:
    import pandas as pd

    from craits_sim.api import Prepared
    from craits_sim.cli.progress import Headline, OnProgress
    from craits_sim.studies.base import Study


class Playing(NamedTuple):
    """How games are played, which does not show in the results."""

    threads: int
    records: Path | None
    records_rounds: Path | None
    resume: bool

    @property
    def recorded(self) -> bool:
        """Whether games are recorded, which a checkpoint does not keep."""
        return self.records is not None or self.records_rounds is not None


def study_command(study: "Study") -> click.Command:
    """Make the command of a study: the shared options and the study's own."""
    own_options = [
        click.option(
            f"--{option.name.replace('_', '-')}",
            type=Number(STUDY_OPTION),
            default=option.default,
            metavar="X",
            show_default=True,
            help=option.help,
        )
        for option in study.options
    ]
    if study.takes_readings:
        own_options.append(
            click.option(
                "--readings",
                is_flag=True,
                help="Try every other reading of the rule sheet; it is what is tried without --variant and --vary.",
            )
        )
    examples = "\n".join(f"  craits {study.name} {example}" for example in study.examples)
    help_text = f"{study.question}\n\n\b\nExamples:\n{examples}"

    @click.command(study.name, help=help_text, context_settings=CONTEXT_SETTINGS)
    @table_options
    @bots_option(None, study.default_bots, study.bots_meaning or BOTS_HELP)
    @games_option(None, study.default_games)
    @seed_option
    @threads_option
    @study_options(study.margin, study.margins())
    @records_options
    @resume_option
    @combine(*own_options)
    def command(
        changes: tuple[str, ...],
        vary: tuple[str, ...],
        variants: tuple[str, ...],
        max_points: int,
        name: str | None,
        threads: int,
        records: Path | None,
        records_rounds: Path | None,
        resume: bool,
        output: str,
        as_json: bool,
        quiet: bool,
        readings: bool = False,
        **values: Any,
    ) -> None:
        from craits_sim.api import prepare
        from craits_sim.design import make_experiment, parse_variant, parse_vary
        from craits_sim.rules import parse_changes

        own_values = {option.name: values.pop(option.name) for option in study.options}
        if values["bots"] is None:
            values["bots"] = "random" if "bots" in parse_vary(vary) else study.default_bots
        if values["games"] is None:
            del values["games"]
            if values["precision"] is None and not values["until_decided"]:
                values["games"] = study.default_games
        experiment = make_experiment(
            {
                "name": name or study.name,
                "study": study.name,
                "set": parse_changes(changes),
                "vary": parse_vary(vary),
                "variants": list(map(parse_variant, variants)),
                "options": own_values,
                **values,
            }
        )
        if readings:
            experiment = study.with_readings(experiment)
        _run_study(
            prepare(experiment, max_points),
            how=Playing(threads, records, records_rounds, resume),
            output=output,
            as_json=as_json,
            quiet=quiet,
        )

    return command


@click.command(context_settings=CONTEXT_SETTINGS)
@click.argument("files", metavar="FILE.toml|FOLDER...", nargs=-1, required=True)
@games_option(None)
@click.option("--seed", type=Number(SEED), metavar="S", help="Play other games than the files say.")
@precision_option()
@until_decided_option
@threads_option
@records_options
@resume_option
@output_options
def run(
    files: tuple[str, ...],
    games: int | None,
    seed: int | None,
    precision: float | None,
    until_decided: bool,
    threads: int,
    records: Path | None,
    records_rounds: Path | None,
    resume: bool,
    name: str | None,
    output: str,
    as_json: bool,
    quiet: bool,
) -> None:
    """Run the studies that experiment files describe.

    A folder stands for all its files NAME.toml, in the order of their names. All files are checked before the first
    game is played. With --resume those whose report is finished are not played again.

    \b
    Examples:
      craits run experiments/seats.toml
      craits run experiments/ --games 10k --output quick
      craits run reports/seats/experiment.toml --name seats-again
    """
    from craits_sim.cli.console import stdout
    from craits_sim.cli.progress import show_series
    from craits_sim.design import DesignError, experiment_files
    from craits_sim.sequential import MOST_GAMES

    paths = experiment_files(files)
    if len(paths) > 1:
        for option, value in (("name", name), ("records", records), ("records-rounds", records_rounds)):
            if value:
                raise DesignError(f"--{option} {value} is for one experiment, but these are {len(paths)}")
    how = Playing(threads, records, records_rounds, resume)
    given = {"games": games, "seed": seed, "name": name}
    changes: dict[str, object] = {key: value for key, value in given.items() if value is not None}
    if precision is not None or until_decided:
        changes = {"games": MOST_GAMES, **changes, "precision": precision, "until_decided": until_decided}
    series = {path: _read(path, changes) for path in paths}
    _refuse_same_names(series)
    if len(series) == 1:
        (prepared,) = series.values()
        _run_study(prepared, how=how, output=output, as_json=as_json, quiet=quiet)
        return
    folders = {_folder(output, prepared, how): prepared for prepared in series.values()}
    if resume:
        folders = {folder: prepared for folder, prepared in folders.items() if not _is_finished(prepared, folder)}
    total = sum(prepared.experiment.games * len(prepared.points) for prepared in folders.values())
    with show_series(total, quiet=quiet) as next_part:
        for number, (folder, prepared) in enumerate(folders.items(), start=1 + len(series) - len(folders)):
            _, experiment, points = prepared
            label = f"{number} of {len(series)}: {experiment.name}"
            on_progress = next_part(label, experiment.games, len(points), _headline(prepared))
            summary = _play(prepared, folder, how, on_progress)
            if not as_json:
                stdout().print(f"\n{experiment.name}", style="bold")
            _print(prepared, summary, folder, as_json=as_json, table=False)


def _read(path: Path, changes: Mapping[str, object]) -> "Prepared":
    """Read an experiment file, with other values for some of its fields, and make it ready to be played."""
    from craits_sim.api import prepare
    from craits_sim.bots import BotError
    from craits_sim.design import DesignError, load_experiment, make_experiment
    from craits_sim.rules import RulesError
    from craits_sim.studies import StudyError

    experiment = make_experiment({**load_experiment(path).model_dump(), **changes}, source=str(path))
    try:
        return prepare(experiment)
    except (BotError, DesignError, RulesError, StudyError) as error:
        raise DesignError(f"{path}: {error}") from error


def _refuse_same_names(series: Mapping[Path, "Prepared"]) -> None:
    from craits_sim.design import DesignError

    files: dict[str, Path] = {}
    for path, prepared in series.items():
        name = prepared.experiment.name
        if name in files:
            raise DesignError(f'{path} and {files[name]} are both named "{name}": one report would replace the other')
        files[name] = path


def _folder(output: str, prepared: "Prepared", how: Playing) -> Path:
    """Give the folder of a report; that it can be written, and a run go on, is checked before games are played."""
    from craits_sim import report
    from craits_sim.checkpoint import Checkpoint
    from craits_sim.design import DesignError

    if how.resume and how.recorded:
        raise DesignError(
            "--resume goes on from the sums of the games played, which do not hold their records: leave out --records"
        )
    _, experiment, points = prepared
    folder = Path(output) / experiment.name
    report.check_folder(folder)
    checkpoint = Checkpoint(folder, experiment, points)
    if how.resume:
        checkpoint.load()
    elif checkpoint.file.exists():
        click.echo(f"{checkpoint.file} is of an interrupted run, and will be lost: --resume goes on from it.", err=True)
    return folder


def _is_finished(prepared: "Prepared", folder: Path) -> bool:
    """Tell whether there is nothing left to play, and say so."""
    from craits_sim import report, runner
    from craits_sim.checkpoint import Checkpoint

    _, experiment, points = prepared
    finished = not Checkpoint(folder, experiment, points).file.exists() and report.is_finished(
        folder, experiment, runner.provenance(points, experiment)
    )
    if finished:
        click.echo(f"{experiment.name} is finished: {folder / 'index.html'}", err=True)
    return finished


def _headline(prepared: "Prepared") -> "Headline":
    def headline(sums: Mapping[str, Any]) -> str:
        estimand, half_width = prepared.study.headline(sums, prepared.experiment)
        return f"{estimand} ± {half_width:.2g}" if isfinite(half_width) else ""

    return headline


def _run_study(prepared: "Prepared", *, how: Playing, output: str, as_json: bool, quiet: bool) -> None:
    """Play an experiment, write its report, and print what came out."""
    from craits_sim.cli.progress import show_progress

    folder, experiment = _folder(output, prepared, how), prepared.experiment
    label = experiment.name + ", at most" * experiment.looks
    with show_progress(label, experiment.games, quiet=quiet, headline=_headline(prepared)) as on_progress:
        summary = _play(prepared, folder, how, on_progress)
    _print(prepared, summary, folder, as_json=as_json, table=True)


def _play(prepared: "Prepared", folder: Path, how: Playing, on_progress: "OnProgress | None") -> "pd.DataFrame":
    """Play an experiment and write its report; give the summary."""
    from craits_sim import api, report, runner
    from craits_sim.checkpoint import Checkpoint
    from craits_sim.design import DesignError
    from craits_sim.stats import counted

    study, experiment, points = prepared
    checkpoint = Checkpoint(folder, experiment, points)
    provenance = runner.provenance(points, experiment)
    try:
        summary = api.play(
            prepared,
            threads=how.threads,
            on_progress=on_progress,
            records=how.records,
            records_rounds=how.records_rounds,
            begun=checkpoint.load() if how.resume else None,
            keep=None if how.recorded else checkpoint.keep,
        )
    except KeyboardInterrupt:
        if checkpoint.kept:
            kept = f"{counted(checkpoint.kept, 'game')} of {experiment.name} are kept"
            click.echo(f"{kept}: the same command with --resume goes on from there.", err=True)
        raise
    if runner.provenance(points, experiment) != provenance:
        raise DesignError(
            "the file of a bot was changed while games were played, some before and some after it: run again"
        )
    provenance["games"] = summary.attrs["games"]
    report.write_report(folder, study, experiment, points, summary, api.conclude(study, summary), provenance)
    checkpoint.remove()
    return summary


def _print(prepared: "Prepared", summary: "pd.DataFrame", folder: Path, *, as_json: bool, table: bool) -> None:
    """Print the outcome: as JSON, or the conclusion, the table if wanted, and where the report is."""
    from craits_sim import api, report
    from craits_sim.cli.console import print_table, stdout

    study, experiment, _ = prepared
    conclusion = api.conclude(study, summary)
    if as_json:
        result = {
            "study": study.name,
            "experiment": experiment.model_dump(),
            "summary": report.records(summary),
            "conclusion": conclusion,
        }
        click.echo(json.dumps(result, ensure_ascii=False))
        return
    stdout().print(conclusion)
    if table:
        highlights = study.highlights(summary)
        rounded = report.reading_table(highlights)
        print_table(rounded.columns, rounded.rows)
        if len(highlights) < len(summary):
            stdout().print(
                f"Shown: {len(highlights):,} of {len(summary):,} rows; all are in {folder / 'summary.csv'}, "
                "in the page and in what --json prints.",
                soft_wrap=True,
            )
    stdout().print(f"Report: {folder / 'index.html'}", soft_wrap=True)
