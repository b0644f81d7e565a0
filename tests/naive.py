"""The slow second engine: the rules of Craits, one method a rule, to check the compiled kernel against.

Nothing here is shared with the kernel but the random numbers. Hands are lists of card codes, a round is an
object that is told who chooses (`Bots`, or the `ScriptedMoves` of a set-up position), and everything that
happens is written down as one event. Both engines must write the same events for the same rules, bots, seed
and game.

`play_game` plays a whole game, `play_scenario` the position of a scenario file. `Round` is the rules
themselves; it can be built from any hands, starter, stock and discards.
"""

import tomllib
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import floor, log
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from craits_sim.bots import BotSpec, parse_bots
from craits_sim.cards import (
    RANKS,
    SECOND_COPY,
    SUITS,
    card_name,
    full_deck,
    parse_card,
    rank_of,
    sort_hand,
    suit_of,
)
from craits_sim.features import FEATURES, UNIT
from craits_sim.kernel.streams import CHOICES, DECK, FIRST_DEALER, advance, open_stream
from craits_sim.results import CRANK_SIZES, WIN_UNIT, Action, Cause, Ending
from craits_sim.rules import Ability, Rules, load_rules

Event = tuple[int, int, int, int, int, int, int, int]
"""game, round, action, seat, card, suit, crank, detail: the columns of EVENT_DTYPE."""

CRANK_KINDS = ("crank", "crank_start")
THREE = RANKS.index("3")
MOST_PRESSURE = 100_000
"""The most points that one reshuffle costs, however often the pressure has grown."""


# Random numbers ---------------------------------------------------------------------------------------------


def below(number: int, n: int) -> int:
    """Bring a 64-bit number into the range 0 to n - 1, by its high half."""
    return ((number >> 32) * n) >> 32


class Stream:
    """The random numbers of one purpose in one round, taken one at a time."""

    def __init__(self, seed: int, game: int, round_index: int, purpose: np.uint64) -> None:
        # np.uint64, here and below: the compiled functions would take a plain int for a signed one.
        self._s0, self._s1 = open_stream(np.uint64(seed), np.uint64(game), np.uint64(round_index), purpose)

    def number(self) -> int:
        """Take the next 64-bit number."""
        number, self._s0, self._s1 = advance(np.uint64(self._s0), np.uint64(self._s1))
        return int(number)

    def below(self, n: int) -> int:
        """Take the next number, brought into the range 0 to n - 1."""
        return below(self.number(), n)


# Who chooses ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Play:
    """A card to play, and the suit to follow after it if the card lets its player choose one."""

    card: int
    suit: int


class Chooser(Protocol):
    """Whoever decides for the seats of a round."""

    def choose_starter_suit(self, position: "Round", suits: list[int]) -> int:
        """Choose for the dealer one of the suits that may follow the starter."""

    def choose_play(self, position: "Round", seat: int, playable: list[int], decline: str | None) -> Play | None:
        """Choose a playable card, or None to do what the seat may do instead: `decline`, "draw" or "pass"."""

    def is_caught(self, position: "Round", seat: int) -> bool:
        """Tell whether a seat with one card left forgets to announce it and is called (RULES.md R10)."""


PATIENCE = 300
"""Turns of a round after which careful and tuned play as random does."""


