"""What happens between steps: the rare and the intricate, one lane at a time, to be read beside RULES.md.

A lane comes here when its status says so: somebody has emptied a hand, or the round is blocked or cut. The referee
decides what that means, and sets the lane going again, or scores the round and deals the next.
"""

import numpy as np

from craits_sim.encode import NEXT_DEALER_CODES
from craits_sim.kernel._jit import compiled, inlined
from craits_sim.kernel.deal import act_as_starter, clear_table, deal_round, first_dealer, open_streams
from craits_sim.kernel.details import end_crank, write_details
from craits_sim.kernel.lanes import (
    CRANK,
    DEALER,
    DRAWER,
    GAME,
    NOBODY,
    OWED,
    PLAYER,
    ROUND,
    STATUS,
    SUIT,
    TURNS,
    WINNER,
    Status,
)
from craits_sim.kernel.ledger import (
    CRANK_DRAWN,
    CRANKS,
    DRAWN,
    RESHUFFLES,
    SEAT_FORCED,
    SEAT_SKIPS,
    SEAT_TURNS,
)
from craits_sim.kernel.moves import note_standings
from craits_sim.kernel.score import points_left
from craits_sim.kernel.step import (
    ANSWERED,
    BLOCKED,
    BY_CRANK,
    KEPT_IN,
    OWED_NOW,
    OWED_ONE,
    OWN,
    PLAYING_OUT,
    RUNNING,
    TRUNCATED,
    WENT_OUT,
    seat_after,
)
from craits_sim.kernel.table import (
    SECOND_COPY,
    can_draw,
    hand_of,
    holds_none,
    next_seat,
    one_card,
    suit_number,
    top_card,
)
from craits_sim.kernel.watch import (
    BLOCKED_END,
    CUT,
    DEAL,
    GO_OUT,
    NO_CARD,
    NO_SEAT,
    NO_SUIT,
    SCORE,
    STARTER,
    loses_turn,
    note,
)
from craits_sim.kernel.words import U0, U1, U2, lowest_card
from craits_sim.results import WIN_UNIT, Ending

IDLE = np.uint64(Status.IDLE)
ENDED_OUT, ENDED_BLOCKED, ENDED_CUT = (int(ending) for ending in Ending)
LEFT, WINNER_DEALS, LOSER_DEALS, SAME = (NEXT_DEALER_CODES[name] for name in ("left", "winner", "loser", "same"))


@inlined
def seat_game(lanes, lane, seed, game, ledger, rules):
    """Give a lane a new game; gives the dealer of its first round."""
    lanes[GAME + lane] = game
    lanes[ROUND + lane] = U0
    for seat in range(rules.players):
        ledger.totals[lane, seat] = 0
        ledger.pressure[lane, seat] = 0
        ledger.shuffles[lane, seat] = 0
    dealer = first_dealer(seed, game, rules)
    ledger.first_dealer[lane] = dealer
    return dealer


@inlined
def start_round(lanes, lane, seed, dealer, ledger, rules, bots, build, desk, order, watch):
    """Deal a round and let the starter act."""
    clear_table(lanes, lane, dealer, ledger, rules)
    open_streams(lanes, lane, seed, bots)
    deal_round(lanes, lane, dealer, rules, build, order)
    open_round(lanes, lane, ledger, rules, bots, build, desk, watch)


@inlined
def open_round(lanes, lane, ledger, rules, bots, build, desk, watch):
    """Let the starter act on the hands that were dealt."""
    if len(watch.events) > 0:
        _note_deal(lanes, lane, rules, watch)
    note_standings(lanes, lane, ledger.totals[lane], rules.players, build)
    act_as_starter(lanes, lane, ledger, rules, bots, build, desk)
    if len(watch.events) > 0:
        _note_starter(lanes, lane, watch)


@compiled
def _note_starter(lanes, lane, watch):
    """Record the starter."""
    card, suit = top_card(lanes, lane), suit_number(lanes[SUIT + lane])
    note(watch, lanes, lane, STARTER, lanes[DEALER + lane], card, suit, np.int64(0))


@compiled
def _note_hand(watch, lanes, lane, seat, cards, copy):
    """Record the cards of a seat as dealt to it."""
    while cards != U0:
        note(watch, lanes, lane, DEAL, seat, lowest_card(cards) + copy, NO_SUIT, np.int64(0))
        cards &= cards - U1


