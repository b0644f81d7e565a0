"""The slow second engine by itself: scoring, the cards, and rules that the scenarios do not reach."""

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import pytest

from craits_sim.bots import parse_bots
from craits_sim.cards import SUITS, full_deck, parse_card, rank_of
from craits_sim.results import WIN_UNIT, Action, Cause, Ending
from craits_sim.rules import load_rules
from tests.naive import (
    Event,
    IllegalMove,
    MovesRunOut,
    NaiveGame,
    Round,
    ScriptedMoves,
    hand_score,
    next_dealer,
    play_game,
    set_up,
    share_wins,
    state,
)

GAMES: list[tuple[str, dict[str, object], str]] = [
    ("classic", {}, "random"),
    ("classic", {"players": 2}, "greedy"),
    ("wiki", {"players": 10, "decks": 2}, "random"),
    ("crazy_eights", {}, "random"),
    ("crazy_eights_special", {"players": 5}, "greedy"),
    ("last_card_house", {"players": 2}, "random:forget=0.5:catch=0.5"),
    ("partners", {}, "greedy:forget=0.5"),
    ("classic", {"going_out.on_ability": False, "stock.reshuffle": False}, "random"),
    (
        "classic",
        {"going_out.again": "draws", "crank.on_last_card": "next_pays", "draw.count": 3},
        "random:forget=0.5",
    ),
    ("classic", {"draw.play_drawn": "must", "draw.count": 2, "turn_cap": 20}, "random"),
    ("classic", {"stock.pressure": 5, "abilities.K": "others_draw:4", "next_dealer": "loser"}, "random"),
]


def play(preset: str, changes: Mapping[str, object], bots: str, seed: int = 7) -> NaiveGame:
    rules = load_rules(preset, changes)
    return play_game(rules, parse_bots(bots, rules.players), seed, game=3)


def events_of_round(game: NaiveGame, index: int) -> list[Event]:
    return [event for event in game.events if event[1] == index]


def position(moves: Sequence[str], changes: Mapping[str, object] | None = None, **scenario: Any) -> Round:
    """Set up two players, the second of whom dealt, unless the scenario says otherwise."""
    return set_up({"dealer": 1, "starter": "KS", "moves": moves, "set": changes or {}} | scenario)


def run(played: Round) -> dict[str, Any]:
    """Play on until the round is over or the moves run out."""
    with suppress(MovesRunOut):
        played.play()
    return state(played)


def actions(played: Round) -> list[tuple[Action, int]]:
    """List what happened between the starter and the scores, and to whom."""
    left_out = (Action.DEAL, Action.STARTER, Action.SCORE)
    return [(Action(action), seat) for _, _, action, seat, *_ in played.events if action not in left_out]


class Forgetful(ScriptedMoves):
    """Scripted seats that always forget to announce and are always called."""

    def is_caught(self, position: Round, seat: int) -> bool:
        return True


# Scoring


@pytest.mark.parametrize(
    ("mode", "scores"),
    [
        #                      3-2-8, 3-3, 3-3-J, 3-J, 3-3-3-J-4, nothing
        ("cancel_then_bonus", [20, -100, -50, 0, -50, 0]),
        ("strict", [20, -100, 0, 0, 0, 0]),
        ("bonus_only", [20, -100, -90, -40, -125, 0]),
        ("cancel_only", [20, 0, 0, 0, 0, 0]),
        ("none", [77, 14, 24, 17, 46, 0]),
    ],
)
def test_threes_score_by_mode(mode: str, scores: list[int]) -> None:
    """RULES.md R18."""
    rules = load_rules("classic", {"threes.mode": mode, "points.3": 7})
    hands = ["3C 2D 8H", "3D 3H", "3C 3S JD", "3C JD", "3C 3D 3H JD 4S", ""]
    assert [hand_score(rules, [parse_card(name) for name in hand.split()]) for hand in hands] == scores


def test_lowest_hand_scores_zero_in_a_blocked_round() -> None:
    """RULES.md R13."""
    blocked = position(
        ["draw"] * 3, {"blocked.score": "lowest_zero"}, dealer=2, hands=["QD 4H", "JD QC", "5H"], stock=""
    )
    assert run(blocked)["points"] == [25, 0, 30]
    assert blocked.ending == Ending.BLOCKED


# The cards