class Bots:
    """The random, greedy, careful and tuned bots, one a seat (RULES.md "Random play"). They never decline to play.

    Every played card and every starter takes exactly one number of the stream, whichever bot plays it and
    however little there is to choose. Noise takes one more for each move, before that of the card and after that
    of the starter.

    Parameters
    ----------
    specs
        The bot of each seat.
    choices
        Where their random numbers come from.
    totals
        The points of each seat before this round.
    """

    def __init__(self, specs: Sequence[BotSpec], choices: Stream, totals: Sequence[int]) -> None:
        self.specs = specs
        self.choices = choices
        self.totals = totals
        self.weights = [
            dict(zip(FEATURES, spec.weights_at(len(specs)), strict=True)) if spec.weighs else {} for spec in specs
        ]

    def choose_starter_suit(self, position: "Round", suits: list[int]) -> int:
        number = self.choices.number()
        dealer = position.dealer
        if RANKS[rank_of(position.top)] in self.specs[dealer].never:
            return suit_of(position.top)
        if self.specs[dealer].weighs:
            return self._choose_move(position, dealer, [Play(position.top, suit) for suit in sorted(suits)]).suit
        return self._choose_suit(dealer, suits, position.hands[dealer], number)

    def choose_play(self, position: "Round", seat: int, playable: list[int], decline: str | None) -> Play | None:
        if not playable:
            return None
        spec = self.specs[seat]
        has_a_choice = len(playable) > 1 or len(position.suits_after(playable[0])) > 1
        wanted = [card for card in playable if RANKS[rank_of(card)] not in spec.never]
        keeps_suit = not wanted
        cards = wanted or playable
        if spec.weighs and position.turns <= PATIENCE:
            play = self._choose_move(position, seat, list_moves(position, cards, keeps_suit))
            self.choices.number()
            return play
        if keeps_suit and spec.name != "greedy" and has_a_choice:
            cards = [cards[self.choices.below(len(cards))]]
        number = self.choices.number()
        if spec.name == "greedy":
            card = max(cards, key=lambda candidate: shed_value(position.rules, candidate))
        else:
            card = cards[below(number, len(cards))]
        held_after = [held for held in position.hands[seat] if held != card]
        suits = [suit_of(card)] if keeps_suit else position.suits_after(card)
        return Play(card, self._choose_suit(seat, suits, held_after, number))

    def _choose_move(self, position: "Round", seat: int, moves: list[Play]) -> Play:
        """Take the move of the highest score, the first of equals; with noise, scores are shaken before."""
        weights, temperature = self.weights[seat], self.specs[seat].noise * UNIT
        standing = standing_of(seat, self.totals)
        scores: list[float] = []
        for move in moves:
            counted = features_of(position, seat, move, standing)
            scores.append(sum(weights[name] * counted[name] for name in FEATURES))
        if temperature > 0 and len(moves) > 1:
            shares = [((self.choices.number() >> 11) + 0.5) / 2**53 for _ in moves]
            scores = [score - temperature * log(-log(share)) for score, share in zip(scores, shares, strict=True)]
        return moves[scores.index(max(scores))]

    def _choose_suit(self, seat: int, suits: list[int], hand: list[int], number: int) -> int:
        """Greedy: the suit held most, the first of equals. Random: two bits for an 8, the next for a 9."""
        if self.specs[seat].name == "greedy":
            held = Counter(suit_of(card) for card in hand)
            return max(suits, key=lambda suit: held[suit])
        if len(suits) == 4:
            return suits[number & 3]
        if len(suits) == 2:
            return suits[number >> 2 & 1]
        return suits[0]

    def is_caught(self, position: "Round", seat: int) -> bool:
        if self.specs[seat].forget == 0:
            return False
        number = self.choices.number()
        nobody_calls = 1.0
        for other, spec in enumerate(self.specs):
            if other != seat:
                nobody_calls *= 1 - spec.catch
        forgets = number >> 32 < share_of_word(self.specs[seat].forget)
        return forgets and number % 2**32 < share_of_word(1 - nobody_calls)


def share_of_word(probability: float) -> int:
    """Give how many of the 2**32 words stand for an event of this probability."""
    return floor(probability * 2**32 + 0.5)


def shed_value(rules: Rules, card: int) -> tuple[bool, int]:
    """Give what greedy sorts by: 3s, which are good to hold at the end, come last (RULES.md R18)."""
    holds_on = rank_of(card) == THREE and rules.threes.mode != "none"
    return not holds_on, 0 if holds_on else rules.points[RANKS[rank_of(card)]]


def list_moves(position: "Round", cards: Iterable[int], keeps_suit: bool) -> list[Play]:
    """List what can be done with some cards, by card, then by suit; of two copies of a card the first will do."""
    moves = []
    kinds: set[str] = set()
    for card in sorted(cards):
        if card_name(card) not in kinds:
            kinds.add(card_name(card))
            suits = [suit_of(card)] if keeps_suit else sorted(position.suits_after(card))
            moves += [Play(card, suit) for suit in suits]
    return moves


def standing_of(seat: int, totals: Sequence[int]) -> int:
    """Give how many whole 20s of points a seat is behind the best other, -5 to 5."""
    behind = totals[seat] - min(total for other, total in enumerate(totals) if other != seat)
    steps = abs(behind) // 20
    return min(steps, 5) if behind > 0 else -min(steps, 5)


def features_of(position: "Round", seat: int, move: Play, standing: int) -> dict[str, int]:
    """Count what a seat sees of a move before it is made, by name of the feature (`craits_sim.features`).

    The card of a dealer's starter is not in its hand: there the rest is the whole hand.
    """
    rules, card = position.rules, move.card
    ability = position.ability(card)
    in_crank = position.crank > 0  # there a card has no other effect
    hand = position.hands[seat]
    rest = [held for held in hand if held != card]

    def near(other: int) -> int:
        return max(4 - len(position.hands[other]), 0)

    def followers(cards: Iterable[int]) -> int:
        return sum(position.matches(other, card, move.suit) for other in cards)

    nearest = max(near(other) for other in range(rules.players) if other != seat)
    sight = {*hand, *position.discards, position.top}
    unseen = [other for other in full_deck(rules.decks) if other not in sight]
    follows = followers(rest)
    stuck = bool(rest) and follows == 0

    turns_back = ability.kind == "reverse" and not in_crank
    onward = -position.direction if turns_back else position.direction
    neighbor = (seat + onward) % rules.players
    skips = 0 if in_crank else position.turns_taken_away(card)
    drawers = 0 if in_crank else position.drawers(card)
    again = ability.kind == "again" and not in_crank
    next_seat = seat if again else (seat + onward * (1 + skips)) % rules.players

    starts = ability.kind == "crank_start" and not in_crank
    crank_after = position.crank + ability.amount if starts or in_crank else 0
    answers = sum(position.ability(held).kind in CRANK_KINDS for held in rest)

    shed = hand_score(rules, hand) - hand_score(rules, rest)
    wild = RANKS[rank_of(card)] in rules.wild or ability.kind == "nominate"
    return {
        "shed": shed,
        "shed_late": shed * nearest,
        "shed_behind": shed * standing,
        "three": int(rank_of(card) == THREE and rules.threes.mode != "none"),
        "wild": int(wild),
        "wild_late": wild * nearest,
        "follows": follows,
        "suit": sum(suit_of(held) == move.suit for held in rest),
        "stuck": int(stuck),
        "last_follows": int(len(rest) == 1 and follows == 1),
        "unseen": followers(unseen),
        "next_near": 0 if next_seat == seat else near(next_seat),
        "skips": skips,
        "skips_near": skips * near(neighbor),
        "draws": drawers * ability.amount,
        "draws_near": ability.amount * near(neighbor) if drawers else 0,
        "again": int(again and follows > 0),
        "again_stuck": int(again and stuck),
        "crank_starts": int(starts),
        "crank_answers": answers if crank_after else 0,
        "crank_danger": crank_after if answers == 0 else 0,
        "crank_kept": int(ability.kind in CRANK_KINDS and crank_after == 0),
    }


