"""Rules: the fields and their checks, rules files, presets, and the digest."""

import json
import pickle
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from craits_sim.bots import parse_bots
from craits_sim.cards import RANKS
from craits_sim.rules import (
    ABILITIES,
    FIELDS,
    GROUPS,
    INERT,
    NAMES,
    RULESETS,
    Ability,
    Rules,
    RulesError,
    canonical_rules,
    differences,
    json_schema,
    load_rules,
    parse_changes,
    preset_names,
)
from craits_sim.text import toml_value
from tests.naive import play_game

ABILITY_TEXTS = st.tuples(st.sampled_from(ABILITIES), st.integers(1, 15)).map(
    lambda pair: re.sub("[KV]", str(pair[1]), pair[0])
)
LINES = st.text(st.characters(exclude_categories=["C", "Z"]) | st.just(" "), max_size=60)
RANK_LISTS = st.lists(st.sampled_from(RANKS), max_size=12)


def values_of(key: str) -> st.SearchStrategy[Any]:
    """Give the values of a field, the numbers within the bounds that users are told."""
    irregular: dict[str, st.SearchStrategy[Any]] = {
        "name": LINES.filter(bool),
        "description": LINES,
        "deals": st.lists(st.integers(1, 8), min_size=1, max_size=4),
        "first_dealer": st.integers(0, 1) | st.just("random"),
        "starter.redraw": RANK_LISTS,
        "wild": RANK_LISTS,
        "partners": st.just(False),
    }
    if key in irregular:
        return irregular[key]
    if key.startswith("abilities."):
        return ABILITY_TEXTS
    field = FIELDS[key]
    if field.choices:
        words = {"true": True, "false": False}
        return st.sampled_from([words.get(choice, choice) for choice in field.choices])
    bounds = re.fullmatch(r"whole numbers from (-?[\d,]+) to ([\d,]+)", field.allowed)
    assert bounds
    low, high = (int(bound.replace(",", "")) for bound in bounds.groups())
    return st.integers(low, high)


@st.composite
def changes(draw: st.DrawFn, keys: tuple[str, ...] = tuple(FIELDS)) -> dict[str, Any]:
    """Give changes of some fields that make possible rules."""
    chosen = draw(st.lists(st.sampled_from(keys), unique=True, max_size=12))
    changed = {key: draw(values_of(key)) for key in chosen}
    try:
        Rules().with_changes(changed)
    except RulesError as error:
        assume("what fits" not in str(error))
        raise
    return changed


def problem(changed: Mapping[str, object], base: str = "classic") -> str:
    with pytest.raises(RulesError) as raised:
        load_rules(base, changed)
    message = str(raised.value)
    assert "\n" not in message
    assert "nput should" not in message
    return message


def file_problem(path: Path) -> str:
    with pytest.raises(RulesError) as raised:
        load_rules(path)
    message = str(raised.value)
    assert "\n" not in message
    return message


# --- Fields ---------------------------------------------------------------------------------------------------------


def test_the_default_of_every_field_is_classic() -> None:
    assert load_rules("classic") == Rules()


def test_attributes_are_the_dotted_keys() -> None:
    rules = Rules()
    assert rules.draw.count == 1
    assert rules.deals == (8, 7, 6, 5, 4, 3, 2, 1, 2, 3, 4, 5, 6, 7, 8)
    assert rules.starter.redraw == ()
    assert rules.abilities["7"] == Ability("next_draws", 1, lose_turn=False)
    assert rules.points["8"] == 50
    assert list(rules.by_key()) == list(FIELDS)


def test_every_field_says_what_it_means_in_a_sentence_with_its_section() -> None:
    for key, field in FIELDS.items():
        assert re.fullmatch(r"[A-Z].*\.", field.sentence), key
        assert key in NAMES or re.fullmatch(r'R([1-9]|1[0-8])|"Abilities"', field.section), key
        assert field.allowed, key


def test_rules_cannot_be_changed() -> None:
    rules: Any = Rules()
    with pytest.raises(ValidationError):
        rules.players = 3
    with pytest.raises(ValidationError):
        rules.draw.count = 2
    with pytest.raises(TypeError):
        rules.points["8"] = 1


@given(changes())
def test_equal_rules_have_equal_hashes_and_digests_and_survive_a_pickle(changed: dict[str, Any]) -> None:
    rules, again = Rules().with_changes(changed), Rules().with_changes(changed)
    assert rules.digest == again.digest
    copy = pickle.loads(pickle.dumps(rules))
    assert rules == again == copy
    assert hash(rules) == hash(again) == hash(copy)