@pytest.mark.parametrize(("preset", "changes", "bots"), GAMES)
def test_every_card_is_somewhere_after_every_event(preset: str, changes: dict[str, object], bots: str) -> None:
    """Replay the events with nothing but piles of cards; each card moves from where it is."""
    rules = load_rules(preset, changes)
    game = play(preset, changes, bots)
    for index in range(len(rules.deals)):
        stock = set(full_deck(rules.decks))
        hands: list[set[int]] = [set() for _ in range(rules.players)]
        top: list[int] = []
        discards: set[int] = set()
        for _, _, action, seat, card, suit, crank, detail in events_of_round(game, index):
            match action:
                case Action.DEAL | Action.DRAW:
                    stock.remove(card)
                    hands[seat].add(card)
                case Action.STARTER:
                    stock.remove(card)
                    top = [card]
                case Action.PLAY:
                    hands[seat].remove(card)
                    discards.update(top)
                    top = [card]
                case Action.RESHUFFLE:
                    assert not stock
                    assert detail == len(discards)
                    stock, discards = discards, set()
                case Action.GO_OUT:
                    assert not hands[seat]
            assert len(stock) + len(discards) + len(top) + sum(map(len, hands)) == 52 * rules.decks
            assert (suit in range(len(SUITS))) == (action in (Action.STARTER, Action.PLAY))
            assert crank >= 0


@pytest.mark.parametrize(("preset", "changes", "bots"), GAMES)
def test_figures_are_those_of_the_events(preset: str, changes: dict[str, object], bots: str) -> None:
    rules = load_rules(preset, changes)
    game = play(preset, changes, bots)
    for index in range(len(rules.deals)):
        events = events_of_round(game, index)
        count = Counter(event[2] for event in events)
        causes = Counter(event[7] for event in events if event[2] == Action.DRAW)
        score_by_seat = [event[7] for event in events if event[2] == Action.SCORE]
        dealer = game.dealer[index]
        assert game.drawn[index] == count[Action.DRAW]
        assert game.crank_drawn[index] == causes[Cause.CRANK]
        assert sum(game.forced[index]) == causes[Cause.ABILITY] + causes[Cause.CRANK]
        assert game.reshuffles[index] == count[Action.RESHUFFLE]
        assert game.points[index] == score_by_seat[dealer:] + score_by_seat[:dealer]
        assert sum(game.seat_turns[index]) == game.turns[index] >= count[Action.PLAY] + count[Action.PASS]
        assert (game.ending[index] == Ending.WENT_OUT) == (count[Action.GO_OUT] > 0) == (game.went_out[index] >= 0)
        assert (game.ending[index] == Ending.BLOCKED) == (count[Action.BLOCKED] == 1)
        assert (game.ending[index] == Ending.TRUNCATED) == (count[Action.TRUNCATED] == 1)
    assert sum(game.totals) == sum(map(sum, game.points))
    assert sum(game.wins) in (0, WIN_UNIT)


def test_a_game_is_its_seed_and_index() -> None:
    assert play("classic", {}, "random") == play("classic", {}, "random")
    assert play("classic", {}, "random") != play("classic", {}, "random", seed=8)


def test_a_redrawn_rank_is_never_turned_up() -> None:
    """RULES.md R5."""
    game = play("classic", {"starter.redraw": ["8", "2"]}, "random")
    starters = [event[4] for event in game.events if event[2] == Action.STARTER]
    assert len(starters) == 15
    assert not {rank_of(card) for card in starters} & {1, 7}


# Turns


def test_a_caught_player_draws_two_and_loses_the_extra_turn() -> None:
    """RULES.md R10: the extra turn of a 6 is the next turn."""
    caught = position(["6S", "JS"], hands=["6S KH", "JS QC 4D"], stock="5C 6C 7C")
    caught.chooser = Forgetful(["6S", "JS"], None)
    assert run(caught)["hands"] == ["5C 6C KH", "QC 4D"]
    penalty = [(Action.CAUGHT, 0), (Action.DRAW, 0), (Action.DRAW, 0), (Action.LOST_TURN, 0)]
    assert actions(caught) == [(Action.PLAY, 0), *penalty, (Action.PLAY, 1)]


def test_a_lost_turn_in_a_crank_played_out_pays_nothing() -> None:
    """RULES.md R10, R16: the caught seat is passed over, and the crank is back at the seat that went out."""
    caught = position([], hands=["2S", "JS QS"], stock="5C 6C 7C")
    caught.caught.add(1)
    caught.chooser = Forgetful(["2S"], None)
    assert run(caught)["points"] == [0, 20]
    assert actions(caught) == [(Action.PLAY, 0), (Action.GO_OUT, 0), (Action.LOST_TURN, 1)]


def test_two_go_out_in_one_crank() -> None:
    """RULES.md R16: both score 0, and the first out is the winner."""
    both = position(["2S", "AD", "draw"], dealer=2, hands=["2S", "AD", "JS"], stock="4C 5C 6C 7C")
    end = run(both)
    assert (end["went_out"], end["points"]) == (0, [0, 0, 10 + 15 + 30 + 30])


def test_the_next_seat_pays_a_crank_that_ends_the_round() -> None:
    """RULES.md R16, the reading `next_pays`: an ace in the hand does not help."""
    pays = position(["2S"], {"crank.on_last_card": "next_pays"}, hands=["2S", "AD"], stock="4C 5C 6C")
    assert run(pays)["points"] == [0, 1 + 15 + 30]
    assert (pays.turns, pays.crank_drawn, pays.cranks) == (1, 2, 1)