class MovesRunOut(Exception):
    """The scripted moves are used up, and no bot goes on."""


class IllegalMove(ValueError):
    """A scripted move that is not allowed where it stands."""


class ScriptedMoves:
    """The moves of a scenario, then bots if the scenario names any.

    A move is a card, with `>` and a suit where it names one (left out: its own), or `draw`, or `pass` after a
    draw; `>H` alone answers a starter.
    """

    def __init__(self, moves: Iterable[str], bots: Bots | None) -> None:
        self.moves = list(moves)
        self.bots = bots
        self._bot_played = False

    def choose_starter_suit(self, position: "Round", suits: list[int]) -> int:
        if self.moves and self.moves[0].startswith(">"):
            return self._named_suit(self.moves.pop(0)[1:], suits)
        if self.moves or self.bots is None:
            return suit_of(position.top)
        return self.bots.choose_starter_suit(position, suits)

    def choose_play(self, position: "Round", seat: int, playable: list[int], decline: str | None) -> Play | None:
        self._bot_played = not self.moves
        if not self.moves:
            if self.bots is None:
                raise MovesRunOut
            return self.bots.choose_play(position, seat, playable, decline)
        move = self.moves.pop(0)
        if move == decline:
            return None
        name, _, suit = move.partition(">")
        copies = [card for card in playable if name not in ("draw", "pass") and card_name(card) == name]
        if not copies:
            legal = [card_name(card) for card in playable] + [decline] * (decline is not None)
            raise IllegalMove(f"seat {seat} cannot {move} here, but {legal} (RULES.md R8, R9, R14)")
        card = copies[0]
        return Play(card, self._named_suit(suit, position.suits_after(card)) if suit else suit_of(card))

    def is_caught(self, position: "Round", seat: int) -> bool:
        return self.bots is not None and self._bot_played and self.bots.is_caught(position, seat)

    @staticmethod
    def _named_suit(name: str, suits: list[int]) -> int:
        if SUITS.index(name) not in suits:
            raise IllegalMove(f"{name} cannot be named here, but {[SUITS[suit] for suit in suits]} (RULES.md R11)")
        return SUITS.index(name)


# The stock --------------------------------------------------------------------------------------------------


class Stock:
    """The cards to draw from.

    A shuffled pile is a set of which each draw takes any card with equal chance. A `stacked` stock has its
    order, top card first, until it is used up.
    """

    def __init__(self, cards: Iterable[int], deck: Stream, stacked: bool = False) -> None:
        self.cards = list(cards) if stacked else sorted(cards)
        self._deck = deck
        self._stacked = stacked

    def __len__(self) -> int:
        return len(self.cards)

    def take(self) -> int:
        """Draw one card."""
        return self.cards.pop(0 if self._stacked else self._deck.below(len(self.cards)))

    def refill(self, discards: Iterable[int]) -> None:
        """Make the discards the new, shuffled stock (RULES.md R12)."""
        self.cards = sorted(discards)
        self._stacked = False


# Scoring ----------------------------------------------------------------------------------------------------


def hand_score(rules: Rules, hand: Collection[int]) -> int:
    """Score the cards left in a hand (RULES.md R17, R18)."""
    threes = sum(rank_of(card) == THREE for card in hand)
    others = sorted((rules.points[RANKS[rank_of(card)]] for card in hand if rank_of(card) != THREE), reverse=True)
    uncancelled = sum(others[threes:])
    spare_threes = max(threes - len(others), 0)
    match rules.threes.mode:
        case "cancel_then_bonus":
            return uncancelled + spare_threes * rules.threes.bonus
        case "strict":
            return uncancelled if others else threes * rules.threes.bonus
        case "bonus_only":
            return sum(others) + threes * rules.threes.bonus
        case "cancel_only":
            return uncancelled
        case "none":
            return sum(others) + threes * rules.points["3"]
    raise ValueError(rules.threes.mode)


# A round ----------------------------------------------------------------------------------------------------


