"""The experiments that come with the package: each is read, and its design expanded."""

from pathlib import Path

import pytest

from craits_sim.api import prepare
from craits_sim.design import experiment_files, load_experiment

FILES = experiment_files([Path(__file__).parent.parent / "experiments"])


def test_there_are_enough_of_them() -> None:
    assert len(FILES) >= 10


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_an_experiment_is_ready_to_be_played(file: Path) -> None:
    experiment = load_experiment(file)
    prepared = prepare(experiment)
    assert experiment.name == file.stem
    assert experiment.aim.endswith("?")
    assert len(experiment.aim) <= 140
    # A shipped experiment is an evening's work at most: some minutes.
    assert 1 <= experiment.games * len(prepared.points) <= 5_000_000
    # Design points that play the same would compare a thing with itself.
    played = {(point.rules.digest, point.rules.players, point.bots, point.replay) for point in prepared.points}
    assert len(played) == len(prepared.points)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_an_experiment_survives_being_written(file: Path, tmp_path: Path) -> None:
    prepared = prepare(load_experiment(file))
    copy = tmp_path / file.name
    copy.write_text(prepared.experiment.to_toml(), encoding="utf-8")
    assert prepare(load_experiment(copy)) == prepared