@compiled
def _note_deal(lanes, lane, rules, watch):
    """Record who was dealt what."""
    dealer = lanes[DEALER + lane]
    for offset in range(1, rules.players + U1):
        seat = (dealer + np.uint64(offset)) % rules.players
        hand, second_hand = hand_of(lanes, lane, seat)
        _note_hand(watch, lanes, lane, seat, hand, U0)
        _note_hand(watch, lanes, lane, seat, second_hand, SECOND_COPY)


@inlined
def goes_on(lanes, lane, row, rules, build, batch, watch):
    """Decide what a waiting lane that owes no cards does next; whether its round goes on.

    Where it does, the lane runs again; where it does not, the round can be scored. ``row`` is that of the lane's game
    in the batch.
    """
    if lanes[STATUS + lane] == KEPT_IN:
        if can_draw(lanes, lane, rules):
            _draw_instead_of_going_out(lanes, lane, rules)
            return True
        lanes[PLAYER + lane] = _seat_without_cards(lanes, lane, rules)
        if rules.last_cranks == U0:
            end_crank(lanes, lane, row, batch, build)
        lanes[STATUS + lane] = WENT_OUT
        note(watch, lanes, lane, GO_OUT, lanes[PLAYER + lane], NO_CARD, NO_SUIT, np.int64(0))
    status = lanes[STATUS + lane]
    if status == WENT_OUT and lanes[WINNER + lane] == NOBODY:
        lanes[WINNER + lane] = lanes[PLAYER + lane]
        if rules.next_pays != U0 and lanes[CRANK + lane] != U0:
            lanes[OWED + lane] = (lanes[CRANK + lane] << OWED_NOW) | BY_CRANK
            lanes[DRAWER + lane] = next_seat(lanes, lane, lanes[PLAYER + lane], rules)
            end_crank(lanes, lane, row, batch, build)
            return True
    if (status == WENT_OUT or status == ANSWERED) and lanes[CRANK + lane] != U0:
        return _passes_crank_on(lanes, lane, rules, watch)
    return False


@compiled
def _seat_without_cards(lanes, lane, rules):
    seat = U0
    while not holds_none(lanes, lane, seat):
        seat += U1
    return seat


@inlined
def _draw_instead_of_going_out(lanes, lane, rules):
    """Let the seat that emptied its hand draw one card and stay in (going_out.again, going_out.on_ability)."""
    lanes[OWED + lane] = OWED_ONE | OWN
    lanes[DRAWER + lane] = _seat_without_cards(lanes, lane, rules)
    if rules.last_again_draws != U0 and one_card(top_card(lanes, lane)) & rules.again != U0:
        lanes[PLAYER + lane] = next_seat(lanes, lane, lanes[PLAYER + lane], rules)
    lanes[STATUS + lane] = TRUNCATED if lanes[TURNS + lane] >= rules.turn_cap else RUNNING


@compiled
def _passes_crank_on(lanes, lane, rules, watch):
    """Give the turn to the next seat that must answer a crank that is played out; or False (RULES.md R16)."""
    last_to_add = lanes[PLAYER + lane]
    seat = next_seat(lanes, lane, last_to_add, rules)
    while seat != last_to_add and (holds_none(lanes, lane, seat) or loses_turn(lanes, lane, seat, watch)):
        seat = next_seat(lanes, lane, seat, rules)
    lanes[PLAYER + lane] = seat
    lanes[STATUS + lane] = PLAYING_OUT
    return seat != last_to_add


