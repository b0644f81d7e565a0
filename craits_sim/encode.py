"""Rules and bots as numbers: the only bridge from names to what the kernel computes with.

An ability is one word a rank, a row of small fields; matching is a set of ranks in the same word. What a
rule means for a table of n seats (a skip with two players is another turn of the same seat) is worked out here: the
kernel knows no rule by name.
"""

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from craits_sim.bots import BotSpec
from craits_sim.cards import RANKS
from craits_sim.rules import Ability, Rules

# The fields of an ability word: the bit where each starts.
ADVANCE = 0  # four bits: seats the turn moves on, modulo n: 1; again 0; skip:K 1 + K
CRANK_START = 4  # four bits: count of the crank it starts outside a crank
CRANK_VALUE = 8  # four bits: what it adds inside a crank
SKIPS = 12  # bit: the next seat is passed over
NOMINATES = 13  # bit: the player names the suit to follow
RECOLORS = 14  # bit: the player may change to the other suit of the color
REVERSES = 15  # bit
STAYS = 16  # bit: as last card outside a crank, the player does not go out but draws one (going_out.again, .on_ability)
STAYS_IN_CRANK = 17  # bit: the same inside a crank
AGAIN = 18  # bit: the player takes another turn
OWED = 20  # twelve bits: the cards that others must draw, see below
MATCHED_RANKS = 32  # 13 bits: the ranks that match this one (RULES.md R8)

# Cards owed, a word of three fields: so many now, by one seat after the other.
OWED_EACH = 0  # four bits: cards for each drawer still to come
OWED_DRAWERS = 4  # four bits: drawers still to come after the present one
OWED_NOW = 8  # the rest: cards that the present drawer still has to draw

EVERY_SUIT = 0x0001_0001_0001_0001
"""Times a set of ranks: the cards of these ranks in a hand."""

NEXT_DEALER_CODES = {"left": 0, "winner": 1, "loser": 2, "same": 3}
THREES_CODES = {"cancel_then_bonus": 0, "strict": 1, "bonus_only": 2, "cancel_only": 3, "none": 4}
ALL_BITS = 0xFFFF_FFFF_FFFF_FFFF
MAX_PLAYERS = 10


class EncodedRules(NamedTuple):
    """Rules as the kernel reads them; flags are 0 or 1, masks 0 or all bits, sets one bit a card (both decks alike)."""

    players: np.uint64
    decks: np.uint64
    deals: NDArray[np.int64]  # (R,) hand size of each round
    first_dealer: np.int64  # seat, -1 random
    next_dealer: np.int64  # NEXT_DEALER_CODES
    starter_acts: np.uint64  # flag
    starter_redraw: np.uint64  # set
    abilities: NDArray[np.uint64]  # (16,) ability word of each rank
    skips: NDArray[np.int64]  # (16,) seats that each rank passes over
    color_match: np.uint64  # mask: cards of the suit's color match
    wild: np.uint64  # set
    crank_cards: np.uint64  # set
    draw_count: np.uint64
    draw_limit: np.uint64  # all bits: no limit
    draw_until_playable: np.uint64  # flag
    play_drawn: np.uint64  # flag: a seat may play after its draw
    voluntary_draw: np.uint64  # flag
    may_decline: np.uint64  # flag: after a draw a seat that could play may pass
    announce_cards: np.uint64
    announce_lose_turn: np.uint64  # flag
    last_card_keeps: np.uint64  # the fields of an ability word that act when a seat goes out
    last_card_cranks: np.uint64  # mask: the count of a crank outlives going out
    last_again_draws: np.uint64  # flag
    next_pays: np.uint64  # flag: crank.on_last_card
    reshuffle: np.uint64  # mask
    pressure: np.int64
    pressure_factor: np.int64
    lowest_zero: np.uint64  # flag: blocked.score
    threes_mode: np.int64  # THREES_CODES
    threes_bonus: np.int64
    points: NDArray[np.int64]  # (16,) of each rank; that of the 3 counts with threes.mode = none only
    cancel_order: NDArray[np.uint64]  # (12,) ranks but the 3, the dearest first
    first_out_wins: np.uint64  # flag
    partners: np.uint64  # flag
    turn_cap: np.uint64


