"""The command ``craits ci``."""

import json
from typing import Any

import click

from craits_sim.cli.options import CONTEXT_SETTINGS, Number, json_option
from craits_sim.ranges import GAMES, LEVEL, PLAYERS, NumberError, Whole


@click.command(context_settings=CONTEXT_SETTINGS)
@click.argument("wins", type=Number(Whole(0, GAMES.high)), metavar="WINS")
@click.argument("games", type=Number(GAMES), metavar="GAMES")
@click.option(
    "--seats",
    type=Number(PLAYERS),
    default=2,
    metavar="N",
    show_default=True,
    help="Players of each game: an equal share is 1/N.",
)
@click.option("--level", type=Number(LEVEL), default=0.95, metavar="P", show_default=True, help="Confidence level.")
@json_option
def ci(wins: int, games: int, seats: int, level: float, as_json: bool) -> None:
    """Say what your own play log shows: WINS of GAMES won by one seat or player.

    The interval is Wilson's; the p-value is the exact binomial one against an equal share. Games that were stopped
    because the result looked good make both too certain.

    \b
    Examples:
      craits ci 97 156
      craits ci 31 90 --seats 4 --level 0.99
    """
    from craits_sim.stats import exact_p_value, games_to_detect, round_up, wilson_interval

    try:
        Whole(0, games).parse(wins)
    except NumberError as error:
        raise click.BadParameter(f"{error}, the GAMES", param_hint="'WINS'") from error
    share, equal = wins / games, 1 / seats
    low, high = map(float, wilson_interval(wins, games, level))
    statistic = (share - equal) ** 2 / (equal * (1 - equal)) * games
    result = {
        "wins": wins,
        "games": games,
        "seats": seats,
        "level": level,
        "share": share,
        "ci_low": low,
        "ci_high": high,
        "equal_share": equal,
        "p_value": exact_p_value(wins, games, equal),
        "games_needed": round_up(games_to_detect(statistic, 1, games, level)),
    }
    conclusion = _conclude(result)
    click.echo(json.dumps({**result, "conclusion": conclusion}, ensure_ascii=False) if as_json else conclusion)


def _conclude(result: dict[str, Any]) -> str:
    """Say the result in plain sentences."""
    from craits_sim.stats import POWER, counted, p_value_text

    share, equal, needed = result["share"], result["equal_share"], result["games_needed"]
    text = (
        f"{result['wins']:,} of {counted(result['games'], 'game')} is {100 * share:.1f}%, {100 * result['level']:g}% "
        f"Wilson interval {100 * result['ci_low']:.1f} to {100 * result['ci_high']:.1f}. "
    )
    against = f"an equal share of {result['seats']} seats, {100 * equal:.4g}%: exact {p_value_text(result['p_value'])}."
    if result["p_value"] < 1 - result["level"]:
        return f"{text}That is {'more' if share > equal else 'less'} than {against}"
    text += f"That cannot be told from {against}"
    if needed:
        text += f" If it were the truth, about {needed:,} games would show it with a chance of {POWER:.0%}."
    return text
