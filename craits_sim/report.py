"""The report of a study: a folder with a page, the numbers, the chart, and what is needed to get them again.

A report is whole or absent. It is written into a temporary folder beside its place and renamed at the end, so
that an earlier report is replaced by a finished one only.
"""

import errno
import io
import json
import math
import secrets
import shlex
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import matplotlib
import pandas as pd
from jinja2 import Environment, PackageLoader
from matplotlib.figure import Figure

from craits_sim.design import DesignError, DesignPoint, Experiment, describe_tables, self_contained, variant_text
from craits_sim.plots import STYLE
from craits_sim.rules import FIELDS, differences, load_rules, preset_names
from craits_sim.stats import digits_from_se, number_text
from craits_sim.text import toml_value

if TYPE_CHECKING:
    from craits_sim.studies.base import Study

RULES = "rules.toml"
FILES = ("index.html", "summary.csv", "chart.svg", "chart.png", "experiment.toml", "provenance.json", RULES)
"""What a report consists of; ``rules.toml`` is there only where the rules are no preset."""

PNG_DPI = 150

STATISTICS = ("unit", "estimate", "se", "ci_low", "ci_high", "ci_level", "n")
"""The columns that every row of a summary has a value in, undefined ones included."""

_FOR_PROGRAMS = ("statistic", "df", "reference")
"""Columns that stand in the CSV file and not in the table that people read."""

HINTS = {
    "position": "Position 0 is the first dealer of the game, 1 the seat to its left, and so on clockwise.",
    "offset": "Offset 0 is the dealer of the round, 1 the seat to its left, which plays first, and so on.",
    "seat": "Seats are numbered from 0 clockwise.",
    "deal_size": "The deal size is the number of cards dealt to each player in the round.",
    "effect": "The effect is the difference in standard deviations of one game.",
    "variance_ratio": "The variance ratio is how many times as many games the difference would take without pairing.",
    "p_value": "The p-value is how often chance alone would give a difference at least this large.",
    "p_adjusted": "Adjusted p-values allow for the number of tests made side by side.",
}


class ReadingTable(NamedTuple):
    """A summary for people: texts, rounded as far as the standard errors carry."""

    columns: tuple[str, ...]
    rows: list[tuple[str, ...]]
    values: list[tuple[object, ...]]  # what figures are sorted by: the full value, of an interval its lower end
    figures: frozenset[int]  # the columns that hold figures
    note: str  # what is the same in all rows


# --- The folder ---------------------------------------------------------------------------------------------


def check_folder(folder: Path) -> None:
    """Make sure that a report can be written, before hours are spent on its numbers.

    Raises
    ------
    DesignError
        If ``folder`` holds something that is no report, which would be lost.
    OSError
        If its parent cannot be made or written.
    """
    _refuse_other_content(folder)
    _temporary_beside(_target(folder)).rmdir()


@contextmanager
def replacing(folder: Path) -> Iterator[Path]:
    """Lend an empty folder that takes the place of ``folder`` after the block, and vanishes if it fails."""
    folder = _target(folder)
    temporary = _temporary_beside(folder)
    try:
        yield temporary
        _refuse_other_content(folder)
        _put_in_place(temporary, folder)
    except BaseException as error:
        shutil.rmtree(temporary, ignore_errors=True)
        if isinstance(error, OSError):
            raise _cannot_be_written(folder, error) from error
        raise


def _target(folder: Path) -> Path:
    """Follow a link: it stays, and what it leads to is replaced."""
    return folder.resolve() if folder.is_symlink() else folder


def _temporary_beside(folder: Path) -> Path:
    temporary = folder.with_name(f".{folder.name}-{secrets.token_hex(6)}")
    try:
        temporary.mkdir(parents=True)
    except OSError as error:
        raise _cannot_be_written(folder, error) from error
    return temporary


def _cannot_be_written(folder: Path, error: OSError) -> OSError:
    return OSError(error.errno, f"the report cannot be written here: {error.strerror}", str(folder))


def _refuse_other_content(folder: Path) -> None:
    try:
        names = [entry.name for entry in folder.iterdir()]
    except (FileNotFoundError, NotADirectoryError):
        if folder.is_file():
            raise DesignError(f"{folder} is a file: choose another --name or --output") from None
        names = []
    for name in names:
        if name not in FILES:
            raise DesignError(
                f"{folder} holds {name}, which is no part of a report and would be lost: "
                "choose another --name or --output"
            )


