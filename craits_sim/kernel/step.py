"""One step of the game in every lane: one card is drawn, or one card is played.

**How to read this.** 64 games are played in lockstep, each in a lane. A game alone would be written with ``if``: if
the seat can play it plays, else it draws. Here every lane goes through the same straight line of arithmetic: both
outcomes are computed and ``select(condition, a, b)`` keeps the right one. That is more work and three times faster, for
no branch is mispredicted and each instruction serves eight lanes (``craits bench --asm`` shows whether it does).

What makes it vectorize, and must stay: no branch, and no call that is not inlined; nothing but uint64; one flat array
with constant distances between rows (``lanes.py``); rule tables read through ``look_up``.

A step has three parts: from which cards one is taken, which one it is, and what that does. They are three loops because
a processor works ahead over some 300 instructions: each part of one group of lanes then overlaps with the same part of
the next (one loop is 12 % slower with vectors of 512 bits; two are 24 % slower without vectors).

No rule has a name here: which cards skip, or may be played, are sets (``encode.py``), and whether a card skips is one
``and``. Whatever is rare or intricate waits for the code between steps (``referee.py``); the lane's status says why.
"""

import numpy as np

from craits_sim import encode
from craits_sim.kernel._jit import inlined
from craits_sim.kernel.build import seat_field
from craits_sim.kernel.lanes import (
    CHOICE_S0,
    CHOICE_S1,
    CHOICE_TURNS,
    COUNT_FIELD,
    COUNTS,
    CRANK,
    DECK_S0,
    DECK_S1,
    DISCARDS,
    DRAWER,
    DRAWS,
    DUG,
    ENDED_CRANK,
    ENDED_CRANKS,
    FLAGS,
    FORCED_BY_SEAT,
    FORWARD,
    HANDS,
    IDLE_TURNS,
    LANES,
    MATCHING,
    MOVED,
    NAMED,
    OFFERED,
    OWED,
    PAID_BY_SEAT,
    PICK,
    PLAYER,
    PLAYS,
    RANDOM_BITS,
    RESHUFFLES,
    SECOND_DECK,
    SECOND_HANDS,
    SKIPS_BY_SEAT,
    SOURCE,
    STATUS,
    STOCK,
    STRIDE,
    SUIT,
    TOP,
    TURNS,
    TURNS_BY_SEAT,
    Status,
)
from craits_sim.kernel.streams import advance, below
from craits_sim.kernel.words import (
    ALL_BITS,
    U0,
    U1,
    U2,
    U3,
    bit,
    kth_card,
    look_up,
    popcount,
    position,
    read,
    select,
    write,
)
from craits_sim.results import Cause

RUNNING, PLAYING_OUT, WENT_OUT, ANSWERED, KEPT_IN, BLOCKED, TRUNCATED = (
    np.uint64(status) for status in list(Status)[:7]
)

FOUR_BITS = np.uint64(0xF)
RANK_BITS = np.uint64(0xF)  # of a card's position
SUIT_BITS = np.uint64(0x30)  # 16 times the suit, of a card's position
ONE_SUIT = np.uint64(0x1FFF)
EVERY_SUIT = np.uint64(encode.EVERY_SUIT)
BLACK, RED = np.uint64(0x1FFF_0000_0000_1FFF), np.uint64(0x0000_1FFF_1FFF_0000)

OWED_NOW = np.uint64(encode.OWED_NOW)
OWED_ONE = np.uint64(1 << encode.OWED_NOW)
OWED_DRAWERS = np.uint64(encode.OWED_DRAWERS)
ONE_DRAWER = np.uint64(1 << encode.OWED_DRAWERS)
MORE_DRAWERS = np.uint64(0xF << encode.OWED_DRAWERS)
OWN, BY_ABILITY, BY_CRANK, PENALTY = (np.uint64(cause << encode.OWED_CAUSE) for cause in Cause)
CAUSES = np.uint64(3 << encode.OWED_CAUSE)


@inlined
def nibble(word, place):
    """Give the four bits that a word of nibbles has for the rank of a card at this position."""
    return (word >> ((place & RANK_BITS) << U2)) & FOUR_BITS


@inlined
def suit_at(sixteenfold):
    """Give the set of all cards of a suit, from 16 times its number."""
    return ONE_SUIT << sixteenfold


