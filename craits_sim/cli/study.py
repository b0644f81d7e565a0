"""The commands that run a study: one for each registered study, and ``craits run`` for an experiment file."""

import json
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from craits_sim.cli.options import (
    CONTEXT_SETTINGS,
    Number,
    combine,
    games_option,
    output_options,
    rules_options,
    run_options,
    study_options,
    threads_option,
)
from craits_sim.ranges import SEED, STUDY_OPTION
from craits_sim.text import nearest

if TYPE_CHECKING:
    from craits_sim.design import DesignPoint, Experiment
    from craits_sim.studies.base import Study


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
    help_text = (
        f"{study.question}\n\n\b\nExamples:\n  craits {study.name} --games 1e6\n"
        f"  craits {study.name} --vary 'players=[2, 3, 4, 5]' --name {study.name}-by-players"
    )

    @click.command(study.name, help=help_text, context_settings=CONTEXT_SETTINGS)
    @rules_options
    @run_options(study.default_games)
    @study_options(study.margin, study.margin_unit)
    @combine(*own_options)
    def command(
        changes: tuple[str, ...],
        vary: tuple[str, ...],
        name: str | None,
        threads: int,
        output: str,
        as_json: bool,
        quiet: bool,
        **values: Any,
    ) -> None:
        from craits_sim.design import make_experiment, parse_vary
        from craits_sim.rules import parse_changes

        own_values = {option.name: values.pop(option.name) for option in study.options}
        experiment = make_experiment(
            {
                "name": name or study.name,
                "study": study.name,
                "set": parse_changes(changes),
                "vary": parse_vary(vary),
                "options": own_values,
                **values,
            }
        )
        _run_study(*_prepare(experiment), threads=threads, output=output, as_json=as_json, quiet=quiet)

    return command


@click.command()
@click.argument("file", metavar="FILE.toml")
@games_option(None)
@click.option("--seed", type=Number(SEED), metavar="S", help="Play other games than the file says.")
@threads_option
@output_options
def run(
    file: str,
    games: int | None,
    seed: int | None,
    threads: int,
    name: str | None,
    output: str,
    as_json: bool,
    quiet: bool,
) -> None:
    """Run the study that an experiment file describes.

    \b
    Examples:
      craits run experiments/seats.toml
      craits run reports/seats/experiment.toml --name seats-again
    """
    from craits_sim.bots import BotError
    from craits_sim.design import DesignError, load_experiment, make_experiment
    from craits_sim.rules import RulesError
    from craits_sim.studies import StudyError

    given = {"games": games, "seed": seed, "name": name}
    changes = {key: value for key, value in given.items() if value is not None}
    experiment = make_experiment({**load_experiment(file).model_dump(), **changes}, source=file)
    try:
        prepared = _prepare(experiment)
    except (BotError, DesignError, RulesError, StudyError) as error:
        raise DesignError(f"{file}: {error}") from error
    _run_study(*prepared, threads=threads, output=output, as_json=as_json, quiet=quiet)


def _prepare(experiment: "Experiment") -> tuple["Study", "Experiment", tuple["DesignPoint", ...]]:
    """Find the study of an experiment, fill in its margin and options, and expand the design.

    The completed experiment says all that its numbers depend on, also when a study's defaults change one day.

    Raises
    ------
    BotError, DesignError, RulesError, StudyError
        If the experiment names something that does not exist or cannot be played.
    """
    from craits_sim.design import DesignError, design_points
    from craits_sim.studies import get_study

    study = get_study(experiment.study)
    known = [option.name for option in study.options]
    for key in experiment.options:
        if key not in known:
            allowed = f"its options are {', '.join(known)}{nearest(key, known)}" if known else "it has none"
            raise DesignError(f"options.{key} is no option of the study {study.name}: {allowed}")
    defaults = {option.name: float(option.default) for option in study.options}
    completed = experiment.model_copy(
        update={
            "margin": study.margin if experiment.margin is None else experiment.margin,
            "options": {**defaults, **experiment.options},
        }
    )
    return study, completed, design_points(completed)


def _run_study(
    study: "Study",
    experiment: "Experiment",
    points: tuple["DesignPoint", ...],
    *,
    threads: int,
    output: str,
    as_json: bool,
    quiet: bool,
) -> None:
    """Play an experiment, write its report, and print what came out."""
    from craits_sim import report, runner
    from craits_sim.cli.console import print_table, stdout
    from craits_sim.cli.progress import show_progress
    from craits_sim.design import caption

    folder = Path(output) / experiment.name
    report.check_folder(folder)

    def headline(sums: Any) -> str:
        estimand, half_width = study.headline(sums, experiment)
        return f"{estimand} ± {half_width:.2g}" if isfinite(half_width) else ""

    with show_progress(experiment.name, experiment.games, quiet=quiet, headline=headline) as on_progress:
        sums = runner.run(
            points,
            study.tally,
            games=experiment.games,
            seed=experiment.seed,
            threads=threads,
            on_progress=on_progress,
        )
    summary = study.summarise(sums, experiment)
    summary.attrs["caption"] = caption(experiment, points)
    conclusion = study.conclude(summary)
    report.write_report(folder, study, experiment, points, summary, conclusion, runner.provenance(points, experiment))
    if as_json:
        result = {
            "study": study.name,
            "experiment": experiment.model_dump(),
            "summary": report.records(summary),
            "conclusion": conclusion,
        }
        click.echo(json.dumps(result, ensure_ascii=False))
    else:
        table = report.reading_table(study.highlights(summary))
        stdout().print(conclusion)
        print_table(table.columns, table.rows)
        stdout().print(f"Report: {folder / 'index.html'}", soft_wrap=True)