def _put_in_place(finished: Path, folder: Path) -> None:
    """Rename a finished report to its place; an earlier one is moved aside first, and back if that fails."""
    while True:
        earlier = folder.with_name(f"{finished.name}-earlier")
        with suppress(FileNotFoundError):
            folder.rename(earlier)
        try:
            finished.rename(folder)
        except OSError as error:
            if error.errno in (errno.ENOTEMPTY, errno.EEXIST):
                # Another run put its report there in between: it is the earlier one now.
                shutil.rmtree(earlier, ignore_errors=True)
                continue
            with suppress(FileNotFoundError):
                earlier.rename(folder)
            raise
        shutil.rmtree(earlier, ignore_errors=True)
        return


# --- The files ----------------------------------------------------------------------------------------------


def write_report(
    folder: Path,
    study: "Study",
    experiment: Experiment,
    points: Sequence[DesignPoint],
    summary: pd.DataFrame,
    conclusion: str,
    provenance: Mapping[str, object],
) -> None:
    """Write the report of a study, or nothing.

    The same arguments give the same files, byte for byte.

    Parameters
    ----------
    summary
        What ``study.summarise`` gave; ``study.plot`` draws it.

    Raises
    ------
    DesignError
        If ``folder`` holds something that is no report.
    OSError
        If the report cannot be written; an earlier report is untouched then.
    """
    with replacing(folder) as temporary:
        if experiment.rules not in preset_names():
            classic = load_rules("classic")
            _write(temporary / RULES, load_rules(experiment.rules).to_toml(classic, "classic"))
        chart = _draw(study.plot(summary), temporary)
        summary.to_csv(temporary / "summary.csv", index=False, lineterminator="\n")
        _write(temporary / "experiment.toml", _repeatable(experiment).to_toml())
        _write(temporary / "provenance.json", json.dumps(provenance, indent=2, ensure_ascii=False) + "\n")
        highlights = study.highlights(summary)
        page = render(
            "report.html.j2",
            study=study,
            experiment=experiment,
            conclusion=conclusion,
            caption=summary.attrs.get("caption", ""),
            chart=chart,
            table=reading_table(highlights),
            all_rows=reading_table(summary) if len(highlights) < len(summary) else None,
            played=_played(experiment, points, summary),
            hints=_hints(summary, experiment, study, points),
            command=command_line(experiment),
            provenance={key: _as_text(value) for key, value in provenance.items()},
            files=sorted(path.name for path in temporary.iterdir()),
        )
        _write(temporary / "index.html", page)