@inlined
def same_rank(place):
    """Give the set of the cards that have the rank of the card at this position."""
    return EVERY_SUIT << (place & RANK_BITS)


@inlined
def may_follow(rules, matching, suit, in_crank):
    """Give the set of cards that may be played now (RULES.md R8, R14)."""
    of_color = select(suit & BLACK != U0, BLACK, RED) & rules.color_match
    return select(in_crank, rules.crank_cards, matching | rules.wild | suit | of_color)


@inlined
def seat_after(seat, seats_on, forward, players):
    """Give the seat ``seats_on`` (0 to players - 1) further on in the direction of play."""
    there = seat + select(forward != U0, seats_on, players - seats_on)
    return select(there >= players, there - players, there)


@inlined
def is_greedy(bots, player, build):
    """Whether a greedy bot plays for the player."""
    return (len(build.greedy) > 0) & ((bots.greedy_seats >> player) & U1 != U0)


@inlined
def shed_first(cards, second_cards, shed_order):
    """Give the cards of a set (first and second decks' cards) that greedy sheds first."""
    chosen, second_chosen = cards, second_cards
    for place in range(12, -1, -1):
        worth = look_up(shed_order, np.uint64(place))
        any_of_worth = (cards | second_cards) & worth != U0
        chosen = select(any_of_worth, cards & worth, chosen)
        second_chosen = select(any_of_worth, second_cards & worth, second_chosen)
    return chosen, second_chosen


@inlined
def count_suit(hand, second_hand, suit):
    """Count the cards of a suit (a set) in a hand (first and second decks' cards)."""
    return popcount(hand & suit) + popcount(second_hand & suit)


@inlined
def longest_suit(hand, second_hand):
    """Give 16 times the suit with the most cards in a hand; of equals the first."""
    longest, most = U0, count_suit(hand, second_hand, suit_at(U0))
    for number in range(1, 4):
        sixteenfold = np.uint64(16 * number)
        count = count_suit(hand, second_hand, suit_at(sixteenfold))
        longest, most = select(count > most, sixteenfold, longest), select(count > most, count, most)
    return longest


@inlined
def has_more_of_other(hand, second_hand, sixteenfold):
    """Whether a hand holds more cards of the other suit of the color than of the suit itself."""
    of_other = count_suit(hand, second_hand, suit_at(sixteenfold ^ SUIT_BITS))
    return of_other > count_suit(hand, second_hand, suit_at(sixteenfold))


@inlined
def random_suit(bits):
    """Name a suit as the random bot does (16 times its number)."""
    return (bits & U3) << np.uint64(4)


@inlined
def random_recolors(bits):
    """Whether the random bot changes the suit."""
    return bits & np.uint64(4) != U0


@inlined
def step(lanes, rules, bots, build):
    """Draw or play one card in every lane that is running or has cards to draw.

    Parameters
    ----------
    lanes : uint64 array, shape (ROWS * STRIDE,)
        The games (``lanes.py``), changed in place.
    rules : EncodedRules
    bots : EncodedBots
    build : Build
        Seats and decks of the table, whether any bot is greedy, and whether details are counted. What a build does not
        need is a constant zero below and costs nothing.
    """
    for lane in range(LANES):
        choose_source(lanes, lane, rules, bots, build)
    for lane in range(LANES):
        pick_card(lanes, lane, build)
    for lane in range(LANES):
        take_effect(lanes, lane, rules, bots, build)