class Round:
    """One round, from the cards dealt to the scores.

    Parameters
    ----------
    rules
        The rules; `rules.players` seats.
    chooser
        Who decides for all the seats.
    dealer
        The seat that dealt, and "played" the starter.
    hands
        The cards of each seat, by seat, in the order they were dealt.
    starter, stock, discards
        The card turned up, the cards to draw, and the cards under the starter.
    reshuffles_caused
        How many reshuffles each seat has caused in this game (RULES.md R12); the round adds its own.
    game, index
        What the events carry as `game` and `round`.
    """

    def __init__(
        self,
        rules: Rules,
        chooser: Chooser,
        dealer: int,
        hands: Sequence[Iterable[int]],
        starter: int,
        stock: Stock,
        discards: Iterable[int] = (),
        reshuffles_caused: list[int] | None = None,
        game: int = 0,
        index: int = 0,
    ) -> None:
        none_yet = [0] * rules.players
        self.rules = rules
        self.chooser = chooser
        self.dealer = dealer
        self.game = game
        self.index = index

        self.hands = [list(hand) for hand in hands]
        self.stock = stock
        self.discards = list(discards)
        self.top = starter
        self.suit = suit_of(starter)
        self.direction = 1
        self.to_act = dealer
        self.crank = 0
        self.last_to_add = dealer
        self.caught: set[int] = set()
        self.idle_turns = 0
        self.went_out: int | None = None
        self.ending: Ending | None = None

        self.events: list[Event] = []
        self.turns = 0
        self.drawn = 0
        self.crank_drawn = 0
        self.reshuffles = 0
        self.cranks = 0
        self.seat_turns = none_yet.copy()
        self.skips = none_yet.copy()
        self.forced = none_yet.copy()
        self.choices = 0
        self.ended_cranks: list[int] = []
        self.crank_paid = none_yet.copy()
        self.pressure = none_yet.copy()
        self.points = none_yet.copy()
        self.reshuffles_caused = none_yet.copy() if reshuffles_caused is None else reshuffles_caused

    # The course of a round

    def play(self) -> None:
        """Play from the deal to the scores."""
        self.record_deal()
        self.turn_up_starter()
        while self.ending is None:
            self.next_seat_acts()
        self.score()

    def record_deal(self) -> None:
        """Write down the hands, that of the dealer's left first (RULES.md R4)."""
        for offset in range(1, self.rules.players + 1):
            seat = (self.dealer + offset) % self.rules.players
            for card in sorted(self.hands[seat]):
                self.record(Action.DEAL, seat, card)

    def turn_up_starter(self) -> None:
        """Let the starter act as if the dealer had played it (RULES.md R5); nobody announces (R10)."""
        acts = self.rules.starter.acts
        suits = self.suits_after(self.top) if acts else [self.suit]
        # The chooser is asked even where there is nothing to choose: every starter takes one random number.
        self.suit = self.chooser.choose_starter_suit(self, suits)
        if acts:
            self.turn_crank(self.dealer, self.top)
        self.record(Action.STARTER, self.dealer, self.top, self.suit)
        if acts:
            self.apply_ability(self.dealer, self.top)
        else:
            self.to_act = self.neighbor(self.dealer)

    def next_seat_acts(self) -> None:
        """Let the seat that is next take its turn, unless it loses it or the round is over."""
        seat = self.to_act
        playing_out = self.went_out is not None
        if playing_out and self.crank_is_played_out():
            self.ending = Ending.WENT_OUT
        elif playing_out and not self.hands[seat]:
            self.to_act = self.neighbor(seat)
        elif seat in self.caught:
            self.lose_turn(seat)
        elif not playing_out and self.turns == self.rules.turn_cap:
            self.end_without_winner(Ending.TRUNCATED)
        else:
            self.take_turn(seat)
            if self.idle_turns == self.rules.players and self.went_out is None:
                self.end_without_winner(Ending.BLOCKED)

    def crank_is_played_out(self) -> bool:
        """Tell whether a crank has been paid, or is back at the last seat that added to it (RULES.md R16)."""
        return self.crank == 0 or self.to_act == self.last_to_add

    def end_without_winner(self, ending: Ending) -> None:
        """End a round that is blocked or has reached the turn cap (RULES.md R13)."""
        self.ending = ending
        self.record(Action.BLOCKED if ending == Ending.BLOCKED else Action.TRUNCATED)

    # A turn

    def take_turn(self, seat: int) -> None:
        """Take one turn: play, draw or both; or, where neither can be done, nothing (RULES.md R9, R13)."""
        self.turns += 1
        self.seat_turns[seat] += 1
        did_something = self.answer_or_pay(seat) if self.crank else self.play_or_draw(seat)
        if did_something:
            self.idle_turns = 0
        else:
            self.idle_turns += 1
            self.record(Action.PASS, seat)

    def answer_or_pay(self, seat: int) -> bool:
        """Take a turn inside a crank: answer with a crank card, or draw the count (RULES.md R14, R15).

        Returns
        -------
        bool
            Whether a card was played or drawn.
        """
        playable = self.playable(seat)
        play = self.chooser.choose_play(self, seat, playable, None if playable else "draw")
        if play is not None:
            self.choices += len(playable) > 1
            self.play_card(seat, play)
            return True
        drawn = self.pay_crank(seat)
        self.to_act = self.neighbor(seat)
        return drawn > 0

    def play_or_draw(self, seat: int) -> bool:
        """Take a turn outside a crank: play, or draw and perhaps play then (RULES.md R9).

        Returns
        -------
        bool
            Whether a card was played or drawn.
        """
        draw = self.rules.draw
        playable = self.playable(seat)
        may_draw = not playable or (draw.voluntary and self.can_draw())
        play = self.chooser.choose_play(self, seat, playable, "draw" if may_draw else None)
        drawn = 0
        if play is None:
            drawn = self.draw_own(seat)
            playable = self.playable(seat)
            if playable and (draw.until_playable or draw.play_drawn != "no"):
                may_pass = draw.play_drawn == "may" and not draw.until_playable
                play = self.chooser.choose_play(self, seat, playable, "pass" if may_pass else None)
        if play is None:
            self.to_act = self.neighbor(seat)
        else:
            self.choices += len(playable) > 1
            self.play_card(seat, play)
        return play is not None or drawn > 0

    def draw_own(self, seat: int) -> int:
        """Draw for a seat that cannot or will not play (RULES.md R9), and give the number of cards drawn."""
        draw = self.rules.draw
        if not draw.until_playable:
            return self.draw(seat, draw.count, Cause.OWN)
        most = draw.limit or len(full_deck(self.rules.decks))
        drawn = self.draw(seat, min(draw.count, most), Cause.OWN)
        while drawn < most and not self.playable(seat) and self.draw(seat, 1, Cause.OWN):
            drawn += 1
        return drawn

    def lose_turn(self, seat: int) -> None:
        """Pass over a seat that was caught, once; in a crank without paying (RULES.md R10)."""
        self.caught.remove(seat)
        self.record(Action.LOST_TURN, seat)
        self.to_act = self.neighbor(seat)

    # What can be played

    def playable(self, seat: int) -> list[int]:
        """List the cards that a seat may play now, by ascending code."""
        return sorted(card for card in self.hands[seat] if self.may_follow(card))

    def may_follow(self, card: int) -> bool:
        """Tell whether a card may be played on the top card (RULES.md R8; inside a crank R14)."""
        if self.crank:
            return self.ability(card).kind in CRANK_KINDS
        return self.matches(card, self.top, self.suit)

    def matches(self, card: int, top: int, suit: int) -> bool:
        """Tell whether a card matches a top card and the suit to follow (RULES.md R8)."""
        if RANKS[rank_of(card)] in self.rules.wild:
            return True
        same_suit = suit_of(card) == suit
        same_color = suit_of(card) in (suit, other_suit_of_color(suit))
        same_rank = rank_of(card) == rank_of(top)
        match self.rules.match:
            case "suit_or_rank":
                return same_suit or same_rank
            case "suit_or_color":
                return same_color
            case "suit_or_ability":
                return same_suit or self.ability(card) == self.ability(top)
            case "suit_rank_or_color":
                return same_color or same_rank
        raise ValueError(self.rules.match)

    def suits_after(self, card: int) -> list[int]:
        """List the suits among which the player of a card may choose the suit to follow."""
        own = suit_of(card)
        match self.ability(card).kind:
            case "nominate":
                return list(range(len(SUITS)))
            case "recolor":
                return [own, other_suit_of_color(own)]
        return [own]

    def ability(self, card: int) -> Ability:
        """Give the ability of a card's rank."""
        return self.rules.abilities[RANKS[rank_of(card)]]

    # Playing a card

    def play_card(self, seat: int, play: Play) -> None:
        """Play a card and let it act, as a card in the middle of a round or as a last card (RULES.md R11)."""
        going_out = self.rules.going_out
        is_last = len(self.hands[seat]) == 1
        stays_in = is_last and not going_out.on_ability and self.is_ability_card(play.card)
        passes_on = is_last and self.ability(play.card).kind == "again" and self.six_draws()

        self.hands[seat].remove(play.card)
        self.discards.append(self.top)
        self.top = play.card
        self.suit = play.suit if stays_in or not is_last else suit_of(play.card)
        if stays_in or not is_last or self.crank_on_last_card() != "ignored":
            self.turn_crank(seat, play.card)
        else:
            self.end_crank()
        self.record(Action.PLAY, seat, play.card, self.suit)

        if not is_last:
            self.apply_ability(seat, play.card)
            self.announce(seat)
        elif passes_on:
            self.to_act = self.neighbor(seat)
            self.draw_instead_of_going_out(seat)
        elif stays_in:
            self.apply_ability(seat, play.card)
            self.draw_instead_of_going_out(seat)
        else:
            self.go_out(seat)
            if going_out.last_card == "applies":
                self.apply_draws(seat, play.card)

    def is_ability_card(self, card: int) -> bool:
        """Tell whether a card about to be played has an ability; one of `crank` kind inside a crank only (R14)."""
        kind = self.ability(card).kind
        return kind != "none" and not (kind == "crank" and self.crank == 0)

    def six_draws(self) -> bool:
        """Tell whether an `again` card, played last, draws one and passes the turn on (RULES.md R11)."""
        return self.rules.going_out.again == "draws" and self.rules.going_out.last_card == "applies"

    def draw_instead_of_going_out(self, seat: int) -> None:
        """Draw the card that keeps a seat in the round; where there is none, it goes out (RULES.md R11)."""
        if self.draw(seat, 1, Cause.OWN) == 0:
            self.go_out(seat)

    def go_out(self, seat: int) -> None:
        """Go out (RULES.md R11). A live crank waits to be played out, is paid at once, or ends here (R16)."""
        if self.went_out is None:
            self.went_out = seat
        if self.crank_on_last_card() == "ignored":
            self.end_crank()
        self.record(Action.GO_OUT, seat)
        self.to_act = self.neighbor(seat)
        if self.crank_on_last_card() == "next_pays":
            self.pay_crank(self.to_act)

    def crank_on_last_card(self) -> str:
        """Tell what becomes of a crank whose last card was somebody's last (RULES.md R16)."""
        return "ignored" if self.rules.going_out.last_card == "ignored" else self.rules.crank.on_last_card

    def announce(self, seat: int) -> None:
        """Let a seat that was left with one card announce it, or be caught and pay for it (RULES.md R10)."""
        rule = self.rules.announce
        rule_matters = rule.cards > 0 or rule.lose_turn
        if len(self.hands[seat]) != 1 or not rule_matters or self.went_out is not None:
            return
        if self.chooser.is_caught(self, seat):
            self.record(Action.CAUGHT, seat)
            self.draw(seat, rule.cards, Cause.PENALTY)
            if rule.lose_turn:
                self.caught.add(seat)

    # Abilities

    def turn_crank(self, seat: int, card: int) -> None:
        """Start a crank, or add to one (RULES.md R14)."""
        ability = self.ability(card)
        if ability.kind == "crank_start" or (ability.kind == "crank" and self.crank):
            self.cranks += self.crank == 0
            self.crank += ability.amount
            self.last_to_add = seat

    def apply_ability(self, seat: int, card: int) -> None:
        """Apply in full what a card does to other seats and to whose turn is next (RULES.md "Abilities")."""
        self.apply_draws(seat, card)
        ability = self.ability(card)
        if ability.kind == "reverse":
            self.direction = -self.direction
        self.to_act = seat if ability.kind == "again" else self.neighbor(seat)
        for _ in range(self.turns_taken_away(card)):
            self.skip_next()

    def apply_draws(self, seat: int, card: int) -> None:
        """Let others draw: the part of an ability that a last card keeps (RULES.md R11)."""
        drawer = seat
        for _ in range(self.drawers(card)):
            drawer = self.neighbor(drawer)
            self.draw(drawer, self.ability(card).amount, Cause.ABILITY)

    def drawers(self, card: int) -> int:
        """Count the seats that draw by the ability of a card."""
        return {"next_draws": 1, "others_draw": self.rules.players - 1}.get(self.ability(card).kind, 0)

    def turns_taken_away(self, card: int) -> int:
        """Count the turns, one after the other, that the ability of a card takes away."""
        ability = self.ability(card)
        match ability.kind:
            case "skip":
                return ability.amount
            case "reverse":
                return int(self.rules.players == 2 and self.rules.reverse.two_players == "skip")
        return int(ability.lose_turn)

    def skip_next(self) -> None:
        """Take the next turn away from the seat whose turn it would be."""
        self.skips[self.to_act] += 1
        self.to_act = self.neighbor(self.to_act)

    def neighbor(self, seat: int) -> int:
        """Give the next seat in the current direction (RULES.md R6)."""
        return (seat + self.direction) % self.rules.players

    # Drawing

    def pay_crank(self, seat: int) -> int:
        """Draw the count of the crank, which ends it (RULES.md R15), and give the number of cards drawn."""
        return self.draw(seat, self.end_crank(), Cause.CRANK)

    def end_crank(self) -> int:
        """End the crank, if there is one, and give its count."""
        count, self.crank = self.crank, 0
        if count:
            self.ended_cranks.append(count)
        return count

    def draw(self, seat: int, count: int, cause: Cause) -> int:
        """Draw cards until there are none left (RULES.md R12), and give the number of cards drawn."""
        for drawn in range(count):
            if not self.stock and not self.reshuffle(seat):
                return drawn
            card = self.stock.take()
            self.hands[seat].append(card)
            self.drawn += 1
            self.crank_drawn += cause == Cause.CRANK
            self.crank_paid[seat] += cause == Cause.CRANK
            self.forced[seat] += cause in (Cause.ABILITY, Cause.CRANK)
            self.record(Action.DRAW, seat, card, detail=cause)
        return count

    def can_draw(self) -> bool:
        """Tell whether there is a card to draw, now or after a reshuffle."""
        return bool(self.stock or (self.rules.stock.reshuffle and self.discards))

    def reshuffle(self, seat: int) -> bool:
        """Turn the discards under the top card into the stock, if rules and cards allow it (RULES.md R12)."""
        if not self.rules.stock.reshuffle or not self.discards:
            return False
        self.stock.refill(self.discards)
        self.discards.clear()
        self.reshuffles += 1
        self.record(Action.RESHUFFLE, seat, detail=len(self.stock))
        if self.rules.stock.pressure:
            growth = self.rules.stock.pressure_factor ** self.reshuffles_caused[seat]
            extra = min(self.rules.stock.pressure * growth, MOST_PRESSURE)
            self.pressure[seat] += extra
            self.record(Action.PRESSURE, seat, detail=extra)
        self.reshuffles_caused[seat] += 1
        return True

    # The end

    def score(self) -> None:
        """Score the hands left (RULES.md R13, R17, R18), then add shuffle pressure (R12).

        A crank that is still live, as it came back to who last added to it or the turn cap was reached, ends unpaid.
        """
        self.end_crank()
        scores = [hand_score(self.rules, hand) for hand in self.hands]
        if self.ending != Ending.WENT_OUT and self.rules.blocked.score == "lowest_zero":
            lowest = min(scores)
            scores = [0 if score == lowest else score for score in scores]
        self.points = [score + extra for score, extra in zip(scores, self.pressure, strict=True)]
        for seat, points in enumerate(self.points):
            self.record(Action.SCORE, seat, detail=points)

    def record(self, action: Action, seat: int = -1, card: int = -1, suit: int = -1, detail: int = 0) -> None:
        """Write down an event."""
        self.events.append((self.game, self.index, int(action), seat, card, suit, self.crank, int(detail)))

    def by_offset(self, by_seat: Sequence[int]) -> list[int]:
        """Order figures by offset from the dealer instead of by seat."""
        return [by_seat[(self.dealer + offset) % self.rules.players] for offset in range(self.rules.players)]


