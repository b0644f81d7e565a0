"""R5, the starter, and R6, the direction: who plays first, and after whom."""

import pytest

from craits_sim.cards import RANKS, rank_of, suit_of
from craits_sim.results import Action, Cause
from tests.naive import Event
from tests.positions import assert_refused, play, play_games, rounds_of

HANDS = ["KC QC", "KD QD", "KH QH", "JC JD", "3C 3D"]
STOCK = ["4H", "5H", "6H", "7H", "9H"]

STARTERS = """
      2 players  3 players  4 players  5 players   crank  direction
 A    0          2          2          2           0       1
 2    0          2          2          2           2       1
 3    0          2          2          2           0       1
 4    1          0          3          3           0       1
 5    0:0        2:20       2:230      2:2340      0       1
 6    1          1          1          1           0       1
 7    0:0        2:2        2:2        2:2         0       1
 8    0          2          2          2           0       1
 9    0          2          2          2           0       1
 10   0          0          0          0           0      -1
 J    0          2          2          2           0       1
 Q    0          2          2          2           0       1
 K    0          2          2          2           0       1
"""
"""Seat 1 deals and turns up a card: who plays first, and after a colon who has drawn a card before, in order."""

ROWS = {line.split()[0]: line.split()[1:] for line in STARTERS.splitlines()[2:]}


@pytest.mark.parametrize("players", [2, 3, 4, 5])
@pytest.mark.parametrize("rank", RANKS)
def test_r05_each_starter_acts_as_if_the_dealer_had_played_it(rank: str, players: int) -> None:
    """All thirteen ranks at tables of two to five (bug 8)."""
    *by_players, crank, direction = ROWS[rank]
    first, _, drawers = by_players[players - 2].partition(":")
    start = play(starter=f"{rank}S", dealer=1, hands=HANDS[:players], stock=" ".join(STOCK))
    assert start.to_act == int(first)
    assert start.story == [f"{seat} draws {card} (ability)" for seat, card in zip(drawers, STOCK, strict=False)]
    assert start.stock == len(STOCK) - len(drawers)
    assert (start.crank, start.direction, start.suit) == (int(crank), int(direction), "S")


def test_r05_a_ten_turned_up_reverses_so_the_dealers_right_plays_first() -> None:
    """The direction turns at once, not one player later (bug 7)."""
    # Seat 2 of four deals and turns up the 10S. Its right is seat 1, and after that seat 0 plays.
    end = play(starter="10S", dealer=2, hands=["QS 4D", "JS 4H", "KS 4C", "3C 5D"], stock="6C", moves="JS QS")
    assert (end.direction, end.to_act) == (-1, 3)


def test_r05_a_two_turned_up_begins_the_crank_with_the_dealers_left() -> None:
    """Who is hit by the starter pays and has had its turn (bug 9)."""
    # Seat 2 turned up the 2S. Seat 0 has spades, but neither an ace nor a 2: it draws two, and seat 1 is next.
    position = {"starter": "2S", "hands": ["KS QS", "JS 4C", "AD AC"], "stock": "5C 6C 7C"}
    assert play(**position).legal == []
    assert_refused(**position, moves="KS")
    end = play(**position, moves="draw")
    assert (end.hands[0], end.crank, end.to_act, end.legal) == ("5C 6C QS KS", 0, 1, ["JS"])


def test_r05_the_dealer_names_a_suit_for_an_eight_turned_up() -> None:
    """A wild starter does not stall the game (bug 8)."""
    # Seat 1 turned up the 8S and names hearts: of its three cards seat 0 may play the heart.
    end = play(starter="8S", hands=["KS QH JD", "4C 5C"], moves=">H")
    assert (end.top, end.suit, end.to_act, end.legal) == ("8S", "H", 0, ["QH"])


def test_r05_the_dealer_may_recolor_a_nine_turned_up() -> None:
    # The 9S can be followed by spades, or, if the dealer says so, by clubs; it has no say about red suits.
    hands = ["KS QC JD", "4C 5C"]
    assert play(starter="9S", hands=hands).legal == ["KS"]
    assert play(starter="9S", hands=hands, moves=">C").legal == ["QC"]


def test_r05_a_six_turned_up_gives_the_dealer_the_first_turn() -> None:
    """It is a turn like any other: if the dealer cannot follow it draws one, and its left is next."""
    # Seat 1 of three turned up the 6S and has no spade.
    end = play(starter="6S", dealer=1, hands=["KS QC", "QD JD", "KC 4C"], stock="5C", moves="draw")
    assert (end.hands[1], end.to_act) == ("5C JD QD", 2)


def test_r05_a_five_turned_up_is_drawn_for_even_if_that_empties_the_stock() -> None:
    # Seat 3 turned up the 5S; two cards are left. Seats 0 and 1 get them, seat 2 gets none, seat 0 plays.
    end = play(starter="5S", hands=["KC QC", "QD JD", "KH 4H", "4C 7C"], stock="6C 9C")
    assert end.hands == ["6C QC KC", "9C JD QD", "4H KH", "4C 7C"]
    assert (end.stock, end.to_act, end.over) == (0, 0, False)


def test_r05_a_seven_turned_up_under_lose_turn_skips_the_dealers_left() -> None:
    # Seat 0 draws one and is passed over: seat 1 plays first.
    changes = {"abilities.7": "next_draws:1,lose_turn"}
    end = play(starter="7S", hands=["KC QC", "QD JD", "KH 4H"], stock="6C 9C", changes=changes)
    assert (end.hands[0], end.to_act) == ("6C QC KC", 1)


