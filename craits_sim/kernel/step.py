"""One step of the game in every lane: one card is drawn, or one card is played.

**How to read this.** 64 games are played in lockstep, each in a lane. A game alone would be written with ``if``: if the
seat can play it plays, else it draws. Here every lane goes through the same straight line of arithmetic: both outcomes
are computed and ``select(condition, a, b)`` keeps the right one. That is more work and three times faster, for no branch
is mispredicted and each instruction serves eight lanes (``craits bench --asm`` shows whether it does).

What makes it vectorize, and must stay: no branch, and no call that is not inlined; nothing but uint64; one flat array
with constant distances between rows (``lanes.py``); rule tables read through ``look_up``.

No rule has a name here. The ability of a rank is a word of small fields (``encode.py``) and matching is a set of cards.
Whatever is rare or intricate waits for the code between steps (``referee.py``); the lane's status says why.
"""

import numpy as np

from craits_sim import encode
from craits_sim.kernel._jit import compiled, inlined
from craits_sim.kernel.lanes import (
    BITS,
    CAUSE,
    CHOICE_S0,
    CHOICE_S1,
    COUNT_FIELD,
    COUNTS,
    CRANK,
    DECK_S0,
    DECK_S1,
    DISCARDS,
    DRAWER,
    DRAWS,
    DUG,
    FLAGS,
    FORCED_BY_SEAT,
    FORWARD,
    FREE,
    HANDS,
    IDLE_TURNS,
    KEPT,
    LANES,
    MATCHING,
    MOVED,
    NAMED,
    OFFERED,
    OWED,
    PLAYER,
    PLAYS,
    RESHUFFLED,
    SECOND_DECK,
    SECOND_HANDS,
    SKIPS_BY_SEAT,
    STATUS,
    STOCK,
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

RUNNING, PLAYING_OUT, WENT_OUT, ANSWERED, KEPT_IN, BLOCKED, TRUNCATED = (np.uint64(status) for status in list(Status)[:7])
OWN, BY_ABILITY, BY_CRANK, _ = (np.uint64(cause) for cause in Cause)
FORCED = np.uint64(1 << Cause.ABILITY | 1 << Cause.CRANK)  # the causes that other seats' cards are

FOUR_BITS = np.uint64(0xF)
SUIT_SHIFT = np.uint64(4)  # card = suit << 4 | rank
ONE_SUIT = np.uint64(0x1FFF)
EVERY_SUIT = np.uint64(encode.EVERY_SUIT)
ADVANCE_ONE = np.uint64(1 << encode.ADVANCE)  # the ability word of a card without ability
OWED_ONE = np.uint64(1 << encode.OWED_NOW)
OWED_NOW = np.uint64(encode.OWED_NOW)
ONE_DRAWER = np.uint64(1 << encode.OWED_DRAWERS)
MORE_DRAWERS = np.uint64(0xF << encode.OWED_DRAWERS)
OWED_BITS = np.uint64(0xFFF)
STAYS, STAYS_IN_CRANK = np.uint64(encode.STAYS), np.uint64(encode.STAYS_IN_CRANK)


@inlined
def four_bits(word, start):
    """Give the field of an ability word that starts at bit ``start``."""
    return (word >> np.uint64(start)) & FOUR_BITS


@inlined
def flag(word, start):
    """Whether the bit ``start`` of an ability word is set."""
    return (word >> np.uint64(start)) & U1 != U0


@inlined
def cards_of_suit(suit):
    """Give the set of all cards of a suit."""
    return ONE_SUIT << (suit << SUIT_SHIFT)


@inlined
def matching_cards(ability):
    """Give the set of cards whose rank matches the rank with this ability word (RULES.md R8)."""
    return ((ability >> np.uint64(encode.MATCHED_RANKS)) & ONE_SUIT) * EVERY_SUIT


@inlined
def may_follow(rules, matching, suit, in_crank):
    """Give the set of cards that may be played now (RULES.md R8, R14)."""
    of_color = cards_of_suit(U3 - suit) & rules.color_match
    return select(in_crank, rules.crank_cards, matching | rules.wild | cards_of_suit(suit) | of_color)


@inlined
def seat_after(seat, seats_on, forward, players):
    """Give the seat ``seats_on`` (0 to players - 1) further on in the direction of play."""
    there = seat + select(forward != U0, seats_on, players - seats_on)
    return select(there >= players, there - players, there)


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
def cards_in_suit(cards, second_cards, suit):
    """Count the cards of a suit in a hand (first and second decks' cards)."""
    of_suit = cards_of_suit(suit)
    return popcount(cards & of_suit) + popcount(second_cards & of_suit)


@inlined
def longest_suit(cards, second_cards):
    """Give the suit with the most cards in a hand; of equals the first."""
    longest, most = U0, cards_in_suit(cards, second_cards, U0)
    for number in range(1, 4):
        suit = np.uint64(number)
        count = cards_in_suit(cards, second_cards, suit)
        longest, most = select(count > most, suit, longest), select(count > most, count, most)
    return longest


@inlined
def random_suit(z):
    """Name a suit as the random bot does."""
    return z & U3


@inlined
def random_recolors(z):
    """Whether the random bot changes the suit (1) or not (0)."""
    return (z >> U2) & U1


@compiled
def step(lanes, rules, bots, build):
    """Draw or play one card in every lane that is running or has cards to draw.

    Parameters
    ----------
    lanes : uint64 array, shape (ROWS * LANES,)
        The games (``lanes.py``), changed in place.
    rules : EncodedRules
    bots : EncodedBots
    build : Build
        Seats and decks of the table, and whether any bot is greedy. What a build does not need is a constant zero
        below and costs nothing.
    """
    players = rules.players
    two_decks = len(build.decks) > 1
    seat_field = np.uint64(60 // len(build.seats))
    for lane in range(LANES):
        status = read(lanes, STATUS + lane)
        player = read(lanes, PLAYER + lane)
        owed = read(lanes, OWED + lane)
        drawer = read(lanes, DRAWER + lane)
        dug = read(lanes, DUG + lane)
        crank = read(lanes, CRANK + lane)
        forward = read(lanes, FORWARD + lane)
        suit = read(lanes, SUIT + lane)
        matching = read(lanes, MATCHING + lane)

        # Who acts: the drawer of a card that is owed, else the player, unless the lane waits for the referee.
        owes = owed != U0
        acts = (not owes) & (status <= PLAYING_OUT)
        begins = acts & (dug == U0)
        in_crank = crank != U0
        actor = select(owes, drawer, player)
        hand, second_hand = U0, U0
        for number in range(len(build.seats)):
            seat = np.uint64(number)
            hand = select(actor == seat, read(lanes, HANDS + seat * LANES + lane), hand)
            if two_decks:
                second_hand = select(actor == seat, read(lanes, SECOND_HANDS + seat * LANES + lane), second_hand)

        # A player plays if able, else draws: at once, and on where the rules let a seat dig until able to play.
        follow = may_follow(rules, matching, suit, in_crank)
        playable, second_playable = hand & follow & read(lanes, OFFERED + lane), U0
        if two_decks:
            second_playable = second_hand & follow & read(lanes, OFFERED + SECOND_DECK + lane)
        plays = acts & (playable | second_playable != U0)
        yields = acts & (not plays)
        digs_on = (rules.draw_until_playable != U0) & (dug < rules.draw_limit)
        wants_card = owes | (yields & ((dug == U0) | digs_on))

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
        greedy = plays & (len(build.greedy) > 0) & ((bots.greedy_seats >> player) & U1 != U0)
        sheds, second_sheds = shed_first(source, second_source, bots.shed_order)
        source, second_source = select(greedy, sheds, source), select(greedy, second_sheds, second_source)
        of_first = popcount(source)
        pick = select(greedy, U0, below(z, of_first + popcount(second_source)))
        second_copy = two_decks & (pick >= of_first)
        found = kth_card(select(second_copy, second_source, source), pick - select(second_copy, of_first, U0))
        found = select(draws | plays, found, U0)
        card, second_card = select(second_copy, U0, found), select(second_copy, found, U0)

        # It moves from the stock to the actor's hand, or from there to the top of the discard pile.
        for number in range(len(build.seats)):
            seat = np.uint64(number)
            row = HANDS + seat * LANES + lane
            write(lanes, row, read(lanes, row) ^ select(actor == seat, card, U0))
            if two_decks:
                row = SECOND_HANDS + seat * LANES + lane
                write(lanes, row, read(lanes, row) ^ select(actor == seat, second_card, U0))
        top = read(lanes, TOP + lane)
        write(lanes, STOCK + lane, stock ^ select(draws, card, U0))
        write(lanes, DISCARDS + lane, discards | select(plays, top, U0))
        write(lanes, TOP + lane, select(plays, card, top))
        if two_decks:
            second_top = read(lanes, TOP + SECOND_DECK + lane)
            write(lanes, STOCK + SECOND_DECK + lane, second_stock ^ select(draws, second_card, U0))
            write(lanes, DISCARDS + SECOND_DECK + lane, second_discards | select(plays, second_top, U0))
            write(lanes, TOP + SECOND_DECK + lane, select(plays, second_card, second_top))

        write(lanes, MOVED + lane, card)
        write(lanes, KEPT + lane, hand ^ card)
        if two_decks:
            write(lanes, MOVED + SECOND_DECK + lane, second_card)
            write(lanes, KEPT + SECOND_DECK + lane, second_hand ^ second_card)
        write(lanes, BITS + lane, z)
        write(lanes, FLAGS + lane, bit(plays) | select(draws, DRAWS, U0) | select(reshuffles, RESHUFFLED, U0))

    for lane in range(LANES):
        status = read(lanes, STATUS + lane)
        player = read(lanes, PLAYER + lane)
        owed = read(lanes, OWED + lane)
        drawer = read(lanes, DRAWER + lane)
        dug = read(lanes, DUG + lane)
        crank = read(lanes, CRANK + lane)
        forward = read(lanes, FORWARD + lane)
        suit = read(lanes, SUIT + lane)
        matching = read(lanes, MATCHING + lane)
        owes = owed != U0
        acts = (not owes) & (status <= PLAYING_OUT)
        begins = acts & (dug == U0)
        in_crank = crank != U0
        actor = select(owes, drawer, player)
        flags = read(lanes, FLAGS + lane)
        plays = flags & PLAYS != U0
        draws = flags & DRAWS != U0
        reshuffles = flags & RESHUFFLED != U0
        yields = acts & (not plays)
        z = read(lanes, BITS + lane)
        moved, kept = read(lanes, MOVED + lane), read(lanes, KEPT + lane)
        second_kept = U0
        if two_decks:
            moved |= read(lanes, MOVED + SECOND_DECK + lane)
            second_kept = read(lanes, KEPT + SECOND_DECK + lane)
        place = position(moved)
        greedy = plays & (len(build.greedy) > 0) & ((bots.greedy_seats >> player) & U1 != U0)

        # What a card does when played: outside a crank its ability; as a last card, what outlives going out.
        printed = look_up(rules.abilities, place & FOUR_BITS)
        last = plays & (kept | second_kept == U0)
        kept_in = last & (status == RUNNING) & flag(printed, select(in_crank, STAYS_IN_CRANK, STAYS))
        goes_out = last & (not kept_in)
        ability = select(goes_out, printed & rules.last_card_keeps, printed)
        ability = select(plays & (not in_crank), ability, ADVANCE_ONE)

        own_suit = place >> SUIT_SHIFT
        other_suit = U3 - own_suit
        more_of_other = cards_in_suit(kept, second_kept, other_suit) > cards_in_suit(kept, second_kept, own_suit)
        nominated = select(greedy, longest_suit(kept, second_kept), random_suit(z))
        recolored = select(select(greedy, bit(more_of_other), random_recolors(z)) != U0, other_suit, own_suit)
        nominates, recolors = flag(ability, encode.NOMINATES), flag(ability, encode.RECOLORS)
        to_follow = select(nominates, nominated, select(recolors, recolored, own_suit))
        named = read(lanes, NAMED + lane)
        to_follow = select((nominates | recolors) & (named != FREE), named, to_follow)
        write(lanes, SUIT + lane, select(plays, to_follow, suit))
        write(lanes, MATCHING + lane, select(plays, matching_cards(printed), matching))

        forward ^= (ability >> np.uint64(encode.REVERSES)) & U1
        neighbor = seat_after(actor, U1, forward, players)
        following = seat_after(player, four_bits(ability, encode.ADVANCE), forward, players)
        starts = four_bits(ability, encode.CRANK_START)
        count = select(in_crank, crank + four_bits(printed, encode.CRANK_VALUE), starts)
        count &= select(goes_out, rules.last_card_cranks, ALL_BITS)
        write(lanes, FORWARD + lane, forward)
        write(lanes, CRANK + lane, select(plays, count, select(yields, U0, crank)))

        # The cards that are owed now. Where there is none left to draw, nothing is owed any more.
        rest = owed - OWED_ONE
        has_drawn_all = rest < OWED_ONE
        next_draws = has_drawn_all & (rest & MORE_DRAWERS != U0)
        rest = select(next_draws, rest - ONE_DRAWER + ((rest & FOUR_BITS) << OWED_NOW), select(has_drawn_all, U0, rest))
        by_player = select(in_crank, crank - U1, select(dug == U0, rules.draw_count - U1, U0)) << OWED_NOW
        by_others = (ability >> np.uint64(encode.OWED)) & OWED_BITS
        still_owed = select(draws, select(owes, rest, by_player), U0)
        write(lanes, OWED + lane, select(plays, by_others, still_owed))
        write(lanes, DRAWER + lane, select(plays | next_draws, neighbor, actor))
        cause = select(owes, read(lanes, CAUSE + lane), select(in_crank, BY_CRANK, OWN))
        write(lanes, CAUSE + lane, select(plays, BY_ABILITY, cause))

        # Whose turn is next. A seat that may play after drawing keeps its turn for as long as it draws.
        digs = yields & draws & (not in_crank) & (rules.play_drawn != U0)
        dug_now = select(digs, dug + U1, select(owes & (dug != U0), dug + bit(draws), U0))
        write(lanes, DUG + lane, dug_now)
        stays_put = digs | goes_out | (status == PLAYING_OUT)
        write(lanes, PLAYER + lane, select(acts & (not stays_put), following, player))
        turns = read(lanes, TURNS + lane) + bit(begins)
        write(lanes, TURNS + lane, turns)
        idle_turns = read(lanes, IDLE_TURNS + lane)
        idle_turns = select(plays | draws & acts, U0, idle_turns + bit(begins))
        write(lanes, IDLE_TURNS + lane, idle_turns)
        capped = acts & (not digs) & (turns >= rules.turn_cap)
        ends = select(idle_turns >= players, BLOCKED, select(capped, TRUNCATED, status))
        ends = select(kept_in, KEPT_IN, select(goes_out, WENT_OUT, ends))
        ends = select(status == PLAYING_OUT, ANSWERED, ends)
        write(lanes, STATUS + lane, select(acts, ends, status))

        # What is counted.
        pays = draws & (cause == BY_CRANK)
        counts = bit(draws) | (bit(pays) << COUNT_FIELD) | (bit(reshuffles) << (COUNT_FIELD * U2))
        counts |= bit(starts != U0) << (COUNT_FIELD * U3)
        write(lanes, COUNTS + lane, read(lanes, COUNTS + lane) + counts)
        unit = U1 << (actor * seat_field)
        forced = draws & ((FORCED >> cause) & U1 != U0)
        write(lanes, TURNS_BY_SEAT + lane, read(lanes, TURNS_BY_SEAT + lane) + select(begins, unit, U0))
        write(lanes, FORCED_BY_SEAT + lane, read(lanes, FORCED_BY_SEAT + lane) + select(forced, unit, U0))
        skips = ((ability >> np.uint64(encode.SKIPS)) & U1) << (neighbor * seat_field)
        write(lanes, SKIPS_BY_SEAT + lane, read(lanes, SKIPS_BY_SEAT + lane) + skips)
