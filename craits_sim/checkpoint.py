"""Checkpoints: what an unfinished run has played, in a file beside its report, so that another can go on from there.

What is kept is the sums of games 0 to N - 1. They are whole numbers that add in any order to the same result, and game
N depends on no earlier one: a run that goes on from a checkpoint ends with the numbers of one that was never stopped,
to the last bit, whatever the number of threads before and after.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from craits_sim import runner
from craits_sim.design import DesignError, DesignPoint, Experiment
from craits_sim.files import replacing_file
from craits_sim.runner import Played

_ABOUT = "about"
_SUM = "sum "


class Checkpoint:
    """The checkpoint of an experiment: ``.NAME.partial`` beside the folder NAME of its report."""

    def __init__(self, folder: Path, experiment: Experiment, points: Sequence[DesignPoint]) -> None:
        self.file = folder.with_name(f".{folder.name}.partial")
        self.kept = 0
        """The games that this run has kept."""
        self._about = json.dumps(_deciding(experiment, points), ensure_ascii=False)
        self._most = experiment.games

    def keep(self, played: Played) -> None:
        """Write what is played, in place of an earlier checkpoint.

        Raises
        ------
        OSError
            If the file cannot be written; an earlier one is untouched then.
        """
        arrays: dict[str, Any] = {f"{_SUM}{key}": values for key, values in played.sums.items()}
        arrays[_ABOUT] = np.array([self._about, str(played.games)])
        with replacing_file(self.file, "the checkpoint") as temporary, temporary.open("wb") as file:
            np.savez(file, **arrays)
        self.kept = played.games

    def load(self) -> Played:
        """Read what is played; nothing where there is no checkpoint.

        Raises
        ------
        DesignError
            If the checkpoint is of another experiment, has more games than are wanted, or is damaged.
        """
        if not self.file.exists():
            return Played(0, {})
        try:
            with np.load(self.file, allow_pickle=False) as archive:
                about, games = map(str, archive[_ABOUT])
                there = json.loads(about)
                played = Played(
                    int(games),
                    {key.removeprefix(_SUM): archive[key] for key in archive.files if key.startswith(_SUM)},
                )
        except (BadZipFile, EOFError, KeyError, ValueError) as error:
            raise DesignError(f"{self.file} is damaged: delete it, or leave out --resume") from error
        here = json.loads(self._about)
        differing = [key for key in here if here[key] != there.get(key)]
        if differing:
            values = ", ".join(f"{key} was {_short(there.get(key))} and is {_short(here[key])}" for key in differing)
            raise DesignError(
                f"{self.file} is of another experiment, so that --resume cannot go on from it: {values}; leave out "
                "--resume to begin anew"
            )
        if played.games > self._most:
            raise DesignError(
                f"{self.file} has {played.games:,} games already, and games = {self._most:,}: ask for as many or more, "
                "or leave out --resume to begin anew"
            )
        return played

    def remove(self) -> None:
        """Remove the file: the report is finished."""
        self.file.unlink(missing_ok=True)


def _deciding(experiment: Experiment, points: Sequence[DesignPoint]) -> dict[str, object]:
    """Give all that decides the numbers, apart from how many games are played.

    Names do not, nor do the versions of Python and its libraries, which the sums do not depend on.
    """
    values = experiment.model_dump(exclude={"name", "aim", "games", "rules"})
    provenance = runner.provenance(points, experiment)
    digests: dict[str, object] = {"rules": [point.rules.digest for point in points]}
    for point in points:
        players = point.rules.players
        digests |= {f"{bot} ({players} players)": digest for bot in point.bots if (digest := bot.digest(players))}
    return {key: provenance[key] for key in ("version", "rng")} | values | digests


def _short(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else f"{text[:57]}..."
