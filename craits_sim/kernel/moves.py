"""The moves of a player and their features (`craits_sim.features`), in two parts.

`list_moves` writes the moves of one lane on the slate, with what they are judged by. `weigh_moves` computes features
and scores of all moves on the slate at once, branch-free like the step (``step.py``) and for the same reason.
"""

import numpy as np

from craits_sim.kernel._jit import inlined
from craits_sim.kernel.lanes import (
    CRANK,
    FORWARD,
    HAND,
    HANDS,
    MATCHING,
    NEAR_SEATS,
    NEAREST,
    PLAYABLE,
    PLAYER,
    SECOND_DECK,
    SECOND_HANDS,
    STANDINGS,
    STRIDE,
)
from craits_sim.kernel.lanes import SUIT as FOLLOWED_SUIT
from craits_sim.kernel.score import NONE, THREES, worth_of_shedding
from craits_sim.kernel.slate import (
    AGAIN,
    AGAIN_STUCK,
    ALL_FEATURES,
    AT_CRANK,
    AT_FORWARD,
    AT_NEAREST,
    AT_SEAT,
    AT_STANDING,
    AT_WEIGHING,
    BLOCK,
    CARD,
    CRANK_ANSWERS,
    CRANK_DANGER,
    CRANK_KEPT,
    CRANK_STARTS,
    DRAWS,
    DRAWS_NEAR,
    FIRST_FEATURE,
    FOLLOWS,
    LAST_FOLLOWS,
    NEW_SUIT,
    NEXT_NEAR,
    REST,
    ROW,
    SCORE,
    SECOND_REST,
    SECOND_UNSEEN,
    SHED,
    SHED_BEHIND,
    SHED_LATE,
    SHED_POINTS,
    SITUATION,
    SKIPS,
    SKIPS_NEAR,
    STUCK,
    SUIT,
    THREE,
    UNSEEN,
    UNSEEN_FOLLOWS,
    WILD,
    WILD_LATE,
)
from craits_sim.kernel.step import (
    FOUR_BITS,
    RANK_BITS,
    SUIT_BITS,
    may_follow,
    nibble,
    same_rank,
    seat_after,
    suit_at,
)
from craits_sim.kernel.table import SECOND_COPY, one_card, unseen_cards
from craits_sim.kernel.words import (
    FILLED,
    U0,
    U1,
    U2,
    U3,
    bit,
    fill,
    look_up,
    lowest_card,
    popcount,
    read,
    select,
    write,
)

EIGHT = np.uint64(8)
THREE_BITS = np.uint64(0x7)
FOUR = np.uint64(4)  # from so many cards on a seat is not near going out
STANDING_POINTS, MOST_STANDING = np.int64(20), np.int64(5)


@inlined
def look_around(lanes, lane, rules, build):
    """Note how near each seat is to going out, the player's hand, and what of it may be played; branch-free."""
    two_decks = len(build.decks) > 1
    player, in_crank = read(lanes, PLAYER + lane), read(lanes, CRANK + lane) != U0
    hand, second_hand, nears, nearest = U0, U0, U0, U0
    for number in range(len(build.seats)):
        seat = np.uint64(number)
        held, second_held = read(lanes, HANDS + seat * STRIDE + lane), U0
        if two_decks:
            second_held = read(lanes, SECOND_HANDS + seat * STRIDE + lane)
            second_hand = select(player == seat, second_held, second_hand)
        hand = select(player == seat, held, hand)
        cards = popcount(held) + popcount(second_held)
        near = select(cards < FOUR, FOUR - cards, U0)
        nears |= near << (seat * U3)
        near = select((player == seat) | (seat >= rules.players), U0, near)
        nearest = select(near > nearest, near, nearest)
    follow = may_follow(rules, read(lanes, MATCHING + lane), read(lanes, FOLLOWED_SUIT + lane), in_crank)
    write(lanes, NEAR_SEATS + lane, nears)
    write(lanes, NEAREST + lane, nearest)
    write(lanes, HAND + lane, hand)
    write(lanes, PLAYABLE + lane, hand & follow)
    if two_decks:
        write(lanes, HAND + SECOND_DECK + lane, second_hand)
        write(lanes, PLAYABLE + SECOND_DECK + lane, second_hand & follow)


