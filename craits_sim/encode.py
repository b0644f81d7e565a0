"""Rules and bots as numbers: the only bridge from names to what the kernel computes with.

Rules become sets of cards (one bit a card, both decks alike) and words with four bits a rank. What a rule means for a
table of n seats (a skip with two players is another turn of the same seat) is worked out here: the kernel knows no rule
by name.
"""

import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from craits_sim.bots import BOTS, BotSpec
from craits_sim.cards import RANKS
from craits_sim.features import FEATURES, UNIT
from craits_sim.rules import Ability, Rules

# Cards owed, a word of fields: so many now, by one seat after the other, and why.
OWED_EACH = 0  # four bits: cards for each drawer still to come
OWED_DRAWERS = 4  # four bits: drawers still to come after the present one
OWED_CAUSE = 8  # two bits: a results.Cause
OWED_NOW = 10  # the rest: cards that the present drawer still has to draw

EVERY_SUIT = 0x0001_0001_0001_0001
"""Times a set of ranks: the cards of these ranks in a hand."""

NEXT_DEALER_CODES = {"left": 0, "winner": 1, "loser": 2, "same": 3}
THREES_CODES = {"cancel_then_bonus": 0, "strict": 1, "bonus_only": 2, "cancel_only": 3, "none": 4}
ALL_BITS = 0xFFFF_FFFF_FFFF_FFFF
MAX_PLAYERS = 10


class EncodedRules(NamedTuple):
    """Rules as the kernel reads them.

    *Set*: one bit a card, both decks alike. *Nibbles*: four bits a rank. *Flag*: 0 or 1. *Mask*: 0 or all bits.
    """

    players: np.uint64
    decks: np.uint64
    deals: NDArray[np.int64]  # (R,) hand size of each round
    first_dealer: np.int64  # seat, -1 random
    next_dealer: np.int64  # NEXT_DEALER_CODES
    starter_acts: np.uint64  # flag
    starter_redraw: np.uint64  # set
    # Matching (RULES.md R8)
    rank_match: np.uint64  # mask: cards of the top card's rank match
    color_match: np.uint64  # mask: cards of the suit's color match
    ability_match: np.uint64  # flag: cards of the same ability match, ...
    matched: NDArray[np.uint64]  # (16,) ... which are, for each rank, this set
    wild: np.uint64  # set
    # Abilities
    advance: np.uint64  # nibbles: seats that the turn moves on, modulo n: 1; again 0; skip:K 1 + K
    draw_amount: np.uint64  # nibbles: cards that the next seat, or each other seat, draws
    crank_value: np.uint64  # nibbles: what a card adds to a crank, or starts it with
    skipping: np.uint64  # set: the next seat is passed over
    skips: NDArray[np.int64]  # (16,) how many seats each rank passes over
    skip_count: np.uint64  # nibbles: the same
    all_draw: np.uint64  # set: all others draw, not the next alone
    crank_cards: np.uint64  # set: may be played in a crank
    crank_starters: np.uint64  # set
    nominating: np.uint64  # set: the player names the suit to follow
    recoloring: np.uint64  # set: the player may change to the other suit of the color
    reversing: np.uint64  # set
    again: np.uint64  # set: the player takes another turn
    # Draws
    draw_count: np.uint64
    draw_limit: np.uint64  # all bits: no limit
    draw_until_playable: np.uint64  # flag
    play_drawn: np.uint64  # flag: a seat may play after its draw
    voluntary_draw: np.uint64  # flag
    may_decline: np.uint64  # flag: after a draw a seat that could play may pass
    reshuffle: np.uint64  # mask
    pressure: np.int64
    pressure_factor: np.int64
    # Announcing and going out
    announce_cards: np.uint64
    announce_lose_turn: np.uint64  # flag
    stays: np.uint64  # set: as last card outside a crank, the player does not go out but draws one
    stays_in_crank: np.uint64  # set: the same inside a crank
    last_draws: np.uint64  # flag: the draws of a last card are made
    last_cranks: np.uint64  # mask: the count of a crank outlives going out
    last_again_draws: np.uint64  # flag: going_out.again
    next_pays: np.uint64  # flag: crank.on_last_card
    # Scoring
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
    shed_order: NDArray[
        np.uint64
    ]  # (13,) sets of cards of one shed value each, the first to shed first, then empty sets
    thinking_seats: np.uint64  # one bit a seat whose bot chooses between steps
    kinds: NDArray[np.uint64]  # (MAX_PLAYERS,) BotKind.code
    never: NDArray[np.uint64]  # (MAX_PLAYERS,) sets of cards that a seat plays only if it must
    weights: NDArray[np.uint64]  # (W, features) signed, in 1 / features.UNIT: each that occurs, once
    weighing: NDArray[np.uint64]  # (MAX_PLAYERS,) which row of them a seat plays by
    noise: NDArray[np.float64]  # (MAX_PLAYERS,) temperature, in the same unit
    worlds: NDArray[np.uint64]  # (MAX_PLAYERS,) how many a seat imagines, 0 for one that does not look ahead
    base: NDArray[np.uint64]  # (MAX_PLAYERS,) BotKind.code of the bot by which it looks ahead
    addresses: NDArray[np.uint64]  # (MAX_PLAYERS,) of the user's own bots; only where the kernel is at hand
    forget: NDArray[np.uint64]  # (MAX_PLAYERS,) chance that a seat forgets to announce, in 1/2**32
    caught: NDArray[np.uint64]  # (MAX_PLAYERS,) chance that another seat then calls it, in 1/2**32
    replay: np.uint64  # which of their streams of choices they take (`craits_sim.kernel.deal.open_streams`)