class EncodedBots(NamedTuple):
    """The bots of a table as the kernel reads them."""

    greedy_seats: np.uint64  # one bit a seat
    shed_order: NDArray[np.uint64]  # (13,) sets of cards of one shed value each, the first to shed first, then empty sets
    forget: NDArray[np.uint64]  # (MAX_PLAYERS,) chance that a seat forgets to announce, in 1/2**32
    caught: NDArray[np.uint64]  # (MAX_PLAYERS,) chance that another seat then calls it, in 1/2**32


def encode(rules: Rules, bots: Sequence[BotSpec]) -> tuple[EncodedRules, EncodedBots]:
    """Turn rules and one bot a seat into numbers.

    Raises
    ------
    ValueError
        If there is not one bot a seat.
    """
    if len(bots) != rules.players:
        raise ValueError(f"{len(bots)} bots for {rules.players} seats")
    return encode_rules(rules), _encode_bots(rules, bots)


def encode_rules(rules: Rules) -> EncodedRules:
    """Turn rules into numbers."""
    last_card_acts = rules.going_out.last_card == "applies"
    crank_acts_last = last_card_acts and rules.crank.on_last_card != "ignored"
    draw, limit = rules.draw, rules.draw.limit if rules.draw.until_playable else 0
    return EncodedRules(
        players=np.uint64(rules.players),
        decks=np.uint64(rules.decks),
        deals=np.array(rules.deals, np.int64),
        first_dealer=np.int64(-1 if rules.first_dealer == "random" else rules.first_dealer),
        next_dealer=np.int64(NEXT_DEALER_CODES[rules.next_dealer]),
        starter_acts=np.uint64(rules.starter.acts),
        starter_redraw=_cards_of(rules.starter.redraw),
        abilities=_by_rank([_ability_word(rules, rank) for rank in RANKS], np.uint64),
        skips=_by_rank([seats_skipped(rules, rules.abilities[rank]) for rank in RANKS], np.int64),
        color_match=_mask(rules.match in ("suit_or_color", "suit_rank_or_color")),
        wild=_cards_of(rules.wild),
        crank_cards=_cards_of(rank for rank in RANKS if rules.abilities[rank].kind in ("crank", "crank_start")),
        draw_count=np.uint64(min(draw.count, limit) if limit else draw.count),
        draw_limit=np.uint64(limit or ALL_BITS),
        draw_until_playable=np.uint64(draw.until_playable),
        play_drawn=np.uint64(draw.until_playable or draw.play_drawn != "no"),
        voluntary_draw=np.uint64(draw.voluntary),
        may_decline=np.uint64(draw.play_drawn == "may" and not draw.until_playable),
        announce_cards=np.uint64(rules.announce.cards),
        announce_lose_turn=np.uint64(rules.announce.lose_turn),
        last_card_keeps=np.uint64(
            last_card_acts * (0xFFF << OWED) | crank_acts_last * (0xF << CRANK_START)
        ),
        last_card_cranks=_mask(crank_acts_last),
        last_again_draws=np.uint64(last_card_acts and rules.going_out.again == "draws"),
        next_pays=np.uint64(crank_acts_last and rules.crank.on_last_card == "next_pays"),
        reshuffle=_mask(rules.stock.reshuffle),
        pressure=np.int64(rules.stock.pressure),
        pressure_factor=np.int64(rules.stock.pressure_factor),
        lowest_zero=np.uint64(rules.blocked.score == "lowest_zero"),
        threes_mode=np.int64(THREES_CODES[rules.threes.mode]),
        threes_bonus=np.int64(rules.threes.bonus),
        points=_by_rank([rules.points[rank] for rank in RANKS], np.int64),
        cancel_order=np.array(
            [RANKS.index(rank) for rank in sorted(RANKS, key=lambda rank: -rules.points[rank]) if rank != "3"], np.uint64
        ),
        first_out_wins=np.uint64(rules.win == "first_out"),
        partners=np.uint64(rules.partners),
        turn_cap=np.uint64(rules.turn_cap),
    )