def other_suit_of_color(suit: int) -> int:
    """Give the other suit of the same color."""
    return {0: 3, 1: 2, 2: 1, 3: 0}[suit]


# A game -----------------------------------------------------------------------------------------------------


@dataclass
class NaiveGame:
    """One game: its events, and what `craits_sim.results.Batch` holds for one game, under the same names.

    Lists are by round; `points`, `seat_turns`, `skips`, `forced`, `crank_paid` and `dealt` hold, for each round, a
    list by offset from the dealer; `totals` and `wins` are by seat, `crank_sizes` by count.
    """

    first_dealer: int
    totals: list[int]
    wins: list[int] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    dealer: list[int] = field(default_factory=list)
    went_out: list[int] = field(default_factory=list)
    ending: list[int] = field(default_factory=list)
    turns: list[int] = field(default_factory=list)
    drawn: list[int] = field(default_factory=list)
    crank_drawn: list[int] = field(default_factory=list)
    reshuffles: list[int] = field(default_factory=list)
    cranks: list[int] = field(default_factory=list)
    points: list[list[int]] = field(default_factory=list)
    seat_turns: list[list[int]] = field(default_factory=list)
    skips: list[list[int]] = field(default_factory=list)
    forced: list[list[int]] = field(default_factory=list)
    choices: list[int] = field(default_factory=list)
    crank_sizes: list[int] = field(default_factory=lambda: [0] * CRANK_SIZES)
    largest_crank: list[int] = field(default_factory=list)
    crank_paid: list[list[int]] = field(default_factory=list)
    dealt: list[list[int]] = field(default_factory=list)

    def add(self, played: Round) -> None:
        """Add a finished round."""
        assert played.ending is not None, "a round is added when it is over"
        self.events += played.events
        self.totals = [total + points for total, points in zip(self.totals, played.points, strict=True)]
        self.dealer.append(played.dealer)
        self.went_out.append(-1 if played.went_out is None else played.went_out)
        self.ending.append(int(played.ending))
        for name in ("turns", "drawn", "crank_drawn", "reshuffles", "cranks", "choices"):
            getattr(self, name).append(getattr(played, name))
        for name in ("points", "seat_turns", "skips", "forced", "crank_paid"):
            getattr(self, name).append(played.by_offset(getattr(played, name)))
        self.largest_crank.append(max(played.ended_cranks, default=0))
        for count in played.ended_cranks:
            self.crank_sizes[min(count, CRANK_SIZES - 1)] += 1