def encode(rules: Rules, bots: Sequence[BotSpec], replay: int = 0) -> tuple[EncodedRules, EncodedBots]:
    """Turn rules and one bot a seat into numbers; ``replay`` is that of `simulate_batch`.

    Raises
    ------
    ValueError
        If there is not one bot a seat.
    """
    if len(bots) != rules.players:
        raise ValueError(f"{len(bots)} bots for {rules.players} seats")
    return encode_rules(rules), _encode_bots(rules, bots, replay)


def encode_rules(rules: Rules) -> EncodedRules:
    """Turn rules into numbers."""
    abilities, draw = rules.abilities, rules.draw
    limit = draw.limit if draw.until_playable else 0
    last_card_acts = rules.going_out.last_card == "applies"
    crank_acts_last = last_card_acts and rules.crank.on_last_card != "ignored"
    again_draws = last_card_acts and rules.going_out.again == "draws"
    keeps_all_in = not rules.going_out.on_ability

    def with_ability(*kinds: str) -> np.uint64:
        return _cards_of(rank for rank in RANKS if abilities[rank].kind in kinds)

    stays = [
        rank
        for rank in RANKS
        if (keeps_all_in and abilities[rank].kind not in ("none", "crank"))
        or (again_draws and abilities[rank].kind == "again")
    ]
    return EncodedRules(
        players=np.uint64(rules.players),
        decks=np.uint64(rules.decks),
        deals=np.array(rules.deals, np.int64),
        first_dealer=np.int64(-1 if rules.first_dealer == "random" else rules.first_dealer),
        next_dealer=np.int64(NEXT_DEALER_CODES[rules.next_dealer]),
        starter_acts=np.uint64(rules.starter.acts),
        starter_redraw=_cards_of(rules.starter.redraw),
        rank_match=_mask(rules.match in ("suit_or_rank", "suit_rank_or_color")),
        color_match=_mask(rules.match in ("suit_or_color", "suit_rank_or_color")),
        ability_match=np.uint64(rules.match == "suit_or_ability"),
        matched=_by_rank([_cards_of(r for r in RANKS if abilities[r] == abilities[rank]) for rank in RANKS], np.uint64),
        wild=_cards_of(rules.wild),
        advance=_nibbles([_seats_on(rules, abilities[rank]) for rank in RANKS]),
        draw_amount=_nibbles([_amount(abilities[rank], "next_draws", "others_draw") for rank in RANKS]),
        crank_value=_nibbles([_amount(abilities[rank], "crank", "crank_start") for rank in RANKS]),
        skipping=_cards_of(rank for rank in RANKS if _seats_skipped(rules, abilities[rank])),
        skips=_by_rank([_seats_skipped(rules, abilities[rank]) for rank in RANKS], np.int64),
        skip_count=_nibbles([_seats_skipped(rules, abilities[rank]) for rank in RANKS]),
        all_draw=with_ability("others_draw"),
        crank_cards=with_ability("crank", "crank_start"),
        crank_starters=with_ability("crank_start"),
        nominating=with_ability("nominate"),
        recoloring=with_ability("recolor"),
        reversing=with_ability("reverse"),
        again=with_ability("again"),
        draw_count=np.uint64(min(draw.count, limit) if limit else draw.count),
        draw_limit=np.uint64(limit or ALL_BITS),
        draw_until_playable=np.uint64(draw.until_playable),
        play_drawn=np.uint64(draw.until_playable or draw.play_drawn != "no"),
        voluntary_draw=np.uint64(draw.voluntary),
        may_decline=np.uint64(draw.play_drawn == "may" and not draw.until_playable),
        reshuffle=_mask(rules.stock.reshuffle),
        pressure=np.int64(rules.stock.pressure),
        pressure_factor=np.int64(rules.stock.pressure_factor),
        announce_cards=np.uint64(rules.announce.cards),
        announce_lose_turn=np.uint64(rules.announce.lose_turn),
        stays=_cards_of(stays),
        stays_in_crank=with_ability("crank", "crank_start") if keeps_all_in else np.uint64(0),
        last_draws=np.uint64(last_card_acts),
        last_cranks=_mask(crank_acts_last),
        last_again_draws=np.uint64(again_draws),
        next_pays=np.uint64(crank_acts_last and rules.crank.on_last_card == "next_pays"),
        lowest_zero=np.uint64(rules.blocked.score == "lowest_zero"),
        threes_mode=np.int64(THREES_CODES[rules.threes.mode]),
        threes_bonus=np.int64(rules.threes.bonus),
        points=_by_rank([rules.points[rank] for rank in RANKS], np.int64),
        cancel_order=np.array(
            [RANKS.index(rank) for rank in sorted(RANKS, key=lambda rank: -rules.points[rank]) if rank != "3"],
            np.uint64,
        ),
        first_out_wins=np.uint64(rules.win == "first_out"),
        partners=np.uint64(rules.partners),
        turn_cap=np.uint64(rules.turn_cap),
    )


