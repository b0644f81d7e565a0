"""One whole game of each preset as a golden file: what `craits trace` prints, compared line by line.

After an intended change ``python -m tests.test_transcripts`` writes them anew; what changed is read in the diff.
"""

from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from craits_sim.cli import cli
from craits_sim.rules import preset_names

FOLDER = Path(__file__).parent / "transcripts"

GAMES = {
    "classic": "--bots random,greedy,random,greedy --game 8",
    "short": "--bots random:forget=0.5,greedy,random:forget=0.5,greedy",
    "wiki": "--bots random,greedy,random,greedy --game 9",
    "crazy_eights": "--bots random,greedy,random,greedy --game 38",
    "crazy_eights_special": "--bots random,greedy,random,greedy --game 11",
    "last_card_house": "--players 2 --bots random,greedy --game 26",
    "partners": "--game 15",
}
"""The game of each preset, chosen among the first forty for being short."""


def transcript(preset: str) -> str:
    """Give what `craits trace` prints of the game of a preset."""
    result = CliRunner().invoke(cli, ["trace", "--rules", preset, *GAMES[preset].split()])
    assert result.exit_code == 0, result.output
    return result.stdout


def test_every_preset_has_a_transcript_and_every_transcript_a_preset() -> None:
    assert {path.stem for path in FOLDER.iterdir()} == {*preset_names()} == {*GAMES}


@pytest.mark.parametrize("preset", list(GAMES))
def test_the_game_of_a_preset_is_as_it_was(preset: str) -> None:
    recorded = (FOLDER / f"{preset}.txt").read_text(encoding="utf-8")
    assert transcript(preset).splitlines() == recorded.splitlines()


if __name__ == "__main__":
    for name in GAMES:
        (FOLDER / f"{name}.txt").write_text(transcript(name), encoding="utf-8")
        click.echo(f"wrote {name}.txt")