def test_r05_a_ten_turned_up_as_a_skip_lets_the_dealer_of_two_play_first() -> None:
    end = play(starter="10S", hands=["KC QC", "QD JD"], changes={"reverse.two_players": "skip"})
    assert (end.direction, end.to_act) == (-1, 1)


@pytest.mark.parametrize("players", [2, 3, 4, 5])
@pytest.mark.parametrize("rank", RANKS)
def test_r05_acts_false_a_starter_has_no_ability(rank: str, players: int) -> None:
    # Seat 1 deals: its left plays first, clockwise; nobody draws, no crank runs, the suit is that of the card.
    start = play(
        starter=f"{rank}S", dealer=1, hands=HANDS[:players], stock=" ".join(STOCK), changes={"starter.acts": False}
    )
    assert (start.to_act, start.direction) == (0 if players == 2 else 2, 1)
    assert (start.crank, start.suit, start.story) == (0, "S", [])


def test_r05_acts_false_an_ace_on_a_two_turned_up_starts_no_crank() -> None:
    # The 2S is an ordinary card to match: by a spade or by a 2. The AS on it is an ordinary card too.
    end = play(starter="2S", hands=["AS KD", "QS 4C"], stock="5C", moves="AS", changes={"starter.acts": False})
    assert (end.crank, end.to_act, end.legal) == (0, 1, ["QS"])


@pytest.mark.parametrize("starter", ["8S", "9S"])
@pytest.mark.parametrize("seed", range(8))
def test_r05_acts_false_the_dealer_names_no_suit(starter: str, seed: int) -> None:
    # A bot deals. Seat 0 has one card of each suit and can only play its spade.
    changes = {"starter.acts": False, "turn_cap": 1}
    end = play(starter=starter, hands=["4C 4D 4H 4S", "5D 6D"], bot="random", changes=changes, seed=seed)
    assert end.story == ["0 plays 4S", "truncated"]


def test_r05_redraw_chosen_ranks_are_never_turned_up() -> None:
    """They go back into the stock: no card leaves the deck for good, as `play_games` checks (bug 10)."""
    games = play_games(6, changes={"starter.redraw": ["2", "8"], "deals": [5] * 10})
    starters = {
        rank_of(card) for game in games for _, _, action, _, card, *_ in game.events if action == Action.STARTER
    }
    assert starters == set(range(13)) - {RANKS.index("2"), RANKS.index("8")}


def test_r05_redraw_a_rank_is_turned_up_where_no_other_is_left() -> None:
    # 3 x 17 cards are dealt and one is left, which mostly is of a rank that is to be put back.
    allowed = "A"
    games = play_games(
        8, changes={"players": 3, "deals": [17], "starter.redraw": [rank for rank in RANKS if rank != allowed]}
    )
    starters = [card for game in games for _, _, action, _, card, *_ in game.events if action == Action.STARTER]
    assert len(starters) == 8
    assert any(RANKS[rank_of(card)] != allowed for card in starters)


# R6


@pytest.mark.parametrize(("players", "after_one"), [(2, 1), (3, 2), (4, 3), (5, 4)])
def test_r06_a_reverse_turns_the_order_at_once_and_a_second_one_back(players: int, after_one: int) -> None:
    """The next to play is already the other neighbor (bug 7)."""
    # Seat 0 plays the 10S, and its right, the last seat, the 10H: then seat 0 is next again, clockwise.
    hands = ["10S 4C", "JC JD", "QC QD", "KC KD", "3C 3D"][:players]
    hands[after_one] = "10H 4D"
    once = play(starter="KS", hands=hands, moves="10S")
    assert (once.direction, once.to_act) == (-1, after_one)
    twice = play(starter="KS", hands=hands, moves="10S 10H")
    assert (twice.direction, twice.to_act) == (1, 0)


def test_r06_a_round_starts_from_its_own_starter_alone() -> None:
    """Direction, suit and crank of the round before have no say (bug 11)."""
    # 150 rounds of four players, each cut off in its third turn, so that many end in the middle of something.
    [game] = play_games(changes={"deals": [5] * 150, "turn_cap": 2})
    ended_in = {"reverse": 0, "crank": 0, "other suit": 0}
    for dealer, events in zip(game.dealer, rounds_of(game), strict=True):
        starter = next(event for event in events if event[2] == Action.STARTER)
        rank = RANKS[rank_of(starter[4])]
        *by_players, crank, _ = ROWS[rank]
        first_of_dealer_1 = int(by_players[4 - 2].partition(":")[0])
        assert _first_to_act(events) == (dealer + first_of_dealer_1 - 1) % 4
        assert starter[6] == int(crank)
        assert starter[5] == suit_of(starter[4]) or rank in ("8", "9")

        shown = [event for event in events if event[2] in (Action.STARTER, Action.PLAY)]
        ended_in["reverse"] += sum(RANKS[rank_of(event[4])] == "10" for event in shown) % 2
        ended_in["crank"] += next(event for event in events if event[2] == Action.TRUNCATED)[6] > 0
        ended_in["other suit"] += shown[-1][5] != suit_of(shown[-1][4])
    assert min(ended_in.values()) > 5


def _first_to_act(events: list[Event]) -> int:
    """Give the seat of the first turn: cards drawn for the starter come before it."""
    return next(
        seat
        for _, _, action, seat, _, _, _, detail in events
        if action in (Action.PLAY, Action.PASS) or (action == Action.DRAW and detail != Cause.ABILITY)
    )