@given(changes())
def test_changes_change_what_they_say_and_nothing_else(changed: dict[str, Any]) -> None:
    rules = Rules().with_changes(changed)
    before, after = Rules().by_key(), rules.by_key()
    for key in FIELDS:
        if key in ("wild", "starter.redraw") and key in changed:
            assert set(after[key]) == set(changed[key])
        else:
            assert after[key] == changed.get(key, before[key])
    assert rules.with_changes({}) == rules


def test_changes_may_be_nested_or_dotted() -> None:
    nested = {"draw": {"count": 2}, "points": {"8": 40}, "abilities": {"9": "nominate"}}
    dotted = {"draw.count": 2, "points.8": 40, "abilities.9": Ability("nominate")}
    assert Rules().with_changes(nested) == Rules().with_changes(dotted)


def test_rules_made_directly_leave_what_they_do_not_say_classic() -> None:
    assert Rules(points={"8": 40}).by_key() == load_rules("classic", {"points.8": 40}).by_key()  # type: ignore[arg-type]
    with pytest.raises(ValidationError):
        Rules(points={"X": 40})  # type: ignore[arg-type]


def test_ranks_may_be_numbers_and_their_order_and_repetition_mean_nothing() -> None:
    rules = Rules().with_changes({"wild": [9, "8", "j", 9], "starter.redraw": [10]})
    assert rules.wild == ("8", "9", "J")
    assert rules.starter.redraw == ("10",)


@given(ABILITY_TEXTS)
def test_every_ability_survives_its_text(text: str) -> None:
    assert str(Ability.parse(text)) == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "skip",
        "skip:0",
        "skip:16",
        "skip:01",
        "skip:-1",
        "skip:1.5",
        "skip:1,lose_turn",
        "again:1",
        "none:0",
        "next_draws:1,lose",
        "next_draws,lose_turn",
        "Skip:1",
        "skip:1 skip:2 again",
        "skip:²",
    ],
)
def test_no_other_text_is_an_ability(text: str) -> None:
    assert problem({"abilities.4": text}).startswith(
        f"abilities.4 = {toml_value(text)}: allowed are none, crank_start:V, "
    )


# --- Checks ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"draw.play_drawn": "maybe"}, 'draw.play_drawn = "maybe": allowed are no, may, must; did you mean "may"?'),
        ({"players": 1}, "players = 1: allowed are whole numbers from 2 to 10"),
        ({"players": 11}, "players = 11: allowed are whole numbers from 2 to 10"),
        ({"players": "4"}, 'players = "4": allowed are whole numbers from 2 to 10'),
        ({"players": 4.0}, "players = 4.0: allowed are whole numbers from 2 to 10"),
        ({"players": True}, "players = true: allowed are whole numbers from 2 to 10"),
        ({"players": {"x": 1}}, 'players = {"x" = 1}: allowed are whole numbers from 2 to 10'),
        ({"decks": 3}, "decks = 3: allowed are whole numbers from 1 to 2"),
        ({"deals": []}, "deals = []: allowed are lists of 1 to 1000 hand sizes, like [8, 7, 6]"),
        ({"deals": 7}, "deals = 7: allowed are lists of 1 to 1000 hand sizes, like [8, 7, 6]"),
        ({"deals": [3, 0]}, "item 2 of deals = 0: allowed are whole numbers of at least 1"),
        (
            {"draw.until_playable": "True"},
            'draw.until_playable = "True": allowed are true, false; did you mean "true"?',
        ),
        ({"draw.until_playable": 1}, "draw.until_playable = 1: allowed are true, false"),
        ({"draw.count": 53}, "draw.count = 53: allowed are whole numbers from 1 to 52"),
        ({"draw.limit": 105}, "draw.limit = 105: allowed are whole numbers from 0 to 104"),
        ({"announce.cards": 53}, "announce.cards = 53: allowed are whole numbers from 0 to 52"),
        ({"stock.pressure": -1}, "stock.pressure = -1: allowed are whole numbers from 0 to 10,000"),
        ({"stock.pressure_factor": 0}, "stock.pressure_factor = 0: allowed are whole numbers from 1 to 10"),
        ({"threes.bonus": 10_001}, "threes.bonus = 10001: allowed are whole numbers from -10,000 to 10,000"),
        ({"points.8": -10_001}, "points.8 = -10001: allowed are whole numbers from -10,000 to 10,000"),
        ({"turn_cap": 0}, "turn_cap = 0: allowed are whole numbers from 1 to 1,000,000"),
        ({"wild": "8"}, 'wild = "8": allowed are lists of ranks, like ["8", "9"]'),
        ({"wild": ["8", "X"]}, 'item 2 of wild = "X": allowed are A, 2, 3, 4, 5, 6, 7, 8, 9, 10, J, Q, K'),
        ({"wild": [True]}, "item 1 of wild = true: allowed are A, 2, 3, 4, 5, 6, 7, 8, 9, 10, J, Q, K"),
        (
            {"first_dealer": "randm"},
            'first_dealer = "randm": allowed are random, or a seat: 0, 1, ...; did you mean "random"?',
        ),
        ({"first_dealer": -1}, "first_dealer = -1: allowed are random, or a seat: 0, 1, ..."),
        ({"name": ""}, 'name = "": allowed are texts of one line, of 1 to 60 characters'),
        ({"name": "a\nb"}, 'name = "a\\u000ab": allowed are texts of one line, of 1 to 60 characters'),
    ],
)
def test_a_bad_value_is_named_with_what_is_allowed_and_the_nearest_match(
    changed: dict[str, object], message: str
) -> None:
    assert problem(changed) == message