def play_game(rules: Rules, bots: Sequence[BotSpec], seed: int, game: int, replay: int = 0) -> NaiveGame:
    """Play one game with one bot a seat (RULES.md R1 to R7); a replay has the same deals and other choices."""
    dealer = choose_first_dealer(rules, seed, game)
    record = NaiveGame(first_dealer=dealer, totals=[0] * rules.players)
    reshuffles_caused = [0] * rules.players
    for index, hand_size in enumerate(rules.deals):
        deck = Stream(seed, game, index, DECK)
        hands, undealt = deal(rules, dealer, hand_size, deck)
        starter = choose_starter(rules, undealt, deck)
        undealt.remove(starter)
        record.dealt.append(count_ranks(hands, dealer))
        chooser = Bots(bots, Stream(seed, game, index, CHOICES + np.uint64(256 * replay)), record.totals)
        played = Round(rules, chooser, dealer, hands, starter, Stock(undealt, deck), (), reshuffles_caused, game, index)
        played.play()
        record.add(played)
        dealer = next_dealer(rules, played)
    record.wins = share_wins(rules, record.totals, record.went_out[-1])
    return record


def count_ranks(hands: Sequence[Sequence[int]], dealer: int) -> list[int]:
    """Count the cards of each rank in the hands, by offset: the last hexadecimal digit for aces, then the next."""
    return [sum(16 ** rank_of(card) for card in hand) for hand in [*hands[dealer:], *hands[:dealer]]]