def _ability_word(rules: Rules, rank: str) -> int:
    ability = rules.abilities[rank]
    skipped = seats_skipped(rules, ability)
    in_crank = ability.kind in ("crank", "crank_start")
    never_last = not rules.going_out.on_ability
    draws_as_last = rules.going_out.again == "draws" and rules.going_out.last_card == "applies"
    fields = {
        ADVANCE: 0 if ability.kind == "again" else (1 + skipped) % rules.players,
        CRANK_START: ability.amount * (ability.kind == "crank_start"),
        CRANK_VALUE: ability.amount * in_crank,
        SKIPS: skipped > 0,
        NOMINATES: ability.kind == "nominate",
        RECOLORS: ability.kind == "recolor",
        REVERSES: ability.kind == "reverse",
        STAYS: (never_last and ability.kind not in ("none", "crank")) or (draws_as_last and ability.kind == "again"),
        STAYS_IN_CRANK: never_last and in_crank,
        AGAIN: ability.kind == "again",
        OWED: _owed(ability, rules.players),
        MATCHED_RANKS: _rank_set(_matched_ranks(rules, rank)),
    }
    return sum(int(value) << start for start, value in fields.items())


def seats_skipped(rules: Rules, ability: Ability) -> int:
    """Count the seats that an ability passes over."""
    if ability.kind == "skip":
        return ability.amount
    if ability.kind == "reverse":
        return int(rules.players == 2 and rules.reverse.two_players == "skip")
    return int(ability.lose_turn)


def _owed(ability: Ability, players: int) -> int:
    if ability.kind == "next_draws":
        return ability.amount << OWED_NOW
    if ability.kind == "others_draw":
        return ability.amount << OWED_NOW | players - 2 << OWED_DRAWERS | ability.amount << OWED_EACH
    return 0


def _matched_ranks(rules: Rules, rank: str) -> list[str]:
    """List the ranks that match a top card of this rank, apart from suit, color and wild cards (RULES.md R8)."""
    if rules.match == "suit_or_color":
        return []
    if rules.match == "suit_or_ability":
        return [other for other in RANKS if rules.abilities[other] == rules.abilities[rank]]
    return [rank]


def _encode_bots(rules: Rules, bots: Sequence[BotSpec]) -> EncodedBots:
    announcing = rules.announce.cards > 0 or rules.announce.lose_turn
    caught = [1 - math.prod(1 - other.catch for j, other in enumerate(bots) if j != i) for i in range(len(bots))]
    return EncodedBots(
        greedy_seats=np.uint64(sum(1 << seat for seat, bot in enumerate(bots) if bot.name == "greedy")),
        shed_order=_shed_order(rules),
        forget=_chances([bot.forget * announcing for bot in bots]),
        caught=_chances(caught),
    )


def _shed_order(rules: Rules) -> NDArray[np.uint64]:
    """Group the cards by what greedy thinks it gains by shedding them: their points; a 3 that may cancel, last."""
    keeps_threes = rules.threes.mode != "none"
    gain = {rank: -np.inf if rank == "3" and keeps_threes else float(rules.points[rank]) for rank in RANKS}
    order = np.zeros(len(RANKS), np.uint64)
    for place, value in enumerate(sorted(set(gain.values()), reverse=True)):
        order[place] = _cards_of(rank for rank in RANKS if gain[rank] == value)
    return order


def _chances(shares: Sequence[float]) -> NDArray[np.uint64]:
    chances = np.zeros(MAX_PLAYERS, np.uint64)
    chances[: len(shares)] = [int(share * 2**32 + 0.5) for share in shares]
    return chances


def _rank_set(ranks: Iterable[str]) -> int:
    return sum(1 << RANKS.index(rank) for rank in set(ranks))


def _cards_of(ranks: Iterable[str]) -> np.uint64:
    return np.uint64(_rank_set(ranks) * EVERY_SUIT)


def _mask(condition: bool) -> np.uint64:
    return np.uint64(ALL_BITS if condition else 0)


def _by_rank(values: Sequence[int], dtype: type) -> NDArray:
    """Give one value a rank, padded to 16, so that any four bits are a safe index."""
    table = np.zeros(16, dtype)
    table[: len(RANKS)] = values
    return table