def _amount(ability: Ability, *kinds: str) -> int:
    return ability.amount if ability.kind in kinds else 0


def _seats_on(rules: Rules, ability: Ability) -> int:
    return 0 if ability.kind == "again" else (1 + _seats_skipped(rules, ability)) % rules.players


def _seats_skipped(rules: Rules, ability: Ability) -> int:
    """Count the seats that an ability passes over."""
    if ability.kind == "skip":
        return ability.amount
    if ability.kind == "reverse":
        return int(rules.players == 2 and rules.reverse.two_players == "skip")
    return int(ability.lose_turn)


def _encode_bots(rules: Rules, bots: Sequence[BotSpec], replay: int) -> EncodedBots:
    announcing = rules.announce.cards > 0 or rules.announce.lose_turn
    caught = [1 - math.prod(1 - other.catch for j, other in enumerate(bots) if j != i) for i in range(len(bots))]
    weights = [bot.weights_at(rules.players) if bot.weighs else () for bot in bots]
    rows = list(dict.fromkeys(row for row in weights if row))
    return EncodedBots(
        greedy_seats=_seats(bot.name == "greedy" for bot in bots),
        shed_order=_shed_order(rules),
        thinking_seats=_seats(bot.thinks for bot in bots),
        kinds=_by_seat([bot.code for bot in bots], np.uint64),
        never=_by_seat([_cards_of(bot.never) for bot in bots], np.uint64),
        weights=np.array(rows, np.int64).astype(np.uint64).reshape(len(rows), len(FEATURES)),
        weighing=_by_seat([rows.index(row) if row else 0 for row in weights], np.uint64),
        noise=_by_seat([bot.noise * UNIT for bot in bots], np.float64),
        worlds=_by_seat([bot.worlds if bot.name == "rollout" else 0 for bot in bots], np.uint64),
        base=_by_seat([BOTS[bot.base].code if bot.name == "rollout" else 0 for bot in bots], np.uint64),
        addresses=np.zeros(MAX_PLAYERS, np.uint64),
        forget=_chances([bot.forget * announcing for bot in bots]),
        caught=_chances(caught),
        replay=np.uint64(replay),
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
    return _by_seat([int(share * 2**32 + 0.5) for share in shares], np.uint64)


def _seats(conditions: Iterable[bool]) -> np.uint64:
    """Give the seats for which a condition holds, one bit a seat."""
    return np.uint64(sum(condition << seat for seat, condition in enumerate(conditions)))


def _by_seat(values: Sequence[Any], dtype: type) -> NDArray[Any]:
    """Give one value a seat, padded to MAX_PLAYERS."""
    table: NDArray[Any] = np.zeros(MAX_PLAYERS, dtype)
    table[: len(values)] = values
    return table


def _cards_of(ranks: Iterable[str]) -> np.uint64:
    return np.uint64(sum(1 << RANKS.index(rank) for rank in set(ranks)) * EVERY_SUIT)


def _nibbles(values: Sequence[int]) -> np.uint64:
    """Pack one value below 16 a rank into a word."""
    return np.uint64(sum(value << 4 * place for place, value in enumerate(values)))


def _mask(condition: bool) -> np.uint64:
    return np.uint64(ALL_BITS if condition else 0)


def _by_rank(values: Sequence[int] | Sequence[np.uint64], dtype: type) -> NDArray:
    """Give one value a rank, padded to 16, so that any four bits are a safe index."""
    table: NDArray = np.zeros(16, dtype)
    table[: len(RANKS)] = values
    return table