@inlined
def score_round(lanes, lane, row, ledger, rules, build, batch, watch):
    """Score the round into row ``row`` of the batch (RULES.md R13, R17), and give the next dealer (R3)."""
    players, dealer, winner = rules.players, lanes[DEALER + lane], lanes[WINNER + lane]
    round_ = lanes[ROUND + lane]
    somebody_won, blocked = winner != NOBODY, lanes[STATUS + lane] == BLOCKED
    if not somebody_won:
        note(watch, lanes, lane, BLOCKED_END if blocked else CUT, NO_SEAT, NO_CARD, NO_SUIT, np.int64(0))
    end_crank(lanes, lane, row, batch, build)
    if len(build.details) > 0:
        write_details(lanes, lane, row, dealer, ledger, rules, batch)
    counts = ledger.counts[lane]
    batch.dealer[round_, row] = dealer
    batch.went_out[round_, row] = np.int64(winner) if somebody_won else -1
    batch.ending[round_, row] = ENDED_OUT if somebody_won else (ENDED_BLOCKED if blocked else ENDED_CUT)
    batch.turns[round_, row] = lanes[TURNS + lane]
    batch.drawn[round_, row] = counts[DRAWN]
    batch.crank_drawn[round_, row] = counts[CRANK_DRAWN]
    batch.reshuffles[round_, row] = counts[RESHUFFLES]
    batch.cranks[round_, row] = counts[CRANKS]

    points = batch.points[:, round_, row]
    score_hands(lanes, lane, dealer, winner, rules, points)
    for offset in range(players):
        seat = seat_after(dealer, np.uint64(offset), U1, players)
        batch.seat_turns[offset, round_, row] = counts[np.uint64(SEAT_TURNS) + seat]
        batch.skips[offset, round_, row] = counts[np.uint64(SEAT_SKIPS) + seat]
        batch.forced[offset, round_, row] = counts[np.uint64(SEAT_FORCED) + seat]
    for offset in range(players):
        seat = seat_after(dealer, np.uint64(offset), U1, players)
        points[offset] += ledger.pressure[lane, seat]
        ledger.pressure[lane, seat] = 0
        ledger.totals[lane, seat] += points[offset]
    if len(watch.events) > 0:
        _note_scores(lanes, lane, points, rules, watch)
    return _next_dealer(dealer, winner, points, rules)


@inlined
def score_hands(lanes, lane, first, winner, rules, points):
    """Write what the hands of a round that is over count, by offset from a seat, into ``points`` (R13, R17)."""
    players = rules.players
    lowest = np.int64(1 << 62)
    for offset in range(players):
        seat = seat_after(first, np.uint64(offset), U1, players)
        hand, second_hand = hand_of(lanes, lane, seat)
        points[offset] = np.int64(0) if seat == winner else points_left(hand, second_hand, rules)
        lowest = min(lowest, points[offset])
    if rules.lowest_zero != U0 and winner == NOBODY:
        for offset in range(players):
            if points[offset] == lowest:
                points[offset] = 0


@compiled
def _note_scores(lanes, lane, points, rules, watch):
    """Record what each seat scores; ``points`` are by offset from the dealer."""
    for number in range(rules.players):
        seat = np.uint64(number)
        offset = (seat + rules.players - lanes[DEALER + lane]) % rules.players
        note(watch, lanes, lane, SCORE, seat, NO_CARD, NO_SUIT, points[offset])


@inlined
def _next_dealer(dealer, winner, points, rules):
    """Give the seat that deals the next round (RULES.md R3); ``points`` are by offset from this round's dealer."""
    if rules.next_dealer == SAME:
        return dealer
    if rules.next_dealer == LEFT or winner == NOBODY:
        return seat_after(dealer, U1, U1, rules.players)
    if rules.next_dealer == WINNER_DEALS:
        return winner
    loser = U1
    for offset in range(2, rules.players + U1):
        if points[np.uint64(offset) % rules.players] > points[loser]:
            loser = np.uint64(offset) % rules.players
    return seat_after(dealer, loser, U1, rules.players)


@inlined
def score_game(lanes, lane, row, ledger, rules, batch):
    """Write totals and wins of the finished game into row ``row`` of the batch (RULES.md R7)."""
    players = rules.players
    batch.first_dealer[row] = ledger.first_dealer[lane]
    for seat in range(players):
        batch.totals[seat, row] = ledger.totals[lane, seat]
    wins = batch.wins[:, row]
    if rules.first_out_wins != U0:
        if lanes[WINNER + lane] != NOBODY:
            wins[lanes[WINNER + lane]] = WIN_UNIT
            if rules.partners != U0:
                wins[lanes[WINNER + lane]] = WIN_UNIT // 2
                wins[(lanes[WINNER + lane] + U2) % players] = WIN_UNIT // 2
        return
    best = np.int64(0)
    winners = 0
    for seat in range(players):
        total = _side_total(ledger.totals[lane], np.uint64(seat), rules)
        if winners == 0 or total < best:
            best, winners = total, 1
        elif total == best:
            winners += 1
    for seat in range(players):
        if _side_total(ledger.totals[lane], np.uint64(seat), rules) == best:
            wins[seat] = WIN_UNIT // winners


@compiled
def _side_total(totals, seat, rules):
    """Give the total that decides for a seat: its own, or its side's where partners play."""
    if rules.partners == U0:
        return totals[seat]
    return totals[seat] + totals[(seat + U2) % rules.players]