@pytest.mark.parametrize(
    ("text", "near"), [("skip", "skip:1"), ("skpi:3", "skip:3"), ("again:2", "again"), ("reverze", "reverse")]
)
def test_a_bad_ability_comes_with_the_nearest_one_and_keeps_its_amount(text: str, near: str) -> None:
    assert problem({"abilities.9": text}).endswith(f'did you mean "{near}"?')


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ("draw.cuont", 'draw.cuont: no such key; allowed in draw are draw.count, .*; did you mean "draw.count"?'),
        ("count", 'count: no such key; allowed are name, .*, draw.\\*, .*; did you mean "draw.count"?'),
        ("playrs", 'playrs: no such key; allowed are .*; did you mean "players"?'),
        ("points.j", 'points.j: no such key; allowed in points are points.A, .*; did you mean "points.J"?'),
        ("draw", "draw = 1: draw is a group of fields: draw.count, draw.until_playable, .*"),
        ("players.x", 'players.x: no such key; allowed are .*; did you mean "players"?'),
        ("base", "base: only a rules file has a base; .*"),
        ("a\nb", '"a\\\\u000ab": no such key; .*'),
    ],
)
def test_an_unknown_key_comes_with_the_nearest_one(key: str, message: str) -> None:
    assert re.fullmatch(message.replace("?", "\\?"), problem({key: 1}))


def test_a_field_given_twice_is_refused() -> None:
    assert problem({"draw": {"count": 1}, "draw.count": 2}) == "draw.count: given twice"


def test_players_times_largest_deal_plus_1_must_not_be_more_than_the_cards() -> None:
    assert load_rules("classic", {"players": 6}).players == 6
    assert load_rules("classic", {"players": 10, "decks": 2}).decks == 2
    assert problem({"players": 7}) == (
        "players = 7: 7 x 8 cards and the starter make 57, and decks = 1 has 52 (RULES.md R1); "
        "what fits: deals of at most 7, or at most 6 players, or decks = 2"
    )
    assert problem({"players": 10, "deals": [11], "decks": 2}).endswith(
        "what fits: deals of at most 10, or at most 9 players"
    )
    assert problem({"players": 2, "deals": [60]}).endswith("what fits: deals of at most 25")


@given(players=st.integers(2, 10), decks=st.integers(1, 2), deal=st.integers(1, 60))
def test_what_is_said_to_fit_does_fit(players: int, decks: int, deal: int) -> None:
    changed = {"players": players, "decks": decks, "deals": [deal]}
    if players * deal + 1 <= 52 * decks:
        assert load_rules("classic", changed).deals == (deal,)
        return
    fitting = problem(changed).partition("what fits: ")[2]
    readings = {"deals of at most": "deals", "at most": "players", "decks =": "decks"}
    for words, number in re.findall(r"(deals of at most|at most|decks =) (\d+)", fitting):
        key = readings[words]
        value: object = [int(number)] if key == "deals" else int(number)
        load_rules("classic", {**changed, key: value})
        if key != "decks":
            problem({**changed, key: [int(number) + 1] if key == "deals" else int(number) + 1})


def test_fields_that_limit_one_another_are_checked_together() -> None:
    assert problem({"partners": True, "players": 3}) == "partners = true: allowed with 4 players, and players = 3"
    assert problem({"first_dealer": 4}) == "first_dealer = 4: 4 players have the seats 0 to 3"
    assert "with every rank put back there is no starter" in problem({"starter.redraw": list(RANKS)})
    assert load_rules("classic", {"players": 5, "first_dealer": 4}).first_dealer == 4


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@given(key=st.sampled_from([*FIELDS, *GROUPS]) | st.text(max_size=8), value=JUNK)
def test_any_value_is_taken_or_refused_in_one_line(key: str, value: object) -> None:
    message = ""
    try:
        Rules().with_changes({key: value})
    except RulesError as error:
        message = str(error)
    assert "\n" not in message
    assert "nput should" not in message


