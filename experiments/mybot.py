"""A bot of your own: an example to start from.

Play it:    craits simulate --bots ./experiments/mybot.py:choose,greedy,greedy,greedy
Check it:   craits bots --check ./experiments/mybot.py:choose

What ``view`` and ``moves`` hold is told in craits_sim/view.py.
"""

from craits_sim.view import AGAIN, DRAWS, FOLLOWS, SHED, SKIPS, THREE, WILD


def choose(view, moves):
    """Shed points, keep cards that follow, and save wild cards and 3s until somebody is near going out."""
    nearest = 10
    for seat in range(view.players):
        if seat != view.seat:
            nearest = min(nearest, view.cards_of[seat])
    saves = 25 if nearest > 2 else 0

    best, best_score = 0, -1_000_000
    for move in range(len(moves)):
        score = moves[move, SHED] + 6 * moves[move, FOLLOWS] + 10 * moves[move, AGAIN]
        score += (moves[move, SKIPS] + moves[move, DRAWS]) * (8 if nearest <= 2 else 2)
        score -= saves * (moves[move, WILD] + moves[move, THREE])
        if score > best_score:
            best, best_score = move, score
    return best
