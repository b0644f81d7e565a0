"""Details of a batch: which turns had a choice, how large cranks get, and who pays them."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from craits_sim import runner
from craits_sim.bots import BotSpec, parse_bots
from craits_sim.design import DesignPoint
from craits_sim.encode import encode
from craits_sim.kernel import simulate_batch
from craits_sim.kernel.lanes import ENDED_CRANK, STEPS_BETWEEN
from craits_sim.kernel.simulate import play, run
from craits_sim.kernel.watch import new_watch
from craits_sim.results import CRANK_SIZES, DETAILS, Batch, Ending, empty_batch
from craits_sim.rules import Rules, RulesError, load_rules, preset_names
from craits_sim.scenario import load_scenario
from craits_sim.studies.base import Sums
from craits_sim.trace import _script
from tests.naive import Event, NaiveGame, play_game, set_up
from tests.positions import lay_out
from tests.strategies import tables
from tests.test_engines import bots_of

BOTS = ("random", "greedy", "random:forget=0.4:catch=0.5,greedy")


def cranks_told(events: Sequence[Event]) -> list[int]:
    """Read from what happened with which counts cranks ended: an event carries the count after it."""
    ended, count = [], 0
    for event in events:
        if event[6] == 0 < count:
            ended.append(count)
        count = event[6]
    return ended


def compare(rules: Rules, bots: Sequence[BotSpec], seed: int, games: int) -> Batch:
    """Play games in both engines and compare their details."""
    batch = simulate_batch(rules, bots, seed, 0, games, details=True)
    watched = simulate_batch(rules, bots, seed, 0, games, checks=True, details=True)
    plain = simulate_batch(rules, bots, seed, 0, games)
    for field in Batch._fields:
        assert np.array_equal(getattr(batch, field), getattr(watched, field)), f"{field} depends on being watched"
        if field not in DETAILS:
            assert np.array_equal(getattr(batch, field), getattr(plain, field)), f"{field} depends on details"
    for game in range(games):
        naive = play_game(rules, bots, seed, game)
        for field in DETAILS:
            assert getattr(batch, field)[game].tolist() == getattr(naive, field), f"{field} of game {game}"
        told = Counter(min(count, CRANK_SIZES - 1) for count in cranks_told(naive.events))
        assert [told[count] for count in range(CRANK_SIZES)] == naive.crank_sizes
    assert np.array_equal(batch.crank_sizes.sum(1), batch.cranks.sum(1))
    assert np.array_equal(batch.crank_paid.sum(2), batch.crank_drawn)
    assert (batch.choices <= batch.turns).all()
    return batch


# --- Both engines -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bots", BOTS)
@pytest.mark.parametrize("preset", preset_names())
def test_every_preset_has_the_same_details(preset: str, bots: str) -> None:
    rounds = 0
    for players in range(2, 6):
        try:
            rules = load_rules(preset, {"players": players})
        except RulesError:
            assert preset == "partners"
            continue
        rounds += compare(rules, bots_of(bots, players), seed=8, games=1).turns.size
    assert rounds > 0


@pytest.mark.parametrize("players", [3, 6, 10])
@pytest.mark.parametrize("bots", BOTS)
def test_two_decks_have_the_same_details(players: int, bots: str) -> None:
    rules = load_rules("classic", {"players": players, "decks": 2, "deals": [8, 4, 1]})
    compare(rules, bots_of(bots, players), seed=12, games=3)


@settings(max_examples=120, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(tables(("random", "greedy")), st.integers(0, 2**64 - 1))
def test_any_rules_have_the_same_details(table: tuple[Rules, tuple[BotSpec, ...]], seed: int) -> None:
    compare(*table, seed, games=2)


def test_turns_with_a_choice_are_counted_whatever_a_bot_refuses_to_play() -> None:
    """A seat that never plays its 8 has a choice all the same: it could."""
    compare(load_rules("classic", {"deals": [8, 5]}), bots_of("careful,random:never=8/9", 4), seed=9, games=3)


def test_cranks_that_follow_each_other_at_once_are_all_counted() -> None:
    """Cranks of one card, as short as they can be: two of them end within three steps."""
    ranks = ("A", "2", "3", "4")
    changes = {f"abilities.{rank}": "crank_start:1" for rank in ranks} | {"wild": ranks}
    batch = compare(load_rules("classic", {"players": 2, "deals": [8], **changes}), bots_of("random", 2), 1, 60)
    assert batch.cranks.max() > 5
    assert -(-STEPS_BETWEEN // 2) * int(ENDED_CRANK) <= 64


def test_cranks_may_outgrow_the_sizes_that_are_told_apart() -> None:
    """One seat then draws more cards than a small field of the large table holds."""
    abilities = {f"abilities.{rank}": "crank_start:15" for rank in ("A", "2", "3", "4", "5", "6")}
    rules = load_rules("classic", {"players": 6, "decks": 2, "deals": [5], **abilities})
    batch = compare(rules, bots_of("random", 6), 1, 40)
    assert batch.crank_sizes[:, -1].any()
    assert batch.largest_crank.max() > CRANK_SIZES
    assert batch.crank_paid.max() > CRANK_SIZES


# --- What counts --------------------------------------------------------------------------------------------


def end_of(*, turn_cap: int = 1000, changes: dict[str, Any] | None = None, **position: Any) -> NaiveGame:
    """Play a position of one round to its end in both engines, which must agree; parameters as for `lay_out`."""
    scenario = lay_out(changes={**(changes or {}), "turn_cap": turn_cap}, **position)
    played = set_up(scenario)
    played.play()
    none = [0] * played.rules.players
    game = NaiveGame(played.dealer, none.copy(), dealt=[none])  # laid out, not dealt
    game.add(played)

    loaded = load_scenario(scenario)
    rules, bots = encode(loaded.rules, loaded.bots)
    batch = empty_batch(1, 1, loaded.rules.players, details=True)
    run(rules, bots, loaded.seed, 0, batch, new_watch(rules, bots, scripted=True), _script(loaded))
    for field in DETAILS:
        assert getattr(batch, field)[0].tolist() == getattr(game, field), field
    return game


def ended(game: NaiveGame) -> list[int]:
    """List the counts with which cranks ended, in ascending order."""
    counts = [count for count, times in enumerate(game.crank_sizes) for _ in range(times)]
    assert game.largest_crank == [max(counts, default=0)]
    assert game.cranks == [len(counts)]
    return counts


def paid(game: NaiveGame) -> list[int]:
    """List the cards that each offset has drawn to pay cranks."""
    (by_offset,) = game.crank_paid
    return by_offset


def test_a_crank_ends_when_it_is_paid() -> None:
    # Seat 3 has dealt; seat 3 pays, at offset 0.
    hands = ["2S KC", "AD QD", "2C QH", "JD 4D"]
    game = end_of(starter="KS", hands=hands, stock="5C 6C 7C 10C JC QC", moves="2S AD 2C draw", turn_cap=4)
    assert (ended(game), paid(game)) == ([5], [5, 0, 0, 0])


def test_a_starter_may_be_the_beginning_of_a_crank() -> None:
    game = end_of(starter="2S", hands=["KC", "QD"], stock="5C 6C", moves="draw", turn_cap=1)
    assert (ended(game), paid(game)) == ([2], [0, 2])


def test_several_cranks_of_a_round_are_told_apart() -> None:
    hands = ["2S 2C AC 4C", "AD QD 9D"]
    stock = "5C 6C 7C 10C JC QC"
    game = end_of(starter="KS", hands=hands, stock=stock, moves="2S AD AC draw 2C draw", turn_cap=6)
    assert (ended(game), game.largest_crank, paid(game)) == ([2, 4], [4], [6, 0])


def test_a_crank_that_cannot_be_paid_in_full_ends_with_its_whole_count() -> None:
    position: dict[str, Any] = {
        "starter": "KS",
        "hands": ["2S AC 4C", "AD QD 9D"],
        "changes": {"stock.reshuffle": False},
    }
    game = end_of(**position, stock="5C", moves="2S AD AC draw", turn_cap=4)
    assert (ended(game), paid(game)) == ([4], [1, 0])
    game = end_of(**position, moves="2S AD AC draw", turn_cap=4)
    assert (ended(game), paid(game)) == ([4], [0, 0])


def test_a_crank_that_is_played_out_may_end_unpaid() -> None:
    """It comes back to who last added to it (RULES.md R16)."""
    hands = ["2S", "AD QD"]
    game = end_of(starter="KS", hands=hands, stock="5C 6C 7C", moves="2S AD")
    assert (ended(game), paid(game)) == ([3], [0, 0])
    game = end_of(starter="KS", hands=["2S", "QC QD"], stock="5C 6C 7C", moves="2S draw")
    assert (ended(game), paid(game)) == ([2], [2, 0])


@pytest.mark.parametrize(("stock", "cards"), [("5C 6C 7C 9C", 3), ("5C", 1)])
def test_a_crank_that_the_next_pays_ends_with_what_the_last_card_made_of_it(stock: str, cards: int) -> None:
    changes = {"crank.on_last_card": "next_pays", "stock.reshuffle": False}
    hands = ["2S 4C", "AD", "QD 9D"]
    game = end_of(starter="KS", hands=hands, stock=stock, moves="2S AD", changes=changes)
    assert (ended(game), paid(game)) == ([3], [cards, 0, 0])


@pytest.mark.parametrize("changes", [{"crank.on_last_card": "ignored"}, {"going_out.last_card": "ignored"}])
def test_a_last_card_that_is_ignored_ends_a_crank_and_adds_nothing(changes: dict[str, str]) -> None:
    game = end_of(starter="KS", hands=["2S 4C", "AD"], stock="5C 6C 7C", moves="2S AD", changes=changes)
    assert (ended(game), paid(game)) == ([2], [0, 0])
    game = end_of(starter="KS", hands=["2S", "AD"], stock="5C 6C 7C", moves="2S", changes=changes)
    assert (ended(game), paid(game)) == ([], [0, 0])


@pytest.mark.parametrize("on_last_card", ["played_out", "next_pays", "ignored"])
def test_a_crank_started_by_who_should_stay_in_but_cannot_draw_counts(on_last_card: str) -> None:
    changes = {"going_out.on_ability": False, "crank.on_last_card": on_last_card, "stock.reshuffle": False}
    moves = "2S draw" if on_last_card == "played_out" else "2S"
    game = end_of(starter="KS", hands=["2S", "QD"], moves=moves, changes=changes)
    assert (ended(game), paid(game), game.ending) == ([2], [0, 0], [Ending.WENT_OUT])


def test_a_crank_goes_on_where_its_last_card_keeps_the_player_in() -> None:
    changes = {"going_out.on_ability": False}
    game = end_of(
        starter="KS", hands=["2S", "AD QD"], stock="9C 5C 6C 7C", moves="2S AD draw", changes=changes, turn_cap=3
    )
    assert (ended(game), paid(game)) == ([3], [0, 3])


def test_the_turn_cap_ends_a_crank() -> None:
    game = end_of(starter="KS", hands=["2S 4C", "AD QD"], stock="5C 6C 7C", moves="2S AD", turn_cap=2)
    assert (ended(game), paid(game), game.ending) == ([3], [0, 0], [Ending.TRUNCATED])


def test_more_than_one_playable_card_is_a_choice() -> None:
    assert end_of(starter="KS", hands=["5S 4C", "QD"], moves="5S", turn_cap=1).choices == [0]
    assert end_of(starter="KS", hands=["5S KD", "QD"], moves="5S", turn_cap=1).choices == [1]
    # Two copies of one card are two cards.
    two_decks = {"decks": 2}
    assert end_of(starter="KS", hands=["5S 5S", "QD"], moves="5S", changes=two_decks, turn_cap=1).choices == [1]
    assert end_of(starter="KS", hands=["5S 4C 4C", "QD"], moves="5S", changes=two_decks, turn_cap=1).choices == [0]


def test_a_turn_counts_as_a_choice_once_with_the_cards_that_it_may_play_after_a_draw() -> None:
    changes = {"draw.count": 2, "draw.play_drawn": "may"}
    position: dict[str, Any] = {
        "starter": "KS",
        "hands": ["4C", "QD"],
        "stock": "5S 6S",
        "turn_cap": 1,
        "changes": changes,
    }
    assert end_of(**position, moves="draw 5S").choices == [1]
    assert end_of(**position, moves="draw pass").choices == [0]


def test_answers_to_a_crank_may_be_choices() -> None:
    hands = ["2S 4C", "AD 2D QD"]
    assert end_of(starter="KS", hands=hands, stock="5C 6C 7C", moves="2S AD", turn_cap=2).choices == [1]
    # So too where it is played out.
    game = end_of(starter="KS", hands=["2S", "AD 2D QD"], stock="5C 6C 7C", moves="2S AD")
    assert (game.choices, ended(game)) == ([1], [3])


# --- On demand ----------------------------------------------------------------------------------------------


def test_details_have_zero_games_unless_asked_for() -> None:
    rules, bots = load_rules("short", {"players": 3}), parse_bots("random", 3)
    plain = simulate_batch(rules, bots, 1, 0, 5)
    assert all(len(getattr(plain, name)) == (0 if name in DETAILS else 5) for name in Batch._fields)
    shapes = [getattr(simulate_batch(rules, bots, 1, 0, 5, details=True), name).shape for name in DETAILS]
    rounds = len(rules.deals)
    assert shapes == [(5, rounds), (5, CRANK_SIZES), (5, rounds), (5, rounds, 3), (5, rounds, 3)]


@pytest.mark.parametrize("details", [False, True])
def test_one_build_plays_any_number_of_games_and_rounds(details: bool) -> None:
    def play_some(games: int, deals: list[int]) -> None:
        rules = load_rules("classic", {"players": 2, "deals": deals})
        simulate_batch(rules, parse_bots("random", 2), 1, 0, games, details=details)

    compiled: Any = play
    play_some(2, [1, 1])
    builds = len(compiled.signatures)
    for games, deals in ((1, [1]), (1, [1, 1]), (7, [1]), (0, [1, 1])):
        play_some(games, deals)
    assert len(compiled.signatures) == builds


def test_details_do_not_depend_on_threads_or_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    rules, bots = load_rules("classic", {"players": 3, "deals": [3, 1]}), parse_bots("random", 3)

    def tally(batches: Sequence[Batch]) -> Sums:
        (batch,) = batches
        return {name: getattr(batch, name).sum(axis=0).astype(np.int64) for name in DETAILS}

    whole = tally([simulate_batch(rules, bots, 5, 0, 300, details=True)])
    for threads, chunk in ((1, 300), (2, 7)):
        monkeypatch.setattr(runner, "CHUNK_GAMES", chunk)
        sums = runner.run([DesignPoint({}, rules, bots)], tally, games=300, seed=5, threads=threads, details=True)
        assert all(np.array_equal(sums[name], whole[name]) for name in DETAILS)
        assert whole["crank_sizes"].sum() > 0


# --- Deals and replays -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("decks", [1, 2])
def test_what_is_dealt_is_told_by_rank(decks: int) -> None:
    rules = load_rules("classic", {"decks": decks, "players": 3})
    dealt = simulate_batch(rules, bots_of("random", 3), 1, 0, 500, details=True).dealt
    ranks = dealt[..., None] >> 4 * np.arange(13) & 15
    # Every hand has its size, and no rank has more than all its cards.
    assert (ranks.sum(axis=3) == np.array(rules.deals)[:, None]).all()
    assert ranks.sum(axis=2).max() <= 4 * decks
    assert ranks.mean(axis=(0, 1, 2)) == pytest.approx(np.full(13, np.mean(rules.deals) / 13), rel=0.05)


def test_a_replay_has_the_same_deals_and_other_choices() -> None:
    rules, bots = load_rules("classic"), bots_of("random", 4)
    first, again, third = (simulate_batch(rules, bots, 1, 0, 300, details=True, replay=k) for k in (0, 1, 2))
    for other in (again, third):
        assert np.array_equal(other.dealt, first.dealt)
        assert np.array_equal(other.dealer, first.dealer)
        assert not np.array_equal(other.points, first.points)
    assert not np.array_equal(again.points, third.points)
    # Bots that leave nothing to chance play the same again.
    greedy = bots_of("greedy", 4)
    same = [simulate_batch(rules, greedy, 1, 0, 300, replay=k).points for k in (0, 1)]
    assert np.array_equal(*same)


def test_both_engines_play_the_same_replay() -> None:
    rules, bots = load_rules("classic"), bots_of("random:forget=0.3,greedy", 4)
    batch = simulate_batch(rules, bots, 3, 0, 5, replay=7)
    for game in range(5):
        assert batch.points[game].tolist() == play_game(rules, bots, 3, game, replay=7).points