@inlined
def choose_source(lanes, lane, rules, bots, build):
    """First part of a step: find who acts, and the cards of which one is drawn or played."""
    two_decks = len(build.decks) > 1
    owed, drawer = read(lanes, OWED + lane), read(lanes, DRAWER + lane)
    player, dug = read(lanes, PLAYER + lane), read(lanes, DUG + lane)

    # Who acts: the drawer of a card that is owed, else the player, unless the lane waits for the referee.
    owes = owed != U0
    acts = (not owes) & (read(lanes, STATUS + lane) <= PLAYING_OUT)
    actor = select(owes, drawer, player)
    hand, second_hand = U0, U0
    for number in range(len(build.seats)):
        seat = np.uint64(number)
        hand = select(actor == seat, read(lanes, HANDS + seat * STRIDE + lane), hand)
        if two_decks:
            second_hand = select(actor == seat, read(lanes, SECOND_HANDS + seat * STRIDE + lane), second_hand)

    # A player plays if able, else draws: at once, and on where the rules let a seat dig until able to play.
    in_crank = read(lanes, CRANK + lane) != U0
    follow = may_follow(rules, read(lanes, MATCHING + lane), read(lanes, SUIT + lane), in_crank)
    playable, second_playable = hand & follow & read(lanes, OFFERED + lane), U0
    if two_decks:
        second_playable = second_hand & follow & read(lanes, OFFERED + SECOND_DECK + lane)
    plays = acts & (playable | second_playable != U0)
    digs_on = (rules.draw_until_playable != U0) & (dug < rules.draw_limit)
    wants_card = owes | (acts & (not plays) & ((dug == U0) | digs_on))

    # When the stock is empty, the discards under the top card become the stock.
    stock, discards = read(lanes, STOCK + lane), read(lanes, DISCARDS + lane)
    second_stock, second_discards = U0, U0
    if two_decks:
        second_stock = read(lanes, STOCK + SECOND_DECK + lane)
        second_discards = read(lanes, DISCARDS + SECOND_DECK + lane)
    refill = (discards | second_discards) & rules.reshuffle != U0
    reshuffles = wants_card & (stock | second_stock == U0) & refill
    stock, discards = select(reshuffles, discards, stock), select(reshuffles, U0, discards)
    second_stock = select(reshuffles, second_discards, second_stock)
    second_discards = select(reshuffles, U0, second_discards)
    draws = wants_card & (stock | second_stock != U0)

    # Random bits, from the stream of the deck or from that of the choices.
    deck_s0, deck_s1 = read(lanes, DECK_S0 + lane), read(lanes, DECK_S1 + lane)
    choice_s0, choice_s1 = read(lanes, CHOICE_S0 + lane), read(lanes, CHOICE_S1 + lane)
    z, s0, s1 = advance(select(draws, deck_s0, choice_s0), select(draws, deck_s1, choice_s1))
    write(lanes, DECK_S0 + lane, select(draws, s0, deck_s0))
    write(lanes, DECK_S1 + lane, select(draws, s1, deck_s1))
    write(lanes, CHOICE_S0 + lane, select(plays, s0, choice_s0))
    write(lanes, CHOICE_S1 + lane, select(plays, s1, choice_s1))

    # The card: one of the stock, or one of the playable cards.
    source, second_source = select(draws, stock, playable), select(draws, second_stock, second_playable)
    greedy = plays & is_greedy(bots, player, build)
    sheds, second_sheds = shed_first(source, second_source, bots.shed_order)
    source, second_source = select(greedy, sheds, source), select(greedy, second_sheds, second_source)
    of_first = popcount(source)
    pick = select(greedy, U0, below(z, of_first + popcount(second_source)))
    source = select(draws | plays, source, U0)
    write(lanes, SOURCE + lane, source)
    if two_decks:
        write(lanes, SOURCE + SECOND_DECK + lane, select(draws | plays, second_source, U0))
    write(lanes, PICK + lane, pick)
    flags = select(plays, PLAYS, U0) | select(draws, DRAWS, U0) | select(reshuffles, RESHUFFLES, U0)
    write(lanes, FLAGS + lane, flags | (z << RANDOM_BITS))
    write(lanes, STOCK + lane, stock)
    write(lanes, DISCARDS + lane, discards)
    if two_decks:
        write(lanes, STOCK + SECOND_DECK + lane, second_stock)
        write(lanes, DISCARDS + SECOND_DECK + lane, second_discards)
    if len(build.details) > 0:
        several = popcount(hand & follow) + popcount(second_hand & follow) > U1
        write(lanes, CHOICE_TURNS + lane, read(lanes, CHOICE_TURNS + lane) + bit(plays & several))


@inlined
def pick_card(lanes, lane, build):
    """Second part: pick the card from its set."""
    source, pick = read(lanes, SOURCE + lane), read(lanes, PICK + lane)
    if len(build.decks) == 1:
        write(lanes, MOVED + lane, kth_card(source, pick))
        return
    of_first = popcount(source)
    second_copy = pick >= of_first
    second_source = read(lanes, SOURCE + SECOND_DECK + lane)
    card = kth_card(select(second_copy, second_source, source), pick - select(second_copy, of_first, U0))
    write(lanes, MOVED + lane, select(second_copy, U0, card))
    write(lanes, MOVED + SECOND_DECK + lane, select(second_copy, card, U0))