def test_nobody_goes_out_on_an_ability_card() -> None:
    """RULES.md R11, the reading `on_ability` = false: the card acts, its player draws one."""
    stays = position(["8S>H", "KH"], {"going_out.on_ability": False}, hands=["8S", "KH JS"], stock="5C")
    end = run(stays)
    assert (end["hands"], end["suit"], end["to_act"], end["over"]) == (["5C", "JS"], "H", 0, False)


def test_a_player_who_can_draw_nothing_goes_out_on_an_ability_card() -> None:
    """RULES.md R11: the crank it started is played out then."""
    changes = {"going_out.on_ability": False, "stock.reshuffle": False}
    goes = position(["2S", "draw"], changes, hands=["2S", "KH"], stock="")
    assert run(goes)["points"] == [0, 10]
    assert actions(goes) == [(Action.PLAY, 0), (Action.GO_OUT, 0), (Action.PASS, 1)]


def test_drawing_goes_on_until_a_card_can_be_played_or_the_limit() -> None:
    """RULES.md R9."""
    changes = {"draw.until_playable": True, "draw.limit": 2}
    plays = position(["draw", "4S"], changes, hands=["KH", "JS QC"], starter="QS", stock="5C 4S 7C")
    assert run(plays)["hands"][0] == "5C KH"
    stops = position(["draw"], changes, hands=["KH", "JS QC"], starter="QS", stock="5C 6C 4S")
    assert run(stops)["hands"][0] == "5C 6C KH"
    assert stops.to_act == 1


def test_a_drawn_card_may_be_kept() -> None:
    """RULES.md R9: `may` allows a pass after the draw, `must` does not."""
    table: dict[str, Any] = {"hands": ["QH", "JD QC"], "stock": "4S 5C"}
    assert run(position(["draw", "pass"], {"draw.play_drawn": "may"}, **table))["hands"][0] == "QH 4S"
    with pytest.raises(IllegalMove, match="4S"):
        run(position(["draw", "pass"], {"draw.play_drawn": "must"}, **table))


def test_drawing_instead_of_playing_is_a_rule() -> None:
    """RULES.md R9."""
    table: dict[str, Any] = {"hands": ["QS 4D", "JD QC"], "stock": "5C"}
    assert run(position(["draw"], {"draw.voluntary": True}, **table))["to_act"] == 1
    with pytest.raises(IllegalMove, match="QS"):
        run(position(["draw"], **table))


def test_pressure_doubles_for_the_seat_that_reshuffles_again() -> None:
    """RULES.md R12."""
    table: dict[str, Any] = {"hands": ["QH", "JD"], "stock": "", "discards": "4C 5C 6C"}
    again = position(["draw", "draw"], {"stock.pressure": 5}, **table)
    again.reshuffles_caused[0] = 2
    run(again)
    assert again.pressure == [20, 0]


def test_a_round_at_the_turn_cap_is_scored_as_it_stands() -> None:
    """RULES.md R13."""
    cut = position(["draw", "draw"], {"turn_cap": 2}, hands=["QH", "JD"], stock="4C 5C 6C")
    assert run(cut)["points"] == [25, 40]
    assert cut.ending == Ending.TRUNCATED


# The game


@pytest.mark.parametrize(
    ("rule", "went_out", "points", "dealer"),
    [
        ("left", 0, [0, 5, 9], 2),
        ("same", 0, [0, 5, 9], 1),
        ("winner", 0, [0, 5, 9], 0),
        ("winner", None, [3, 5, 9], 2),
        ("loser", 2, [9, 9, 0], 0),
        ("loser", None, [9, 9, 4], 2),
    ],
)
def test_next_dealer(rule: str, went_out: int | None, points: list[int], dealer: int) -> None:
    """RULES.md R3; seat 1 dealt."""
    played = position([], {"next_dealer": rule}, hands=["QH", "JD", "4C"])
    played.went_out, played.points = went_out, points
    assert next_dealer(played.rules, played) == dealer


@pytest.mark.parametrize(
    ("changes", "totals", "last_out", "wins"),
    [
        ({}, [5, 7, 5, 9], 3, [WIN_UNIT // 2, 0, WIN_UNIT // 2, 0]),
        ({"win": "first_out"}, [5, 7, 5, 9], 3, [0, 0, 0, WIN_UNIT]),
        ({"win": "first_out"}, [5, 7, 5, 9], -1, [0, 0, 0, 0]),
        ({"partners": True}, [0, 7, 20, 9], 0, [0, WIN_UNIT // 2, 0, WIN_UNIT // 2]),
        ({"partners": True}, [4, 5, 6, 5], 0, [WIN_UNIT // 4] * 4),
    ],
)
def test_wins_are_shared(changes: dict[str, object], totals: list[int], last_out: int, wins: list[int]) -> None:
    """RULES.md R7."""
    assert share_wins(load_rules("classic", changes), totals, last_out) == wins
