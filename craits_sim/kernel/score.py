"""Scoring: what the cards left in a hand count (RULES.md R17, R18)."""

import numpy as np

from craits_sim.cards import RANKS
from craits_sim.encode import EVERY_SUIT, THREES_CODES
from craits_sim.kernel._jit import compiled, inlined
from craits_sim.kernel.step import RANK_BITS
from craits_sim.kernel.words import U0, U1, lowest_card, popcount

THREES = np.uint64(EVERY_SUIT << RANKS.index("3"))
CANCEL_THEN_BONUS, STRICT, BONUS_ONLY, _, NONE = THREES_CODES.values()


@inlined
def points_left(hand, second_hand, rules):
    """Give the points of a hand at the end of a round (int64).

    Parameters
    ----------
    hand, second_hand : uint64
        The cards left, sets of first and of second decks' cards.
    rules : EncodedRules
    """
    if rules.threes_mode == NONE:
        return _sum_of_points(hand, second_hand, rules)
    others, second_others = hand & ~THREES, second_hand & ~THREES
    points = _sum_of_points(others, second_others, rules)
    threes = np.int64(popcount(hand ^ others) + popcount(second_hand ^ second_others))
    if threes == 0:
        return points
    if rules.threes_mode == BONUS_ONLY:
        return points + threes * rules.threes_bonus
    number_of_others = np.int64(popcount(others) + popcount(second_others))
    points -= _points_of_dearest(others, second_others, threes, rules)
    return points + _bonus(max(threes - number_of_others, np.int64(0)), number_of_others, rules)


@inlined
def _sum_of_points(cards, second_cards, rules):
    """Add up the points of the cards of a set."""
    points = np.int64(0)
    while cards != U0:
        points += rules.points[lowest_card(cards) & RANK_BITS]
        cards &= cards - U1
    while second_cards != U0:
        points += rules.points[lowest_card(second_cards) & RANK_BITS]
        second_cards &= second_cards - U1
    return points


@compiled
def _points_of_dearest(cards, second_cards, number, rules):
    """Add up the points of the ``number`` dearest cards of a set, or of all where it has fewer."""
    points = np.int64(0)
    for place in range(len(rules.cancel_order)):
        if number == 0:
            break
        of_rank = np.uint64(EVERY_SUIT) << rules.cancel_order[place]
        taken = min(number, np.int64(popcount(cards & of_rank) + popcount(second_cards & of_rank)))
        points += taken * rules.points[rules.cancel_order[place]]
        number -= taken
    return points


@inlined
def worth_of_shedding(hand, second_hand, rules):
    """Tell what each card of a hand is worth when it leaves: by how much the points of the rest are lower.

    A card counts its points where no 3 is held. Of a hand with 3s that cancel, the dearest cards count nothing: when
    one of them leaves, the dearest of the others takes its place. Where 3s are spare, a card that leaves frees one.

    Returns
    -------
    least, most : int64
        A card that is no 3 is worth its points, but at least and at most this.
    of_three : int64
        What a 3 is worth.
    """
    least, most, of_three = np.int64(-1 << 40), np.int64(1 << 40), np.int64(0)
    if rules.threes_mode == NONE:
        return least, most, of_three
    others, second_others = hand & ~THREES, second_hand & ~THREES
    threes = np.int64(popcount(hand ^ others) + popcount(second_hand ^ second_others))
    if rules.threes_mode == BONUS_ONLY:
        return least, most, rules.threes_bonus
    if threes == 0:
        return least, most, of_three
    number = np.int64(popcount(others) + popcount(second_others))
    spare = max(threes - number, np.int64(0))
    if number <= threes:
        most = _bonus(spare, number, rules) - _bonus(spare + 1, number - 1, rules)
        least = most
    seen, last_canceled = np.int64(0), np.int64(0)
    for place in range(len(rules.cancel_order)):
        rank = rules.cancel_order[place]
        of_rank = np.uint64(EVERY_SUIT) << rank
        held = np.int64(popcount(others & of_rank) + popcount(second_others & of_rank))
        if seen < threes and held > 0:
            last_canceled = rules.points[rank]
        seen += held
        if seen > threes:
            most = rules.points[rank]
            break
    of_three = _bonus(spare, number, rules) - _bonus(spare - 1, number, rules) if spare > 0 else -last_canceled
    return least, most, of_three


@inlined
def _bonus(spare, number_of_others, rules):
    """Give what 3s that cancel nothing count."""
    if rules.threes_mode == CANCEL_THEN_BONUS or (rules.threes_mode == STRICT and number_of_others == 0):
        return spare * rules.threes_bonus
    return np.int64(0)