@inlined
def take_effect(lanes, lane, rules, bots, build):
    """Third part: move the card; what it does, whose turn is next, and what is counted."""
    two_decks = len(build.decks) > 1
    players = rules.players
    width = seat_field(build)
    status, player = read(lanes, STATUS + lane), read(lanes, PLAYER + lane)
    owed, drawer = read(lanes, OWED + lane), read(lanes, DRAWER + lane)
    dug, crank = read(lanes, DUG + lane), read(lanes, CRANK + lane)
    flags = read(lanes, FLAGS + lane)
    plays, draws = flags & PLAYS != U0, flags & DRAWS != U0
    owes = owed != U0
    acts = (not owes) & (status <= PLAYING_OUT)
    yields = acts & (not plays)
    begins = acts & (dug == U0)
    in_crank = crank != U0
    actor = select(owes, drawer, player)

    # The card moves from the stock to the actor's hand, or from there to the top of the discard pile.
    first_card, second_card = read(lanes, MOVED + lane), U0
    kept, second_kept = U0, U0
    if two_decks:
        second_card = read(lanes, MOVED + SECOND_DECK + lane)
    for number in range(len(build.seats)):
        seat = np.uint64(number)
        row = HANDS + seat * STRIDE + lane
        hand = read(lanes, row) ^ select(actor == seat, first_card, U0)
        kept = select(actor == seat, hand, kept)
        write(lanes, row, hand)
        if two_decks:
            row = SECOND_HANDS + seat * STRIDE + lane
            hand = read(lanes, row) ^ select(actor == seat, second_card, U0)
            second_kept = select(actor == seat, hand, second_kept)
            write(lanes, row, hand)
    top = read(lanes, TOP + lane)
    write(lanes, STOCK + lane, read(lanes, STOCK + lane) ^ select(draws, first_card, U0))
    write(lanes, DISCARDS + lane, read(lanes, DISCARDS + lane) | select(plays, top, U0))
    write(lanes, TOP + lane, select(plays, first_card, top))
    if two_decks:
        top = read(lanes, TOP + SECOND_DECK + lane)
        stock, discards = read(lanes, STOCK + SECOND_DECK + lane), read(lanes, DISCARDS + SECOND_DECK + lane)
        write(lanes, STOCK + SECOND_DECK + lane, stock ^ select(draws, second_card, U0))
        write(lanes, DISCARDS + SECOND_DECK + lane, discards | select(plays, top, U0))
        write(lanes, TOP + SECOND_DECK + lane, select(plays, second_card, top))
    card = first_card | second_card
    place = position(card)

    # Outside a crank a card has its ability; as the card that its player goes out with, only what outlives that.
    last = plays & (kept | second_kept == U0)
    kept_in = last & (status == RUNNING) & (card & select(in_crank, rules.stays_in_crank, rules.stays) != U0)
    goes_out = last & (not kept_in)
    has_ability = plays & (not in_crank)
    acts_fully = has_ability & (not goes_out)

    # The suit to follow.
    greedy = plays & is_greedy(bots, player, build)
    bits = flags >> RANDOM_BITS
    own = place & SUIT_BITS
    nominated = select(greedy, longest_suit(kept, second_kept), random_suit(bits))
    changes = (greedy & has_more_of_other(kept, second_kept, own)) | ((not greedy) & random_recolors(bits))
    recolors = acts_fully & (card & rules.recoloring != U0)
    nominates = acts_fully & (card & rules.nominating != U0)
    chosen = select(nominates, nominated, select(recolors & changes, own ^ SUIT_BITS, own))
    named = read(lanes, NAMED + lane)
    suit = select((nominates | recolors) & (named != U0), named, suit_at(chosen))
    write(lanes, SUIT + lane, select(plays, suit, read(lanes, SUIT + lane)))
    matching = same_rank(place) & rules.rank_match
    write(lanes, MATCHING + lane, select(plays, matching, read(lanes, MATCHING + lane)))

    # Direction, the next seats, the crank.
    forward = read(lanes, FORWARD + lane) ^ bit(acts_fully & (card & rules.reversing != U0))
    neighbor = seat_after(actor, U1, forward, players)
    following = seat_after(player, select(acts_fully, nibble(rules.advance, place), U1), forward, players)
    value = nibble(rules.crank_value, place)
    count = select(in_crank, crank + value, select(card & rules.crank_starters != U0, value, U0))
    count &= select(goes_out, rules.last_cranks, ALL_BITS)
    write(lanes, FORWARD + lane, forward)
    write(lanes, CRANK + lane, select(plays, count, select(yields, U0, crank)))

    # The cards that are owed now. Where there is none left to draw, nothing is owed any more.
    rest = owed - OWED_ONE
    has_drawn_all = rest < OWED_ONE
    next_draws = has_drawn_all & (rest & MORE_DRAWERS != U0)
    for_next = rest - ONE_DRAWER + ((rest & FOUR_BITS) << OWED_NOW)
    rest = select(has_drawn_all, select(next_draws, for_next, U0), rest)
    more = select(in_crank, crank, select(dug == U0, rules.draw_count, U1)) - U1
    by_player = select(more != U0, (more << OWED_NOW) | select(in_crank, BY_CRANK, OWN), U0)
    still_owed = select(draws, select(owes, rest, by_player), U0)
    amount = nibble(rules.draw_amount, place)
    from_all = amount | ((players - U2) << OWED_DRAWERS)
    by_others = (amount << OWED_NOW) | BY_ABILITY | select(card & rules.all_draw != U0, from_all, U0)
    makes_draw = has_ability & (amount != U0) & ((not goes_out) | (rules.last_draws != U0))
    write(lanes, OWED + lane, select(plays, select(makes_draw, by_others, U0), still_owed))
    write(lanes, DRAWER + lane, select(plays | next_draws, neighbor, actor))

    # Whose turn is next. A seat that may play after drawing keeps its turn for as long as it draws.
    digs = yields & draws & (not in_crank) & (rules.play_drawn != U0)
    dug_now = select(digs, dug + U1, select(owes & (dug != U0), dug + bit(draws), U0))
    write(lanes, DUG + lane, dug_now)
    stays_put = digs | goes_out | (status == PLAYING_OUT)
    write(lanes, PLAYER + lane, select(acts & (not stays_put), following, player))
    turns = read(lanes, TURNS + lane) + bit(begins)
    write(lanes, TURNS + lane, turns)
    idle_turns = select(plays | (draws & acts), U0, read(lanes, IDLE_TURNS + lane) + bit(begins))
    write(lanes, IDLE_TURNS + lane, idle_turns)
    capped = acts & (not digs) & (turns >= rules.turn_cap)
    ends = select(idle_turns >= players, BLOCKED, select(capped, TRUNCATED, status))
    ends = select(kept_in, KEPT_IN, select(goes_out, WENT_OUT, ends))
    ends = select(status == PLAYING_OUT, ANSWERED, ends)
    write(lanes, STATUS + lane, select(acts, ends, status))

    # What is counted.
    cause = select(owes, owed & CAUSES, select(in_crank, BY_CRANK, OWN))
    pays = draws & (cause == BY_CRANK)
    forced = pays | (draws & (cause == BY_ABILITY))
    starts = has_ability & (count != U0)
    counts = bit(draws) | (bit(pays) << COUNT_FIELD) | (bit(flags & RESHUFFLES != U0) << (COUNT_FIELD * U2))
    counts |= bit(starts) << (COUNT_FIELD * U3)
    write(lanes, COUNTS + lane, read(lanes, COUNTS + lane) + counts)
    unit = U1 << (actor * width)
    write(lanes, TURNS_BY_SEAT + lane, read(lanes, TURNS_BY_SEAT + lane) + select(begins, unit, U0))
    write(lanes, FORCED_BY_SEAT + lane, read(lanes, FORCED_BY_SEAT + lane) + select(forced, unit, U0))
    skips = select(acts_fully & (card & rules.skipping != U0), U1 << (neighbor * width), U0)
    write(lanes, SKIPS_BY_SEAT + lane, read(lanes, SKIPS_BY_SEAT + lane) + skips)
    if len(build.details) > 0:
        write(lanes, PAID_BY_SEAT + lane, read(lanes, PAID_BY_SEAT + lane) + select(pays, unit, U0))
        ended = in_crank & (yields | (goes_out & (rules.last_cranks == U0)))
        ended_cranks = read(lanes, ENDED_CRANKS + lane)
        write(lanes, ENDED_CRANKS + lane, select(ended, (ended_cranks << ENDED_CRANK) | crank, ended_cranks))
