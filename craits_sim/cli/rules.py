"""The commands ``craits rules ...``: show, compare, check and write rule sets."""

import json
import os
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

import click

from craits_sim.cli.options import CONTEXT_SETTINGS, UserError, friendly_errors, json_option
from craits_sim.text import toml_value

if TYPE_CHECKING:
    from craits_sim.rules import RuleField, Rules


@click.group(context_settings=CONTEXT_SETTINGS)
def rules() -> None:
    """Show, check and compare rule sets.

    A rule set is a preset or a TOML file; where a command takes a NAME, the path of a file will do.
    """


@rules.command("list", context_settings=CONTEXT_SETTINGS)
@json_option
def list_presets(as_json: bool) -> None:
    """List the presets.

    \b
    Example:
      craits rules list
    """
    from craits_sim.cli.console import print_table
    from craits_sim.rules import load_rules, preset_names

    presets = [load_rules(name) for name in preset_names()]
    if as_json:
        rows = [{**_head(preset), "description": preset.description} for preset in presets]
        click.echo(json.dumps(rows, indent=2))
    else:
        print_table(
            ("rules", "digest", "description"),
            [(preset.name, preset.digest, preset.description) for preset in presets],
        )


@rules.command(context_settings=CONTEXT_SETTINGS)
@click.argument("name")
@json_option
@friendly_errors
def show(name: str, as_json: bool) -> None:
    """Show every field of a rule set.

    A star marks what differs from classic.

    \b
    Examples:
      craits rules show classic
      craits rules show house.toml --json
    """
    from craits_sim.rules import FIELDS, INERT, NAMES, Rules, canonical_rules, differences, load_rules

    shown = load_rules(name)
    values = {key: value for key, value in shown.by_key().items() if key not in NAMES}
    classic = {key: other for key, (_, other) in differences(shown, Rules()).items()}
    if as_json:
        document = {**_head(shown), "description": shown.description, "rules": values, "classic": classic}
        click.echo(json.dumps(document, indent=2))
        return

    from craits_sim.cli.console import print_table, stdout

    stdout().print(f"{shown.name}  {shown.digest}\n{shown.description}")
    fields = sorted((FIELDS[key] for key in values), key=_number)
    for heading, group in groupby(fields, key=_heading):
        rows = []
        sentence = ""
        for field in group:
            star, value = "", toml_value(values[field.key])
            if field.key in classic:
                star, value = "*", f"{value} (classic: {toml_value(classic[field.key])})"
            # All ranks share a sentence, which is worth reading once.
            meaning = field.sentence.partition(" (RULES.md")[0] if field.sentence != sentence else ""
            rows.append((star, field.section, field.key, value, meaning))
            sentence = field.sentence
        print_table(("", "RULES.md", "field", "value", "meaning"), rows, title=heading)
    counting = canonical_rules(shown).by_key()
    # Only what somebody has changed deserves the remark that it is without effect.
    for key in classic:
        if counting[key] != values[key]:
            reason = next(inert.when for inert in INERT if inert.key in (key, key.partition(".")[0]))
            stdout().print(f"{key} counts as {toml_value(counting[key])}: {reason}.")


@rules.command(context_settings=CONTEXT_SETTINGS)
@click.argument("a")
@click.argument("b")
@json_option
@friendly_errors
def diff(a: str, b: str, as_json: bool) -> None:
    """Show the fields in which two rule sets differ.

    \b
    Examples:
      craits rules diff classic wiki
      craits rules diff classic house.toml
    """
    from craits_sim.rules import differences, load_rules

    first, second = load_rules(a), load_rules(b)
    fields = differences(first, second)
    if as_json:
        rows = [{"key": key, "a": values[0], "b": values[1]} for key, values in fields.items()]
        click.echo(json.dumps({"a": _head(first), "b": _head(second), "fields": rows}, indent=2))
        return

    from craits_sim.cli.console import print_table, stdout

    if fields:
        columns = ("field", *(f"{side.name} {side.digest}" for side in (first, second)))
        print_table(columns, [(key, *map(toml_value, values)) for key, values in fields.items()])
    if first.digest == second.digest:
        stdout().print(f"{first.name} and {second.name} play and score the same: digest {first.digest}.")


@rules.command(context_settings=CONTEXT_SETTINGS)
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.pass_context
def check(ctx: click.Context, files: tuple[str, ...]) -> None:
    """Check rules files.

    The exit code is 2 if any of them cannot be used.

    \b
    Example:
      craits rules check house.toml
    """
    from craits_sim.rules import RulesError, load_rules

    exit_code = 0
    for file in files:
        try:
            checked = load_rules(file)
            click.echo(f"{file}: OK  {checked.name}  {checked.digest}")
        except RulesError as error:
            UserError(str(error)).show()
            exit_code = UserError.exit_code
    ctx.exit(exit_code)


@rules.command(context_settings=CONTEXT_SETTINGS)
def schema() -> None:
    """Print the JSON Schema of a rules file.

    By it an editor can check a rules file and complete its keys.

    \b
    Example:
      craits rules schema > craits-rules.schema.json
    """
    from craits_sim.rules import json_schema

    click.echo(json.dumps(json_schema(), indent=2))


@rules.command(context_settings=CONTEXT_SETTINGS)
@click.argument("name")
@click.option("--base", default="classic", metavar="NAME|FILE.toml", show_default=True, help="What it builds on.")
@click.option(
    "--set",
    "changes",
    multiple=True,
    metavar="KEY=VALUE",
    help="A field that differs from the base. Repeatable.",
)
@click.option("--output", type=click.Path(path_type=Path), metavar="FILE", help="[default: NAME.toml]")
@friendly_errors
def new(name: str, base: str, changes: tuple[str, ...], output: Path | None) -> None:
    """Write a commented rules file.

    An existing file is never overwritten.

    \b
    Example:
      craits rules new house --set draw.count=2 --set 'wild=[8, 9]'
    """
    from craits_sim.rules import load_rules, parse_changes, preset_names

    if name in preset_names():
        raise UserError(f'"{name}" is a preset: choose another name')
    if output is None:
        if Path(name).name != name:
            raise UserError(f'"{name}" is a path: give a name, and the path as --output')
        output = Path(f"{name}.toml")
    base_rules = load_rules(base)
    description = {"description": f"House rules that build on {base_rules.name}."}
    made = base_rules.with_changes({**description, **parse_changes(changes), "name": name})
    base_name = base if base in preset_names() else Path(os.path.relpath(base, output.parent)).as_posix()
    _write_new(output, made.to_toml(base_rules, base_name))
    click.echo(f"{output}: written  {made.name}  {made.digest}")


def _write_new(path: Path, text: str) -> None:
    """Write a file that does not exist yet, whole or not at all."""
    try:
        file = path.open("x", encoding="utf-8", newline="\n")
    except FileExistsError:
        raise UserError(f"{path}: exists already, and is not overwritten") from None
    try:
        with file:
            file.write(text)
    except OSError:
        path.unlink()
        raise


def _head(named: "Rules") -> dict[str, str]:
    return {"name": named.name, "digest": named.digest}


HEADINGS = {1: "The game", 8: "A turn", 13.5: "Abilities", 14: "The crank", 17: "Scoring a round"}
"""The headings of RULES.md, each by the number of its first section; the one on abilities has none."""


def _number(field: "RuleField") -> float:
    return int(field.section[1:]) if field.section.startswith("R") else 13.5


def _heading(field: "RuleField") -> str:
    return next(heading for first, heading in reversed(HEADINGS.items()) if _number(field) >= first)
