"""Rules as hypothesis draws them: any field of RULES.md "Fields", at any value that can be played."""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import strategies as st

from craits_sim.bots import BOTS, BotSpec
from craits_sim.cards import RANKS
from craits_sim.features import FEATURES, LARGEST_WEIGHT
from craits_sim.rules import Rules, load_rules

AMOUNTS = st.sampled_from((1, 1, 2, 3, 4, 7, 15))
ABILITIES = st.one_of(
    st.sampled_from(("none", "again", "nominate", "recolor", "reverse")),
    st.builds("crank_start:{}".format, AMOUNTS),
    st.builds("crank:{}".format, AMOUNTS),
    st.builds("skip:{}".format, AMOUNTS),
    st.builds("others_draw:{}".format, AMOUNTS),
    st.builds("next_draws:{}".format, AMOUNTS),
    st.builds("next_draws:{},lose_turn".format, AMOUNTS),
)

FIELDS: dict[str, st.SearchStrategy[Any]] = {
    "next_dealer": st.sampled_from(("winner", "loser", "same")),
    "starter.acts": st.just(False),
    "starter.redraw": st.lists(st.sampled_from(RANKS), max_size=12, unique=True),
    "match": st.sampled_from(("suit_or_color", "suit_or_ability", "suit_rank_or_color")),
    "wild": st.lists(st.sampled_from(RANKS), max_size=13, unique=True),
    "win": st.just("first_out"),
    "draw.count": st.sampled_from((2, 3, 5, 52)),
    "draw.until_playable": st.just(True),
    "draw.limit": st.sampled_from((1, 2, 3, 5, 104)),
    "draw.play_drawn": st.sampled_from(("may", "must")),
    "draw.voluntary": st.just(True),
    "announce.cards": st.sampled_from((0, 1, 4, 52)),
    "announce.lose_turn": st.just(False),
    "going_out.last_card": st.just("ignored"),
    "going_out.again": st.just("draws"),
    "going_out.on_ability": st.just(False),
    "crank.on_last_card": st.sampled_from(("next_pays", "ignored")),
    "stock.reshuffle": st.just(False),
    "stock.pressure": st.sampled_from((1, 5, 10_000)),
    "stock.pressure_factor": st.sampled_from((1, 3, 10)),
    "blocked.score": st.just("lowest_zero"),
    "threes.mode": st.sampled_from(("strict", "bonus_only", "cancel_only", "none")),
    "threes.bonus": st.integers(-100, 100),
    "reverse.two_players": st.just("skip"),
    "turn_cap": st.sampled_from((1, 2, 5, 20, 60)),
    **{f"abilities.{rank}": ABILITIES for rank in RANKS},
    **{f"points.{rank}": st.integers(-30, 60) for rank in RANKS},
}
"""What each field may become besides its classic value; those that depend on others stand in `rule_changes`."""


@st.composite
def rule_changes(draw: st.DrawFn) -> dict[str, Any]:
    """Draw changes of classic rules that fit together: about one field in four, and a table of 2 to 10."""
    players = draw(st.sampled_from((2, 2, 3, 4, 4, 5, 6, 10)))
    decks = 2 if players > 5 else draw(st.sampled_from((1, 1, 1, 2)))
    largest = min(8, (52 * decks - 1) // players)
    changes: dict[str, Any] = {
        "players": players,
        "decks": decks,
        "deals": draw(st.lists(st.integers(1, largest), min_size=1, max_size=3)),
        "turn_cap": 200,  # careful players may pass the same cards round for ever
    }
    if draw(st.booleans()):
        changes["first_dealer"] = draw(st.integers(0, players - 1))
    if players == 4:
        changes["partners"] = draw(st.booleans())
    chosen = draw(st.lists(st.sampled_from(sorted(FIELDS)), max_size=16, unique=True))
    return changes | {key: draw(FIELDS[key]) for key in chosen}


_FOLDER = TemporaryDirectory(prefix="craits-weights-")


def weights_file(weights: Mapping[str, float]) -> str:
    """Write a file of weights, which lasts as long as the tests run, and give its path."""
    text = "\n".join(["[weights]", *(f"{name} = {weight}" for name, weight in weights.items())])
    path = Path(_FOLDER.name) / f"{hashlib.sha256(text.encode()).hexdigest()[:16]}.toml"
    path.write_text(text, encoding="utf-8")
    return str(path)


WEIGHTS = st.dictionaries(
    st.sampled_from(sorted(FEATURES)),
    st.one_of(st.integers(-20, 20), st.floats(-LARGEST_WEIGHT, LARGEST_WEIGHT)),
    min_size=1,
)

PARAMETERS: dict[str, st.SearchStrategy[Any]] = {
    "forget": st.sampled_from((0.0, 0.0, 0.5, 1.0)),
    "catch": st.sampled_from((1.0, 0.3)),
    "never": st.one_of(st.just(()), st.lists(st.sampled_from(RANKS), max_size=13, unique=True).map(tuple)),
    "noise": st.sampled_from((0.0, 0.0, 0.01, 3.0, 1000.0)),
    "weights": st.one_of(st.just(""), WEIGHTS.map(weights_file)),
    "worlds": st.integers(1, 4096),
    "base": st.sampled_from(("random", "greedy", "careful", "tuned")),
}
"""What each parameter of a bot may be; the file of weights, of any weights."""

PLAYED_BY_BOTH = ("random", "greedy", "careful", "tuned")
"""The bots that the second engine plays too."""


@st.composite
def bot_specs(draw: st.DrawFn, names: tuple[str, ...] = PLAYED_BY_BOTH) -> BotSpec:
    """Draw one of some bots, with any of its parameters."""
    name = draw(st.sampled_from(names))
    return BotSpec(name, **{key: draw(PARAMETERS[key]) for key in BOTS[name].parameters})


@st.composite
def tables(draw: st.DrawFn, names: tuple[str, ...] = PLAYED_BY_BOTH) -> tuple[Rules, tuple[BotSpec, ...]]:
    """Draw rules, and for each seat one of some bots."""
    rules = load_rules("classic", draw(rule_changes()))
    return rules, tuple(draw(bot_specs(names)) for _ in range(rules.players))