@inlined
def note_standings(lanes, lane, totals, players, build):
    """Note how far each seat is behind the best other total, at the start of a round."""
    if len(build.thinking) == 0:
        return
    best, second = np.int64(1 << 62), np.int64(1 << 62)
    for seat in range(players):
        second = min(second, max(best, totals[seat]))
        best = min(best, totals[seat])
    standings = U0
    for seat in range(players):
        behind = totals[seat] - (second if totals[seat] == best else best)
        steps = behind // STANDING_POINTS if behind >= 0 else -(-behind // STANDING_POINTS)
        steps = max(min(steps, MOST_STANDING), -MOST_STANDING)
        standings |= (np.uint64(steps) & FOUR_BITS) << np.uint64(seat << 2)
    lanes[STANDINGS + lane] = standings


@inlined
def list_moves(lanes, lane, seat, cards, second_cards, plain, starter, rules, bots, build, slate, start):
    """Write the moves of a seat on the slate, by card, then by suit.

    Parameters
    ----------
    lanes : uint64 array
    lane, seat : uint64
    cards, second_cards : uint64
        The cards of which one is to be played, sets of first and of second decks' cards.
    plain : bool
        Whether every card keeps its own suit.
    starter : bool
        Whether the card is the starter, which the seat turned up as dealer and never held.
    rules : EncodedRules
    bots : EncodedBots
    build : Build
    slate : uint64 array
    start : uint64
        Where on the slate the first move goes.

    Returns
    -------
    uint64
        Where the next would go.
    """
    two_decks = len(build.decks) > 1
    names = (lanes[CRANK + lane] == U0) & (not plain)
    hand, second_hand = lanes[HAND + lane], lanes[HAND + SECOND_DECK + lane]
    unseen, second_unseen = unseen_cards(lanes, lane, hand, second_hand, rules)
    situation = lanes[NEAR_SEATS + lane] | (lanes[NEAREST + lane] << AT_NEAREST) | (seat << AT_SEAT)
    situation |= (lanes[FORWARD + lane] << AT_FORWARD) | (bots.weighing[seat] << AT_WEIGHING)
    situation |= ((lanes[STANDINGS + lane] >> (seat << U2)) & FOUR_BITS) << AT_STANDING
    situation |= lanes[CRANK + lane] << AT_CRANK
    least, most, of_three = worth_of_shedding(hand, second_hand, rules)

    move = start
    second_cards &= ~cards
    while cards | second_cards != U0:
        rest, second_rest = hand, second_hand
        if two_decks and cards == U0:
            place = lowest_card(second_cards) + SECOND_COPY
            second_cards &= second_cards - U1
            second_rest &= ~one_card(place)
        else:
            place = lowest_card(cards)
            cards &= cards - U1
            rest &= ~one_card(place)
        card = one_card(place)
        if starter:
            rest, second_rest = hand, second_hand
        shed = max(min(rules.points[place & RANK_BITS], most), least)
        if card & THREES != U0 and rules.threes_mode != NONE:
            shed = of_three
        # The suits that it may name lie evenly apart: all four, or 0 and 3, or 1 and 2, or its own alone. With no
        # branch: whether a card names a suit no processor can foresee.
        own = (place & SUIT_BITS) >> FOUR
        nominates, recolors = names & (card & rules.nominating != U0), names & (card & rules.recoloring != U0)
        first = select(nominates, U0, select(recolors, min(own, U3 - own), own))
        apart = select(nominates, U1, select(recolors, U3 - U2 * first, U0))
        # Four moves are written, whatever the card has: what comes next overwrites the others.
        fill(slate, CARD + move, place)
        for number in range(FILLED):
            write(slate, NEW_SUIT + move + np.uint64(number), first + np.uint64(number) * apart)
        fill(slate, REST + move, rest)
        fill(slate, UNSEEN + move, unseen)
        if two_decks:
            fill(slate, SECOND_REST + move, second_rest)
            fill(slate, SECOND_UNSEEN + move, second_unseen)
        fill(slate, SHED_POINTS + move, np.uint64(shed))
        fill(slate, SITUATION + move, situation)
        move += select(nominates, FOUR, select(recolors, U2, U1))
    return move


@inlined
def weigh_moves(slate, end, rules, bots, build):
    """Compute features and scores of the moves on the slate that lie before ``end``."""
    start = U0
    while start < end:
        for number in range(BLOCK):
            _find_features(slate, start + number, rules, build)
        start += BLOCK
    # A pass of its own: in one loop with the features LLVM keeps those of a block for the rows of weights, far more
    # than there are registers, and weighing takes twice as long.
    for row in range(len(bots.weights)):
        start = U0
        while start < end:
            for number in range(BLOCK):
                _find_score(slate, start + number, np.uint64(row), bots.weights[row])
            start += BLOCK


