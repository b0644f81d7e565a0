"""Experiments, their files, and the design points that they stand for."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from craits_sim.bots import BotError
from craits_sim.design import (
    DesignError,
    Experiment,
    caption,
    design_points,
    load_experiment,
    make_experiment,
    parse_vary,
)
from craits_sim.ranges import GAMES, SEED
from craits_sim.rules import RulesError, load_rules


def experiment(**values: object) -> Experiment:
    return make_experiment({"name": "try", "study": "seats", **values})


def write(folder: Path, text: str, name: str = "try.toml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


# --- Design points ---


def test_without_factors_there_is_one_design_point() -> None:
    (point,) = design_points(experiment(players=3, bots="greedy,random,random", set={"draw.count": 2}))
    assert point.factors == {}
    assert point.rules == load_rules("classic", {"players": 3, "draw.count": 2})
    assert [str(bot) for bot in point.bots] == ["greedy", "random", "random"]


def test_a_design_is_factorial_and_the_last_factor_varies_fastest() -> None:
    points = design_points(experiment(vary={"players": [2, 3], "draw.count": [1, 2], "bots": ["random", "greedy"]}))
    assert [tuple(point.factors.values()) for point in points] == [
        (players, count, bots) for players in (2, 3) for count in (1, 2) for bots in ("random", "greedy")
    ]
    assert list(points[0].factors) == ["players", "draw.count", "bots"]
    for point in points:
        assert point.rules.players == len(point.bots) == point.factors["players"]
        assert point.rules.draw.count == point.factors["draw.count"]
        assert {bot.name for bot in point.bots} == {point.factors["bots"]}


def test_levels_that_are_lists_are_labelled_by_their_text() -> None:
    points = design_points(experiment(vary={"deals": [[8, 7], [5]], "wild": [[], ["8", "9"]]}))
    assert [point.factors for point in points[1:3]] == [
        {"deals": "[8, 7]", "wild": '["8", "9"]'},
        {"deals": "[5]", "wild": "[]"},
    ]
    assert points[3].rules.deals == (5,)
    assert points[3].rules.wild == ("8", "9")


def test_bots_of_a_varied_table_must_fit_each_size() -> None:
    with pytest.raises(BotError, match="2 bots for 3 players"):
        design_points(experiment(bots="random,greedy", vary={"players": [2, 3]}))


def test_an_impossible_design_point_is_refused() -> None:
    with pytest.raises(RulesError, match="players = 7"):
        design_points(experiment(vary={"players": [4, 7]}))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"vary": {"players": []}}, r"vary.players = \[\]: allowed are .* two or more values"),
        ({"vary": {"players": 3}}, r"vary.players = 3"),
        ({"vary": {"players": [2, 3, 2]}}, r"vary.players = \[2, 3, 2\] has the same value twice"),
        ({"vary": {"players": [2]}, "players": 3}, "players is both given and varied"),
        ({"vary": {"bots": ["random"]}, "bots": "greedy"}, "bots is both given and varied"),
        (
            {"vary": {"match": ["suit_or_rank"]}, "set": {"match": "suit_or_color"}},
            "match is both given and varied",
        ),
        ({"vary": {"players": [2]}}, r"vary.players = \[2\] has one level: set players to it"),
        ({"gmaes": 10}, 'gmaes: no such key.*did you mean "games"'),
        ({"games": -5}, "games = -5: allowed are whole numbers from 1 to 10,000,000,000"),
        ({"games": "many"}, 'games = "many": allowed are whole numbers'),
        ({"seed": 2**64}, "seed = 18446744073709551616: allowed are"),
        ({"players": 1}, "players = 1: allowed are whole numbers from 2 to 10"),
        ({"players": True}, "players = true"),
        ({"level": 95}, "level = 95: allowed are numbers above 0.5 and below 1"),
        ({"margin": 0}, "margin = 0: allowed are numbers above 0"),
        ({"options": {"seconds_per_turn": "slow"}}, 'options.seconds_per_turn = "slow"'),
        ({"bots": ["random"]}, r'bots = \["random"\]: allowed are texts'),
        ({"name": "../elsewhere"}, 'name = "../elsewhere": allowed are folder names'),
        ({"name": ".hidden"}, "name = "),
        ({"name": "x" * 101}, "name = "),
        ({"name": "a\n"}, "name = "),
        ({"set": 3}, "set = 3: allowed are tables"),
    ],
)
def test_a_wrong_value_is_named_with_its_key_and_what_is_allowed(values: dict[str, Any], message: str) -> None:
    with pytest.raises(DesignError, match=message) as error:
        make_experiment({"name": "try", "study": "seats", **values}, source="house.toml")
    assert str(error.value).startswith("house.toml: ")
    assert "\n" not in str(error.value)


def test_more_design_points_than_allowed_are_not_expanded() -> None:
    large = experiment(vary={"turn_cap": list(range(1, 1002))})
    with pytest.raises(DesignError, match="1,001 design points: allowed are up to 1,000"):
        design_points(large)
    with pytest.raises(DesignError, match="2 design points: allowed are up to 1 "):
        design_points(experiment(vary={"players": [2, 3]}), max_points=1)


def test_a_missing_study_is_named() -> None:
    with pytest.raises(DesignError, match="study is missing: allowed are the studies"):
        make_experiment({"name": "try"})


def test_varied_bots_are_texts() -> None:
    with pytest.raises(DesignError, match=r"vary.bots = 3: allowed are texts"):
        design_points(experiment(vary={"bots": [3, 4]}))


def test_an_unknown_factor_is_refused_with_the_nearest_field() -> None:
    with pytest.raises(RulesError, match=r'did you mean "draw\.count"'):
        design_points(experiment(vary={"draw.cuont": [1, 2]}))


# --- Files ---


def test_an_experiment_file_is_called_after_itself(tmp_path: Path) -> None:
    loaded = load_experiment(write(tmp_path, 'study = "seats"\n', name="who-wins.toml"))
    assert loaded.name == "who-wins"
    assert (loaded.rules, loaded.bots, loaded.games, loaded.level) == ("classic", "random", 100_000, 0.95)


def test_dotted_keys_mean_the_same_with_and_without_quotation_marks(tmp_path: Path) -> None:
    plain = write(tmp_path, 'study = "seats"\n[set]\ndraw.count = 2\n[vary]\nannounce.cards = [0, 2]\n')
    quoted = write(
        tmp_path,
        'name = "try"\nstudy = "seats"\n[set]\n"draw.count" = 2\n[vary]\n"announce.cards" = [0, 2]\n',
        "b",
    )
    assert load_experiment(plain) == load_experiment(quoted)


def test_a_rules_file_is_looked_for_beside_the_experiment(tmp_path: Path) -> None:
    write(tmp_path, "draw.count = 3\n", name="house.toml")
    loaded = load_experiment(write(tmp_path, 'study = "seats"\nrules = "house.toml"\n'))
    assert design_points(loaded)[0].rules.draw.count == 3


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'study = "seats', "is no TOML file"),
        (b"\xff\xfe", "is no TOML file"),
        (b"a = " + b"[" * 100_000, "is no TOML file"),
        (b'study = "seats"\ngame = 5', 'game: no such key; keys are .*did you mean "games"'),
    ],
)
def test_a_damaged_file_is_named(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "broken.toml"
    path.write_bytes(content)
    with pytest.raises(DesignError, match=message) as error:
        load_experiment(path)
    assert str(path) in str(error.value)


def test_a_missing_file_and_a_folder_are_named(tmp_path: Path) -> None:
    for path in (tmp_path / "none.toml", tmp_path):
        with pytest.raises(DesignError, match="there is no such file"):
            load_experiment(path)


levels = st.one_of(
    st.lists(st.integers(), min_size=2, max_size=4, unique=True),
    st.lists(st.text(max_size=8), min_size=2, max_size=4, unique=True),
    st.lists(st.lists(st.integers(), max_size=3), min_size=2, max_size=3, unique_by=str),
)
keys = st.text("abcdefg.é\"' _", min_size=1, max_size=8).filter(lambda key: key not in ("players", "bots"))


@given(
    values=st.fixed_dictionaries(
        {
            "aim": st.text(),
            "games": st.integers(GAMES.low, GAMES.high),
            "seed": st.integers(SEED.low, SEED.high),
        },
        optional={
            "players": st.integers(2, 10),
            "bots": st.text(max_size=20),
            "level": st.floats(0.51, 0.999),
            "margin": st.floats(0.001, 100),
            "vary": st.dictionaries(keys.map(lambda key: f"v{key}"), levels, max_size=3),
            "set": st.dictionaries(
                keys.map(lambda key: f"s{key}"), st.integers() | st.text() | st.booleans(), max_size=3
            ),
            "options": st.dictionaries(keys, st.floats(0, 1e6), max_size=2),
        },
    )
)
def test_an_experiment_written_and_read_again_is_the_same(tmp_path_factory: Any, values: dict[str, Any]) -> None:
    written = experiment(**values)
    path = tmp_path_factory.getbasetemp() / "round-trip.toml"
    path.write_text(written.to_toml(), encoding="utf-8", newline="\n")
    assert load_experiment(path) == written


# --- Factors on the command line ---


def test_factors_are_read_like_toml_lists_with_or_without_quotation_marks() -> None:
    assert parse_vary(["players=[2,3,4]", 'bots=["random","greedy"]', "match = [suit_or_rank, suit_or_color]"]) == {
        "players": [2, 3, 4],
        "bots": ["random", "greedy"],
        "match": ["suit_or_rank", "suit_or_color"],
    }


@pytest.mark.parametrize("text", ["players", "players=3", "=[1]", "players=", "players=[2\nseed=[3]"])
def test_a_factor_in_another_form_is_refused(text: str) -> None:
    with pytest.raises(DesignError, match=r"factors are written KEY=\[V1, V2, ...\]"):
        parse_vary([text])


def test_a_factor_given_twice_is_refused() -> None:
    with pytest.raises(DesignError, match="--vary players is given twice"):
        parse_vary(["players=[2]", "players=[3]"])


# --- Captions ---


def test_a_caption_says_what_was_played() -> None:
    one = experiment(games=5000, seed=7)
    digest = load_rules("classic").digest
    assert (
        caption(one, design_points(one)) == f"5,000 games · seed 7 · 4 players · bots random · rules classic ({digest})"
    )
    many = experiment(games=5000, vary={"players": [2, 3], "draw.count": [1, 2], "bots": ["random", "greedy"]})
    assert caption(many, design_points(many)) == (
        "5,000 games at each design point · seed 1 · 2, 3 players · bots random / greedy · rules classic · "
        "varied: draw.count"
    )