def is_finished(folder: Path, experiment: Experiment, provenance: Mapping[str, object]) -> bool:
    """Tell whether a folder holds the report of an experiment, from the same versions and rules.

    Parameters
    ----------
    provenance
        As for `write_report`, without what a run adds to it.
    """
    try:
        written = (folder / "experiment.toml").read_text(encoding="utf-8")
        came_from = json.loads((folder / "provenance.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    same = all(came_from.get(key) == value for key, value in provenance.items() if key != "games")
    return same and written == _repeatable(experiment).to_toml()


def _repeatable(experiment: Experiment) -> Experiment:
    """Give the experiment as its report holds it: without files from elsewhere."""
    repeatable = experiment.model_copy(update={"variants": list(map(self_contained, experiment.variants))})
    if experiment.rules in preset_names():
        return repeatable
    return repeatable.model_copy(update={"rules": RULES})


def render(template: str, **values: object) -> str:
    """Fill in one of the templates; texts are escaped."""
    environment = Environment(loader=PackageLoader("craits_sim"), autoescape=True, trim_blocks=True, lstrip_blocks=True)
    return environment.get_template(template).render(values)


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", newline="\n")


def _draw(figure: Figure, folder: Path) -> str:
    """Save a figure as SVG and PNG, without dates or versions, and give the SVG element."""
    drawing = io.StringIO()
    with matplotlib.rc_context(fname=STYLE):
        # Laid out once: each file would else be laid out, and drawn, twice over.
        if (layout := figure.get_layout_engine()) is not None:
            figure.set_dpi(PNG_DPI)  # letters are a little wider or narrower than at another one
            layout.execute(figure)
            figure.set_layout_engine(None)
        figure.savefig(drawing, format="svg", metadata={"Date": None, "Creator": None})
        figure.savefig(folder / "chart.png", format="png", dpi=PNG_DPI, metadata={"Software": None})
    svg = drawing.getvalue()
    _write(folder / "chart.svg", svg)
    return svg[svg.index("<svg") :]


def command_line(experiment: Experiment) -> str:
    """Write the command that runs an experiment again."""
    words = ["craits", experiment.study, "--rules", experiment.rules]
    for key, value in experiment.set.items():
        words += ["--set", f"{key}={toml_value(value)}"]
    if experiment.players:
        words += ["--players", str(experiment.players)]
    if "bots" not in experiment.vary:
        words += ["--bots", experiment.bots]
    words += ["--games", str(experiment.games), "--seed", str(experiment.seed), "--level", str(experiment.level)]
    if experiment.precision is not None:
        words += ["--precision", str(experiment.precision)]
    words += ["--until-decided"] * experiment.until_decided
    if experiment.margin is not None:
        words += ["--margin", str(experiment.margin)]
    for key, levels in experiment.vary.items():
        words += ["--vary", f"{key}={toml_value(levels)}"]
    for variant in map(self_contained, experiment.variants):
        words += ["--variant", variant_text(variant)]
    for key, value in experiment.options.items():
        words += [f"--{key.replace('_', '-')}", str(value)]
    return shlex.join([*words, "--name", experiment.name])


# --- What people read ---------------------------------------------------------------------------------------


def records(summary: pd.DataFrame) -> list[dict[str, object]]:
    """Give the rows of a summary as JSON values; what does not apply to a row is left out.

    An undefined statistic (the standard error of a single game) is None.
    """
    rows = []
    for row in summary.to_dict("records"):
        plain = {str(key): _plain(value) for key, value in row.items()}
        rows.append({key: value for key, value in plain.items() if value is not None or key in STATISTICS})
    return rows


def reading_table(summary: pd.DataFrame) -> ReadingTable:
    """Round a summary for reading; columns that say the same in every row become a note.

    The columns before ``unit`` say what a row is about, those after ``n`` are further statistics.
    """
    rows = records(summary)
    names = [name for name in map(str, summary.columns) if any(row.get(name) is not None for row in rows)]
    labels = names[: names.index("unit")]
    left_out = {*_FOR_PROGRAMS, *(["p_value"] if "p_adjusted" in names else [])}
    further = [name for name in names[names.index("n") :] if name not in left_out]
    constant = {name for name in names if len({repr(row.get(name)) for row in rows}) == 1 < len(rows)}
    same = constant & {"unit", *labels, *further} - {"verdict"}
    headings = {
        **{name: _words(name) for name in labels},
        "estimate": f"estimate ({rows[0]['unit']})" if "unit" in same else "estimate",
        "unit": "unit",
        "interval": f"{100 * float(str(rows[0]['ci_level'])):g}% interval",
        "se": "std. error",
        **{name: _words(name) for name in further},
    }
    shown = [name for name in headings if name not in same and (name in names or name == "interval")]
    numeric = [name for name in shown if all(type(row.get(name)) in (int, float, type(None)) for row in rows)]
    sorted_by = ["ci_low" if name == "interval" else name if name in numeric else "" for name in shown]
    notes = [f"{_words(name)}: {_cell(rows[0], name)}" for name in [*labels, *further] if name in same]
    if "simultaneous" in {row.get("ci_kind") for row in rows}:
        notes.append("the intervals of one kind of estimate at one design point hold together")
    if "sequence" in {row.get("ci_kind") for row in rows}:
        notes.append("the intervals are those of a confidence sequence, and those of all verdicts hold together")
    return ReadingTable(
        columns=tuple(headings[name] for name in shown),
        rows=[tuple(_cell(row, name) for name in shown) for row in rows],
        values=[tuple(row.get(name) for name in sorted_by) for row in rows],
        figures=frozenset(place for place, name in enumerate(shown) if name in ["interval", *numeric]),
        note="; ".join(notes),
    )


def _cell(row: Mapping[str, Any], name: str) -> str:
    """Write a value with the digits that the standard error of its row supports."""
    value, se = row.get(name), row["se"]
    if name == "interval":
        ends = [_cell(row, end) for end in ("ci_low", "ci_high")]
        return " to ".join(ends) if all(ends) and row["ci_low"] != row["ci_high"] else ""
    if se and name in ("estimate", "ci_low", "ci_high", "base_value", "variant_value"):
        return number_text(row[name], se)
    if name == "se":
        return f"{se:,.{digits_from_se(se) + 1}f}" if se else ""
    if name in ("p_value", "p_adjusted") and value is not None:
        return "<0.001" if value < 0.001 else f"{value:.3f}"
    return _words(str(value)) if name == "estimand" else _as_text(value)


def _words(column: str) -> str:
    return column.replace("_", " ").replace(".", " ")


def _plain(value: Any) -> object:
    """Turn a cell of a frame into a JSON value; what is missing or undefined into None."""
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, float):
        if not math.isfinite(value):
            return None
    elif value is pd.NA or value is pd.NaT:
        return None
    return value


def _as_text(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return toml_value(value)
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {_as_text(part)}" for key, part in value.items())
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ", ".join(map(_as_text, value))
    return str(value)


def _played(
    experiment: Experiment, points: Sequence[DesignPoint], summary: pd.DataFrame
) -> list[tuple[str, str, list[str]]]:
    """Say what was played: for each term of a list, a text and the items under it."""
    rules = points[0].rules
    digest = f" (digest {rules.digest})" if len({point.rules.digest for point in points}) == 1 else ""
    kinds = {bot.name: bot.kind for point in points for bot in point.bots}
    different = [
        f"{key} = {toml_value(value)} (classic: {toml_value(classic)}). {FIELDS[key].sentence}"
        for key, (value, classic) in differences(rules, load_rules("classic")).items()
        if key not in ("players", *experiment.vary)
    ]
    played = [
        ("Rules", f"{rules.name}{digest}. {rules.description}", []),
        ("Different from classic", "" if different else "nothing", different),
        ("Players", ", ".join(map(str, sorted({point.rules.players for point in points}))), []),
        ("Bots", describe_tables(points), [f"{name}: {kind.description}" for name, kind in kinds.items()]),
        ("Games", _games(experiment, points, summary), []),
        ("Seed", str(experiment.seed), []),
    ]
    if experiment.variants:
        played.append(("Variants", "", list(map(variant_text, experiment.variants))))
    if experiment.vary:
        levels = [f"{key} = {toml_value(values)}" for key, values in experiment.vary.items()]
        played.append(("Varied", f"all {experiment.point_count:,} combinations of", levels))
    return played


def _games(experiment: Experiment, points: Sequence[DesignPoint], summary: pd.DataFrame) -> str:
    """Say how many games were played, and why no more where the run could have gone on."""
    games = summary.attrs.get("games", experiment.games)
    text = f"{games:,}" + (" at each design point" if len(points) > 1 else "")
    return f"{text}, of at most {experiment.games:,}. {summary.attrs.get('stopped', '')}" if experiment.looks else text


def _hints(
    summary: pd.DataFrame, experiment: Experiment, study: "Study", points: Sequence[DesignPoint]
) -> Iterator[str]:
    yield (
        "An estimate is what these games gave. The interval says how far from it the value may lie that "
        "endless play of the same rules by the same bots would give: of intervals made like this, "
        f"{100 * experiment.level:g}% hold that value."
    )
    if experiment.precision is not None:
        yield (
            f"The games went on until the headline interval was ± {experiment.precision:g} or narrower. That looks at "
            "the width of the interval and not at where it lies, so that it holds as often as it says."
        )
    if experiment.until_decided:
        yield (
            "The games went on until every verdict was certain, or for as many as were allowed. The intervals and "
            "p-values of means and differences are those of a confidence sequence (Waudby-Smith and others 2024): they "
            "are wider, and hold at all numbers of games at once, so that it does no harm to stop when one likes what "
            "they say. Those of all verdicts in the table hold together: the chance that any is wrong is at most "
            f"{100 * (1 - experiment.level):.3g}%. Exact intervals of rare outcomes without a verdict, and those of "
            "quantiles, are made for a fixed number of games, and are a little too sure here."
        )
    if "ci_kind" in summary and "simultaneous" in set(summary["ci_kind"]):
        yield "Simultaneous intervals are wider: that often, all intervals of a group hold their values at once."
    if "verdict" in summary:
        yield (
            f"{study.margin_sentence(experiment)} {study.finding.capitalize()}: the difference is real "
            "and was not shown to lie within the margin. Negligible: it was shown to lie within the margin, and none "
            "was seen. Real but negligible: both were shown. Inconclusive: neither; more games would decide."
        )
    yield from (hint for column, hint in HINTS.items() if column in summary)
    if len(points) > 1:
        yield (
            "All design points play the same deals (common random numbers), so that differences between them "
            "are known better than their separate intervals suggest."
        )
    yield "The numbers hold for the bots that played. People who play otherwise may see something else."
