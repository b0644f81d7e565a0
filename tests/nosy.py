"""A bot whose choice hangs on everything that it is shown."""

import numba


@numba.njit
def mix(mixed, counts):  # type: ignore[no-untyped-def]
    """Mix counts into a number, each in another way."""
    for count in counts:
        mixed = mixed * 43 + count
    return mixed


def choose(view, moves):  # type: ignore[no-untyped-def]
    """Mix all fields of the view and all columns of the moves into one number, and choose by it."""
    mixed = view.players + 3 * view.seat + 5 * view.dealer + 7 * view.round + 11 * view.rounds + 13 * view.turn
    mixed += 17 * view.starter + 19 * view.direction + 23 * view.crank + 29 * view.top_rank + 31 * view.suit
    mixed += 37 * view.stock + 41 * view.discards + (view.random >> 3)
    mixed = mix(mix(mix(mixed, view.cards_of), view.totals), view.held)
    mixed = mix(mix(mix(mixed, view.held_of_suit), view.unseen), view.unseen_of_suit)
    for move in range(len(moves)):
        mixed = mix(mixed, moves[move])
    return (mixed >> 20) % len(moves)