def choose_first_dealer(rules: Rules, seed: int, game: int) -> int:
    """Give the seat that deals the first round (RULES.md R2)."""
    if rules.first_dealer == "random":
        return Stream(seed, game, 0, FIRST_DEALER).below(rules.players)
    return int(rules.first_dealer)


def deal(rules: Rules, dealer: int, hand_size: int, deck: Stream) -> tuple[list[list[int]], list[int]]:
    """Deal the hands, and give them with the cards left, which are in no order (RULES.md R4)."""
    cards = full_deck(rules.decks)
    hands: list[list[int]] = [[] for _ in range(rules.players)]
    for _ in range(hand_size):
        for offset in range(1, rules.players + 1):
            index = deck.below(len(cards))
            hands[(dealer + offset) % rules.players].append(cards[index])
            # The last card fills the gap, so that a deal costs the same however many cards there are.
            cards[index] = cards[-1]
            cards.pop()
    return hands, cards


def choose_starter(rules: Rules, undealt: Iterable[int], deck: Stream) -> int:
    """Turn up a card, of none of the ranks that would be put back if others are left (RULES.md R5)."""
    cards = sorted(undealt)
    kept = [card for card in cards if RANKS[rank_of(card)] not in rules.starter.redraw]
    candidates = kept or cards
    return candidates[deck.below(len(candidates))]