# --- KEY=VALUE ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("draw.count=2", 2),
        (" draw.count = 2 ", 2),
        ("points.3=-50", -50),
        ("draw.until_playable=true", True),
        ("match=suit_or_color", "suit_or_color"),
        ('match="suit_or_color"', "suit_or_color"),
        ("abilities.9=nominate", "nominate"),
        ("abilities.7=next_draws:2,lose_turn", "next_draws:2,lose_turn"),
        ("deals=[7]", [7]),
        ('wild=["8","9"]', ["8", "9"]),
        ("wild=[8, J]", [8, "J"]),
        ("wild=[]", []),
        ("levels=[[8], [8, J]]", [[8], [8, "J"]]),
        ("levels=[true, none]", [True, "none"]),
        ("bots=[random:forget=0.5, greedy]", ["random:forget=0.5", "greedy"]),
        ("draw={count=2}", {"count": 2}),
        ("name=", ""),
        ("name=a = b", "a = b"),
        ("name=1\nplayers = 3", "1\nplayers = 3"),
        ("wild=[8", "[8"),
    ],
)
def test_a_value_is_toml_or_else_plain_text(setting: str, value: object) -> None:
    assert list(parse_changes([setting]).values()) == [value]


def test_the_last_value_of_a_key_counts() -> None:
    assert parse_changes(["draw.count=2", "players=3", "draw.count=3"]) == {"draw.count": 3, "players": 3}


@pytest.mark.parametrize("setting", ["draw.count", "=2", ""])
def test_a_change_without_key_or_value_is_refused(setting: str) -> None:
    with pytest.raises(RulesError, match="changes are written KEY=VALUE, like draw"):
        parse_changes([setting])


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_every_text_survives_as_a_toml_value_of_one_line(text: str) -> None:
    written = toml_value(text)
    assert tomllib.loads(f"value = {written}") == {"value": text}
    assert written.isprintable()


@given(changes())
def test_every_change_survives_its_text(changed: dict[str, Any]) -> None:
    settings_ = [f"{key}={toml_value(value)}" for key, value in changed.items()]
    assert load_rules("classic", parse_changes(settings_)) == load_rules("classic", changed)


# --- Files ----------------------------------------------------------------------------------------------------------


@given(changed=changes(), base=st.sampled_from(["classic", "crazy_eights", "short"]))
@settings(deadline=None)
def test_every_rule_set_survives_its_file(
    tmp_path_factory: pytest.TempPathFactory, changed: dict[str, Any], base: str
) -> None:
    start = load_rules(base)
    rules = start.with_changes({"players": 2, "decks": 2} | changed)
    path = tmp_path_factory.mktemp("rules") / "any.toml"
    path.write_text(rules.to_toml(start, base), encoding="utf-8")
    assert load_rules(path) == rules


def test_a_written_file_says_only_what_differs_each_below_its_sentence() -> None:
    base = load_rules("short")
    text = base.with_changes({"draw.count": 2, "name": "mine"}).to_toml(base, "short")
    assert text == (
        f'name = "mine"\ndescription = "{base.description}"\nbase = "short"\n\n'
        "# Cards that a player draws who cannot play (RULES.md R9).\ndraw.count = 2\n"
    )


def test_a_file_may_write_tables_dotted_keys_and_quoted_keys(tmp_path: Path) -> None:
    path = tmp_path / "house.toml"
    path.write_text(
        'stock.pressure = 5\n"points.8" = 40\n"draw.count" = 2\n[draw]\nlimit = 3\n[abilities]\n9 = "none"\n'
    )
    rules = load_rules(path)
    assert rules == Rules().with_changes(
        {
            "name": "house",
            "description": "",
            "stock.pressure": 5,
            "points.8": 40,
            "draw.count": 2,
            "draw.limit": 3,
            "abilities.9": "none",
        }
    )


def test_a_base_is_a_preset_or_a_path_from_the_files_folder(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "outer.toml").write_text('base = "short"\ndraw.count = 2\n')
    (tmp_path / "inner" / "inner.toml").write_text('base = "../outer.toml"\nplayers = 3\n')
    rules = load_rules(tmp_path / "inner" / "inner.toml", {"decks": 2})
    assert set(differences(rules, load_rules("short"))) == {"draw.count", "players", "decks"}
    assert rules.name == "inner"