@inlined
def _find_features(slate, move, rules, build):
    """Compute the features of one move, in the order of `craits_sim.features.FEATURES`."""
    players, two_decks = rules.players, len(build.decks) > 1
    place, suit = read(slate, CARD + move), suit_at(read(slate, NEW_SUIT + move) << FOUR)
    card = U1 << (place & (SECOND_COPY - U1))
    rest, unseen = read(slate, REST + move), read(slate, UNSEEN + move)
    second_rest, second_unseen = U0, U0
    if two_decks:
        second_rest, second_unseen = read(slate, SECOND_REST + move), read(slate, SECOND_UNSEEN + move)
    situation = read(slate, SITUATION + move)
    nearest, seat = (situation >> AT_NEAREST) & THREE_BITS, (situation >> AT_SEAT) & FOUR_BITS
    standing = (((situation >> AT_STANDING) & FOUR_BITS) ^ EIGHT) - EIGHT
    forward, crank = (situation >> AT_FORWARD) & U1, situation >> AT_CRANK
    acts = crank == U0  # in a crank a card has no other effect

    rank_matches = same_rank(place) & rules.rank_match
    if rules.ability_match != U0:
        rank_matches = look_up(rules.matched, place & RANK_BITS)
    follow = may_follow(rules, rank_matches, suit, False)
    follows = popcount(rest & follow) + popcount(second_rest & follow)
    size = popcount(rest) + popcount(second_rest)
    stuck = (size != U0) & (follows == U0)
    shed = read(slate, SHED_POINTS + move)
    is_wild = bit(card & (rules.wild | rules.nominating) != U0)
    keeps_threes = rules.threes_mode != NONE

    forward ^= bit(acts & (card & rules.reversing != U0))
    neighbor = seat_after(seat, U1, forward, players)
    following = seat_after(seat, select(acts, nibble(rules.advance, place), U1), forward, players)
    near = (situation >> (neighbor * U3)) & THREE_BITS
    next_near = select(following == seat, U0, (situation >> (following * U3)) & THREE_BITS)
    skipped = select(acts, nibble(rules.skip_count, place), U0)
    amount = select(acts, nibble(rules.draw_amount, place), U0)
    drawers = select(card & rules.all_draw != U0, players - U1, U1)
    again = acts & (card & rules.again != U0)

    starts = acts & (card & rules.crank_starters != U0)
    after = select(starts | (not acts), crank + nibble(rules.crank_value, place), U0)
    answers = popcount(rest & rules.crank_cards) + popcount(second_rest & rules.crank_cards)
    kept = (after == U0) & (card & rules.crank_cards != U0)

    write(slate, SHED + move, shed)
    write(slate, SHED_LATE + move, shed * nearest)
    write(slate, SHED_BEHIND + move, shed * standing)
    write(slate, THREE + move, bit(keeps_threes & (card & THREES != U0)))
    write(slate, WILD + move, is_wild)
    write(slate, WILD_LATE + move, is_wild * nearest)
    write(slate, FOLLOWS + move, follows)
    write(slate, SUIT + move, popcount(rest & suit) + popcount(second_rest & suit))
    write(slate, STUCK + move, bit(stuck))
    write(slate, LAST_FOLLOWS + move, bit((size == U1) & (follows == U1)))
    write(slate, UNSEEN_FOLLOWS + move, popcount(unseen & follow) + popcount(second_unseen & follow))
    write(slate, NEXT_NEAR + move, next_near)
    write(slate, SKIPS + move, skipped)
    write(slate, SKIPS_NEAR + move, skipped * near)
    write(slate, DRAWS + move, amount * drawers)
    write(slate, DRAWS_NEAR + move, amount * near)
    write(slate, AGAIN + move, bit(again & (follows != U0)))
    write(slate, AGAIN_STUCK + move, bit(again & stuck))
    write(slate, CRANK_STARTS + move, bit(starts))
    write(slate, CRANK_ANSWERS + move, select(after != U0, answers, U0))
    write(slate, CRANK_DANGER + move, select(answers == U0, after, U0))
    write(slate, CRANK_KEPT + move, bit(kept))


@inlined
def _find_score(slate, move, row, weights):
    """Score one move if it is weighed by this row of weights."""
    score = U0
    for feature in range(ALL_FEATURES):
        score += look_up(weights, np.uint64(feature)) * read(slate, FIRST_FEATURE + np.uint64(feature) * ROW + move)
    weighing = (read(slate, SITUATION + move) >> AT_WEIGHING) & FOUR_BITS
    write(slate, SCORE + move, select(weighing == row, score, read(slate, SCORE + move)))