def next_dealer(rules: Rules, played: Round) -> int:
    """Give the seat that deals after a round (RULES.md R3)."""
    left = (played.dealer + 1) % rules.players
    if rules.next_dealer == "same":
        return played.dealer
    if rules.next_dealer == "left" or played.went_out is None:
        return left
    if rules.next_dealer == "winner":
        return played.went_out
    nearest_first = [(left + step) % rules.players for step in range(rules.players)]
    return max(nearest_first, key=lambda seat: played.points[seat])


def share_wins(rules: Rules, totals: Sequence[int], last_out: int) -> list[int]:
    """Share the win of a game among its winners, in units of 1/WIN_UNIT (RULES.md R7).

    Parameters
    ----------
    totals
        The points of the game, by seat.
    last_out
        The seat that ended the last round, -1 where nobody did.
    """
    seats = range(rules.players)
    sides = [[0, 2], [1, 3]] if rules.partners else [[seat] for seat in seats]
    if rules.win == "first_out":
        winning = [side for side in sides if last_out in side]
    else:
        sums = [sum(totals[seat] for seat in side) for side in sides]
        winning = [side for side, total in zip(sides, sums, strict=True) if total == min(sums)]
    winners = [seat for side in winning for seat in side]
    return [WIN_UNIT // len(winners) if seat in winners else 0 for seat in seats]


# Scenarios --------------------------------------------------------------------------------------------------


def play_scenario(path: Path | str) -> dict[str, Any]:
    """Play the position of a scenario file, and give the state in which it ends or its moves run out.

    Returns
    -------
    dict
        `hands` (names of cards, a string a seat), `top`, `suit`, `direction`, `to_act`, `crank`, `stock` (a
        number of cards), `over`, `went_out`, `points` (by seat; None before the end) and `legal`.

    Raises
    ------
    IllegalMove
        If a move is not allowed where it stands, or is left over when the round has ended.
    """
    scenario = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    position = set_up(scenario)
    try:
        position.play()
    except MovesRunOut:
        return state(position)
    assert isinstance(position.chooser, ScriptedMoves)
    if position.chooser.moves:
        raise IllegalMove(f"the round is over before {position.chooser.moves}")
    return state(position)


def set_up(scenario: Mapping[str, Any]) -> Round:
    """Make the round of a scenario."""
    players = scenario.get("players", len(scenario["hands"]))
    rules = load_rules(scenario.get("rules", "classic"), scenario.get("set", {}) | {"players": players})
    unnamed = full_deck(rules.decks)

    def take_named(text: str) -> list[int]:
        cards = []
        for name in text.split():
            card = parse_card(name)
            cards.append(card if card in unnamed else card + SECOND_COPY)
            unnamed.remove(cards[-1])
        return cards

    seed = scenario.get("seed", 0)
    hands = [take_named(hand) for hand in scenario["hands"]]
    [starter] = take_named(scenario["starter"])
    discards = take_named(scenario.get("discards", ""))
    deck = Stream(seed, 0, 0, DECK)
    if "stock" in scenario:
        stock = Stock(take_named(scenario["stock"]), deck, stacked=True)
    else:
        stock = Stock(unnamed, deck)
    bots = None
    if "bot" in scenario:
        bots = Bots(parse_bots(scenario["bot"], players), Stream(seed, 0, 0, CHOICES), totals=[0] * players)
    chooser = ScriptedMoves(scenario.get("moves", []), bots)
    return Round(rules, chooser, scenario["dealer"], hands, starter, stock, discards)


def state(position: Round) -> dict[str, Any]:
    """Describe a position in names."""
    over = position.ending is not None
    return {
        "hands": [names(sort_hand(hand)) for hand in position.hands],
        "top": card_name(position.top),
        "suit": SUITS[position.suit],
        "direction": position.direction,
        "to_act": None if over else position.to_act,
        "crank": position.crank,
        "stock": len(position.stock),
        "over": over,
        "went_out": position.went_out,
        "points": position.points if over else None,
        "legal": [] if over else names(sort_hand(position.playable(position.to_act))).split(),
    }


def names(cards: Iterable[int]) -> str:
    """Name cards in one string."""
    return " ".join(card_name(card) for card in cards)
