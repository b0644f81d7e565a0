"""RULES.md "Random play, the yardstick", and the deal, which no bot changes.

That bots see no hidden card is in `tests/test_bots_blind.py`.
"""

from collections import Counter

from scipy.stats import chisquare

from craits_sim.results import Action
from tests.naive import Event
from tests.positions import play, play_games, rounds_of

SEEDS = range(120)


def first_moves(**position: object) -> Counter[str]:
    """Count what seat 0 does in its first turn, over many seeds."""
    return Counter(play(**position, bot="random", changes={"turn_cap": 1}, seed=seed).story[0] for seed in SEEDS)


def assert_equally_often(counts: Counter[str], expected: list[str]) -> None:
    assert sorted(counts) == sorted(expected)
    assert chisquare(list(counts.values())).pvalue > 1e-4


def test_random_play_chooses_uniformly_among_the_playable_cards() -> None:
    # Of seven cards, the QS, the KH and the KD match the KS.
    counts = first_moves(starter="KS", hands=["QS KH KD 4C 5C 6H 7D", "4D 5D"])
    assert_equally_often(counts, ["0 plays QS", "0 plays KH", "0 plays KD"])


def test_random_play_names_any_suit_for_an_eight() -> None:
    counts = first_moves(starter="KS", hands=["8S 4C 5C", "4D 5D"])
    assert_equally_often(counts, ["0 plays 8S", "0 plays 8S>C", "0 plays 8S>D", "0 plays 8S>H"])


def test_random_play_changes_the_suit_of_every_other_nine() -> None:
    counts = first_moves(starter="KS", hands=["9S 4C 5C", "4D 5D"])
    assert_equally_often(counts, ["0 plays 9S", "0 plays 9S>C"])


def test_random_play_names_any_suit_for_an_eight_turned_up() -> None:
    # Seat 0 has one card of each suit: the one it plays tells what the dealer has named.
    counts = first_moves(starter="8S", hands=["4C 4D 4H 4S", "5D 6D"])
    assert_equally_often(counts, ["0 plays 4C", "0 plays 4D", "0 plays 4H", "0 plays 4S"])


def test_random_play_never_declines() -> None:
    # It could draw instead, or pass after a draw.
    changes = {"draw.voluntary": True, "draw.play_drawn": "may", "turn_cap": 1}
    for seed in range(20):
        end = play(starter="KS", hands=["QS 4C", "4D 5D"], stock="9C", bot="random", changes=changes, seed=seed)
        assert end.story == ["0 plays QS", "truncated"]
        end = play(starter="KS", hands=["6C 4C", "4D 5D"], stock="QS", bot="random", changes=changes, seed=seed)
        assert end.story == ["0 draws QS", "0 plays QS", "truncated"]


def test_bots_do_not_change_the_deal() -> None:
    """Cards and choices have streams of their own: whoever plays, the same cards are dealt (bug 28)."""

    def dealt(bots: str) -> list[Event]:
        [game] = play_games(changes={"deals": [5, 4, 3]}, bots=bots)
        return [event for event in game.events if event[2] == Action.DEAL]

    assert dealt("random") == dealt("greedy") == dealt("greedy,random,random:forget=1,greedy")


def test_rounds_and_games_are_dealt_anew() -> None:
    """No two deals are alike (bug 28)."""
    deals = [
        tuple(event[3:5] for event in events if event[2] == Action.DEAL)
        for game in play_games(3, changes={"deals": [5] * 5})
        for events in rounds_of(game)
    ]
    assert len(set(deals)) == 15