def test_an_error_names_the_file_and_the_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("house.toml").write_text('[draw]\nplay_drawn = "maybe"\n')
    expected = 'house.toml: draw.play_drawn = "maybe": allowed are no, may, must; did you mean "may"?'
    assert file_problem(Path("house.toml")) == expected
    Path("user.toml").write_text('base = "house.toml"\n')
    assert file_problem(Path("user.toml")) == f'user.toml: base = "house.toml": {expected}'


def test_an_error_of_a_change_does_not_blame_the_file(tmp_path: Path) -> None:
    (tmp_path / "house.toml").write_text("")
    assert problem({"players": 0}, str(tmp_path / "house.toml")).startswith("players = 0: allowed")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"players = \n", "damaged TOML: Invalid value (at line 1, column 11)"),
        (b"players = 3\nplayers = 4\n", "damaged TOML: Cannot overwrite a value (at line 2, column 12)"),
        (b"x = " + b"[" * 10_000, "damaged TOML: "),
        (b"players = 1" + b"0" * 5000, "damaged TOML: "),
        (b'name = "\xe9"\n', "not UTF-8 text, from byte 8 on"),
        (b"base = 3\n", "base = 3: allowed are classic, "),
        (b'base = "shrot"\n', 'base = "shrot": '),
        (b'base = "\\u0000"\n', 'base = "\\u0000": '),
        (b'"draw.count" = 2\n[draw]\ncount = 2\n', "draw.count: given twice"),
        (b"players = 1979-05-27\n", "players = 1979-05-27: allowed are whole numbers from 2 to 10"),
        (b"[[players]]\n", "players = [{}]: allowed are whole numbers from 2 to 10"),
    ],
)
def test_a_damaged_file_is_told_in_one_line(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "house.toml"
    path.write_bytes(content)
    assert file_problem(path).startswith(f"{path}: {message}")


def test_a_missing_file_is_told_with_the_presets_and_the_nearest_one(tmp_path: Path) -> None:
    presets = ", ".join(preset_names())
    expected = f'clasic: no such rules file; presets are {presets}; did you mean "classic"?'
    assert file_problem(Path("clasic")) == expected
    assert file_problem(tmp_path / "wki.toml").endswith(f'presets are {presets}; did you mean "wiki"?')
    assert file_problem(tmp_path) == f"{tmp_path}: a folder, not a rules file"
    assert "cannot be read: " in file_problem(Path("x" * 5000))


def test_bases_that_go_round_in_a_circle_are_found(tmp_path: Path) -> None:
    folder = tmp_path / "d"
    folder.mkdir()
    (folder / "self.toml").write_text('base = "../d/self.toml"\n')
    assert file_problem(folder / "self.toml").endswith("self.toml: it builds on itself")
    (folder / "a.toml").write_text('base = "b.toml"\n')
    (folder / "b.toml").write_text('base = "a.toml"\n')
    assert file_problem(folder / "a.toml").endswith(f'base = "a.toml": {folder / "a.toml"}: it builds on itself')


def test_a_file_with_a_byte_order_mark_or_windows_line_ends_is_read(tmp_path: Path) -> None:
    path = tmp_path / "house.toml"
    path.write_bytes(b"\xef\xbb\xbfplayers = 3\r\ndecks = 2\r\n")
    assert load_rules(path).players == 3


def test_the_schema_knows_every_key_and_takes_every_preset() -> None:
    schema = json_schema()
    keys = set()
    for name, entry in schema["properties"].items():
        inner = schema["$defs"][entry["$ref"].rpartition("/")[2]] if "$ref" in entry else entry
        keys |= {f"{name}.{key}" for key in inner.get("properties", {})} or {name}
        assert inner["description"], name
    assert keys == {*FIELDS, "base"}
    pattern = schema["properties"]["abilities"]["properties"]["7"]["pattern"]
    assert all(re.search(pattern, text) for text in load_rules("classic").by_key().values() if text == "next_draws:1")
    assert not re.search(pattern, "skip:16")
    json.dumps(schema)


# --- Presets --------------------------------------------------------------------------------------------------------

ORDINARY = {f"abilities.{rank}": "none" for rank in ("A", "2", "4", "5", "6", "7", "9", "10")}
FACE_VALUES = {f"points.{rank}": int(rank) for rank in RANKS if rank.isdigit() and rank != "8"}
CRAZY_EIGHTS: dict[str, object] = {
    **ORDINARY,
    **FACE_VALUES,
    "deals": [5],
    "starter.redraw": ["8"],
    "win": "first_out",
    "draw.until_playable": True,
    "draw.limit": 5,
    "draw.play_drawn": "must",
    "announce.cards": 0,
    "announce.lose_turn": False,
    "stock.reshuffle": False,
    "threes.mode": "none",
}
PRESETS: dict[str, dict[str, object]] = {
    "classic": {},
    "short": {"deals": [8, 7, 6, 5, 4, 3, 2, 1]},
    "wiki": {"wild": ["8", "9"], "stock.pressure": 5},
    "crazy_eights": CRAZY_EIGHTS,
    "crazy_eights_special": {
        **{key: value for key, value in CRAZY_EIGHTS.items() if key not in ("stock.reshuffle", "abilities.2")},
        "abilities.A": "reverse",
        "abilities.Q": "skip:1",
    },
    "last_card_house": {
        "draw.until_playable": True,
        "draw.play_drawn": "may",
        "abilities.7": "next_draws:1,lose_turn",
        "reverse.two_players": "skip",
    },
    "partners": {"partners": True},
}


def test_the_presets_are_those_of_the_rules_page() -> None:
    assert set(preset_names()) == set(PRESETS)
    assert preset_names()[0] == "classic"


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_differs_from_classic_as_the_rules_page_says(name: str) -> None:
    preset = load_rules(name)
    assert {key: value for key, (value, _) in differences(preset, Rules()).items()} == PRESETS[name]
    assert preset.name == name
    assert preset.description


def test_no_two_presets_have_the_same_digest() -> None:
    assert len({load_rules(name).digest for name in preset_names()}) == len(PRESETS)


def preset_table(name: str) -> dict[str, Any]:
    """Give what the file of a preset says, by dotted key."""
    flat: dict[str, Any] = {}
    for key, value in tomllib.loads((RULESETS / f"{name}.toml").read_text(encoding="utf-8")).items():
        flat |= {f"{key}.{inner}": item for inner, item in value.items()} if isinstance(value, dict) else {key: value}
    return flat


def test_the_classic_file_says_every_field() -> None:
    assert set(preset_table("classic")) == set(FIELDS)


@pytest.mark.parametrize("name", [name for name in PRESETS if name != "classic"])
def test_a_preset_file_says_only_what_differs_from_its_base(name: str) -> None:
    table = preset_table(name)
    base = load_rules(table.pop("base")).by_key()
    assert {key for key, value in table.items() if base[key] == value} == set()


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_gives_the_source_of_each_key_beside_it(name: str) -> None:
    table = above = ""
    for line in (RULESETS / f"{name}.toml").read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            table = line
        elif re.match(r"(?!name|description|base)[\w.]+ = ", line):
            assert "#" in line or "#" in table or above.startswith("#"), line
        above = line


def test_wiki_for_more_players_than_one_deck_serves_is_told_about_two_decks() -> None:
    assert problem({"players": 8}, "wiki").endswith("or decks = 2")
    assert load_rules("wiki", {"players": 8, "decks": 2}).players == 8


# --- The digest -----------------------------------------------------------------------------------------------------

OTHER_VALUES: dict[str, list[object]] = {
    "players": [2, 3, 5],
    "decks": [2],
    "deals": [[8], [7], [7, 8]],
    "first_dealer": [0, 3],
    "starter.redraw": [["8"], ["2", "8"]],
    "wild": [[], ["9"], ["8", "9"]],
    "draw.count": [2, 3],
    "announce.cards": [0, 1, 3],
    "stock.pressure": [1, 5],
    "draw.limit": [2, 3, 7],
    "threes.bonus": [-25, 50],
    "turn_cap": [100, 4999],
}
LIVE_BESIDE: dict[str, dict[str, object]] = {
    "draw.limit": {"draw.until_playable": True},
    "stock.pressure_factor": {"stock.pressure": 5},
    "points.3": {"threes.mode": "none"},
    "reverse.two_players": {"players": 2},
}
"""Other rules that a field needs to mean something."""


def other_values(key: str) -> list[object]:
    if key in OTHER_VALUES:
        return OTHER_VALUES[key]
    current = Rules().by_key()[key]
    if key.startswith("abilities."):
        values: list[object] = [re.sub("[KV]", amount, text) for text in ABILITIES for amount in "12"]
    elif FIELDS[key].choices:
        values = [{"true": True, "false": False}.get(choice, choice) for choice in FIELDS[key].choices]
    else:
        values = [1, 3, 7]
    # Without its only start a crank is no crank: a 2 that is crank:V is as good as none.
    idle = ["crank:1", "crank:2"] if key == "abilities.2" else []
    return [value for value in dict.fromkeys(values) if value not in (current, *idle)]


@pytest.mark.parametrize("key", [key for key in FIELDS if key not in NAMES])
def test_each_other_value_of_a_field_has_a_digest_of_its_own(key: str) -> None:
    base = Rules().with_changes(LIVE_BESIDE.get(key, {}))
    values = other_values(key)
    digests = {base.digest, *(base.with_changes({key: value}).digest for value in values)}
    assert len(digests) == 1 + len(values)


def test_no_two_changes_of_one_field_have_the_same_digest() -> None:
    digests = [
        Rules().with_changes(LIVE_BESIDE.get(key, {}) | {key: value}).digest
        for key in FIELDS
        if key not in NAMES
        for value in other_values(key)
    ]
    assert len(set(digests)) == len(digests)


WITHOUT_CRANKS: dict[str, object] = {"abilities.2": "none"}
WITHOUT_ABILITIES: dict[str, object] = {f"abilities.{rank}": "none" for rank in RANKS}
SAME: list[tuple[dict[str, object], dict[str, object]]] = [
    ({}, {"name": "mine"}),
    ({}, {"description": "Something else."}),
    ({"deals": [8]}, {"next_dealer": "winner"}),
    (WITHOUT_CRANKS, {"abilities.A": "crank:7"}),
    (WITHOUT_CRANKS, {"abilities.A": "none"}),
    (WITHOUT_CRANKS | {"match": "suit_or_ability"}, {"abilities.A": "crank:7"}),
    (
        WITHOUT_CRANKS | {"match": "suit_or_ability", "abilities.A": "crank:2", "abilities.K": "crank:1"},
        {"abilities.A": "crank:1", "abilities.K": "crank:2"},
    ),
    (WITHOUT_CRANKS, {"crank.on_last_card": "ignored"}),
    (WITHOUT_ABILITIES, {"starter.acts": False}),
    (WITHOUT_ABILITIES | {"abilities.A": "crank:1"}, {"starter.acts": False}),
    (WITHOUT_ABILITIES | {"abilities.8": "nominate", "starter.redraw": ["8"]}, {"starter.acts": False}),
    (WITHOUT_ABILITIES, {"going_out.on_ability": False}),
    (WITHOUT_ABILITIES | {"abilities.A": "crank:1"}, {"going_out.on_ability": False}),
    (
        WITHOUT_ABILITIES | {"abilities.A": "crank:1", "match": "suit_or_ability"},
        {"going_out.on_ability": False},
    ),
    ({"abilities.6": "none"}, {"going_out.again": "draws"}),
    ({"going_out.last_card": "ignored"}, {"going_out.again": "draws"}),
    ({"going_out.last_card": "ignored"}, {"crank.on_last_card": "next_pays"}),
    ({"abilities.5": "none", "abilities.7": "none"} | WITHOUT_CRANKS, {"going_out.last_card": "ignored"}),
    (
        {"abilities.5": "none", "abilities.7": "none", "crank.on_last_card": "ignored"},
        {"going_out.last_card": "ignored"},
    ),
    ({"going_out.on_ability": False, "crank.on_last_card": "ignored"}, {"going_out.last_card": "ignored"}),
    ({}, {"draw.limit": 5}),
    ({"draw.until_playable": True}, {"draw.play_drawn": "may"}),
    ({"draw.until_playable": True}, {"draw.limit": 52}),
    ({"draw.until_playable": True, "draw.limit": 2}, {"draw.limit": 2, "draw.play_drawn": "must"}),
    ({"draw.until_playable": True, "draw.limit": 2, "draw.count": 2}, {"draw.count": 9}),
    ({"draw.limit": 2, "draw.count": 2, "draw.play_drawn": "must"}, {"draw.until_playable": True}),
    ({"draw.count": 51}, {"draw.count": 52}),
    ({"announce.cards": 51}, {"announce.cards": 52}),
    ({"stock.reshuffle": False}, {"stock.pressure": 5}),
    ({"stock.reshuffle": False, "stock.pressure": 5}, {"stock.pressure_factor": 3}),
    ({}, {"stock.pressure_factor": 3}),
    ({"threes.mode": "cancel_only"}, {"threes.bonus": 0}),
    ({"threes.mode": "none"}, {"threes.bonus": 0}),
    ({"threes.bonus": 0}, {"threes.mode": "strict"}),
    ({"threes.bonus": 0}, {"threes.mode": "cancel_only"}),
    ({}, {"points.3": 30}),
    ({}, {"reverse.two_players": "skip"}),
    ({"players": 2, "abilities.10": "none"}, {"reverse.two_players": "skip"}),
    ({}, {"wild": ["8", "8"]}),
    ({"wild": ["8", "9"]}, {"wild": ["9", "8"]}),
    ({"wild": list(RANKS)}, {"match": "suit_or_color"}),
    ({f"abilities.{rank}": f"skip:{number}" for number, rank in enumerate(RANKS, 1)}, {"match": "suit_or_ability"}),
]


@pytest.mark.parametrize(("beside", "change"), SAME)
def test_a_change_that_means_nothing_leaves_the_digest(beside: dict[str, object], change: dict[str, object]) -> None:
    rules = Rules().with_changes(beside)
    changed = rules.with_changes(change)
    assert changed.digest == rules.digest
    bots = parse_bots("random:forget=0.5", rules.players)
    assert play_game(changed, bots, seed=1, game=0) == play_game(rules, bots, seed=1, game=0)


def test_every_inert_field_is_among_the_changes_that_mean_nothing() -> None:
    shown = {key.partition(".")[0] if key.startswith("abilities.") else key for _, change in SAME for key in change}
    assert {inert.key for inert in INERT} <= shown


DIFFERENT: list[tuple[dict[str, object], dict[str, object]]] = [
    ({"going_out.on_ability": False}, {"going_out.last_card": "ignored"}),  # a crank at the end is played out or not
    ({"abilities.5": "none", "abilities.7": "none"}, {"going_out.last_card": "ignored"}),  # the same
    (
        {"going_out.on_ability": False, "going_out.again": "draws"} | WITHOUT_CRANKS,
        {"going_out.last_card": "ignored"},  # a 6 passes the turn on or does not
    ),
    ({"match": "suit_or_ability"}, {"abilities.A": "none"}),  # an ace then matches J, Q, K
    (WITHOUT_CRANKS | {"match": "suit_or_ability"}, {"abilities.A": "none"}),
    (WITHOUT_CRANKS | {"match": "suit_or_ability", "abilities.K": "crank:1"}, {"abilities.A": "crank:2"}),
    ({"match": "suit_or_ability"}, {"abilities.4": "skip:2"}),
    ({"draw.until_playable": True, "draw.limit": 5}, {"draw.limit": 4}),
    ({"starter.redraw": ["2"]}, {"starter.acts": False}),
    (
        {"players": 2, "deals": [25], "starter.redraw": list(RANKS[:12])}
        | WITHOUT_ABILITIES
        | {"abilities.A": "skip:1"},
        {"starter.acts": False},
    ),  # two cards are left, and both may be of the ranks to put back
    ({"abilities.A": "crank_start:1", "abilities.2": "crank:1"}, {"abilities.2": "crank:2"}),
    ({"stock.pressure": 5, "stock.pressure_factor": 1}, {"stock.pressure_factor": 3}),
    ({"threes.mode": "bonus_only"}, {"threes.bonus": 0}),
]


@pytest.mark.parametrize(("beside", "change"), DIFFERENT)
def test_a_change_that_means_something_beside_others_changes_the_digest(
    beside: dict[str, object], change: dict[str, object]
) -> None:
    rules = Rules().with_changes(beside)
    assert rules.with_changes(change).digest != rules.digest


def test_a_digest_is_twelve_hexadecimal_digits_and_stays_the_same_for_ever() -> None:
    assert {name: load_rules(name).digest for name in preset_names()} == {
        "classic": "44136fa355b3",
        "crazy_eights": "fdd18e472274",
        "crazy_eights_special": "973db05dc54a",
        "last_card_house": "26e885f4bdda",
        "partners": "6477bc219690",
        "short": "f44fd8553ea1",
        "wiki": "f0e85ec522e5",
    }


SHORT_GAMES = tuple(key for key in FIELDS if key not in ("deals", "decks", "turn_cap", "partners"))


@given(
    changed=changes(SHORT_GAMES),
    bots=st.sampled_from(["random", "greedy", "random:forget=0.5"]),
    seed=st.integers(0, 1000),
    players=st.sampled_from([2, 3]),
)
@settings(deadline=None, max_examples=60)
def test_rules_with_the_same_digest_play_the_same_games(
    changed: dict[str, Any], bots: str, seed: int, players: int
) -> None:
    small = {"players": players, "deals": [5, 1], "turn_cap": 200, "first_dealer": 0}
    rules = Rules().with_changes(changed | small)
    canonical = canonical_rules(rules)
    assert canonical_rules(canonical) == canonical
    assert canonical.digest == rules.digest
    seats = parse_bots(bots, players)
    assert play_game(canonical, seats, seed, game=0) == play_game(rules, seats, seed, game=0)
