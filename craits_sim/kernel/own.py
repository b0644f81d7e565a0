"""Bots of the user's own: functions of a file, compiled and called by the kernel (`craits_sim.view`).

The kernel is not compiled anew for each: it calls them by their address.
"""

import ctypes
import inspect
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from types import ModuleType, SimpleNamespace
from typing import Any, NamedTuple

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numba.np import arrayobj

from craits_sim.bots import BotError, BotHangs, BotSpec, read_own_bot
from craits_sim.cards import parse_card
from craits_sim.encode import MAX_PLAYERS, EncodedBots, EncodedRules, encode
from craits_sim.kernel.desk import Desk
from craits_sim.rules import Rules
from craits_sim.text import nearest, toml_value
from craits_sim.view import MOVE_COLUMNS, VIEW_DTYPE

RAISED = -(1 << 62)
"""What a call gives if the function has raised an exception."""

LONGEST_CHOICE = 5.0
"""Seconds that a choice may take where somebody waits for it, before the bot is taken for one that never ends."""

COLUMNS = len(MOVE_COLUMNS)

SECONDS_BETWEEN_LOOKS = 0.2
"""How often the main thread looks for Ctrl-C while bots of the user's own play."""


class OwnBot(NamedTuple):
    """A bot of the user's own, ready to be called."""

    function: Callable[[Any, Any], int]
    call: Any
    """The compiled function: address of a view, address of the moves, their number."""


_by_address: dict[int, tuple[str, OwnBot]] = {}


def load_own_bot(name: str) -> OwnBot:
    """Load and compile ``FILE.py:FUNCTION``, and let it choose once; anew only when the file has changed.

    Raises
    ------
    BotError
        If the file cannot be loaded or has no such function, if the function does not take a view and moves, if numba
        cannot compile it, or if it does not give the number of a move.
    """
    return _load(name, read_own_bot(name))


@cache
def _load(name: str, source: bytes) -> OwnBot:
    with _bounds_checked():
        function = _load_function(name, source)
        bot = OwnBot(function, _compile(name, function))
    _try(name, bot)
    _by_address[bot.call.address] = name, bot
    return bot


@contextmanager
def _bounds_checked() -> Iterator[None]:
    """Compile with checks of every index, in the functions that a bot calls too: a wrong one would read anything."""
    before, numba.config.BOUNDSCHECK = numba.config.BOUNDSCHECK, 1
    try:
        yield
    finally:
        numba.config.BOUNDSCHECK = before


def _load_function(name: str, source: bytes) -> Any:
    file, _, wanted = name.rpartition(":")
    module = ModuleType("bot")
    module.__file__ = file
    try:
        exec(compile(source, file, "exec"), vars(module))
    except (Exception, SystemExit) as error:
        raise BotError(f"{name}: {file} cannot be loaded: {type(error).__name__}: {_in_one_line(error)}") from None
    function = getattr(module, wanted, None)
    if function is None:
        functions = [key for key, value in vars(module).items() if inspect.isroutine(getattr(value, "py_func", value))]
        there = f"its functions are {', '.join(functions)}" if functions else "it has no functions"
        raise BotError(f"{name}: there is no {wanted} in {file}; {there}{nearest(wanted, functions)}")
    function = getattr(function, "py_func", function)
    if not inspect.isfunction(function) or len(inspect.signature(function).parameters) != 2:
        raise BotError(f"{name}: {wanted} is no function of two arguments; allowed is {wanted}(view, moves)")
    return function


def _compile(name: str, function: Any) -> Any:
    choose = numba.njit(function)
    view_type, moves_type = numba.from_dtype(VIEW_DTYPE), types.Array(types.int64, 2, "C")
    try:
        choose.compile((view_type, moves_type))
    except Exception as error:  # numba fails in ways of its own on what it does not know
        raise BotError(f"{name}: numba cannot compile it: {_reason(error)}") from None
    given = choose.nopython_signatures[0].return_type
    if not isinstance(given, types.Integer):
        raise BotError(f"{name}: it gives {_named(given)}; allowed is the number of a move, always a whole number")

    @numba.cfunc(types.int64(types.CPointer(view_type), types.CPointer(types.int64), types.int64))
    def call(view, moves, number):
        try:
            return np.int64(choose(numba.carray(view, (1,))[0], numba.carray(moves, (number, COLUMNS))))
        except Exception:
            return RAISED

    return call


def _named(given: types.Type) -> str:
    """Name what a function gives; numba writes some types in a thousand characters."""
    if given == types.none:
        return "nothing"
    if isinstance(given, types.Optional):
        return "a number or nothing"
    name = str(types.unliteral(given))
    return name if len(name) <= 40 else f"a {type(given).__name__.lower()}"


def _reason(error: Exception) -> str:
    """Give what numba says about the user's code, and where, without what it says about itself."""
    if isinstance(error, KeyError):
        field = str(error.args[0])
        return f"{toml_value(field)} is no field of a view{nearest(field, VIEW_DTYPE.names or ())}"
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    said = [line for line in lines if not line.startswith(("Failed in", "During", "No implementation", "-"))]
    reason = said[0].replace(">>> ", "there is no ").rstrip(".: ") if said else type(error).__name__
    if "Untyped global name" in reason:
        reason += " (a function that it calls needs @numba.njit)"
    place = next((line.partition("line ")[2].rstrip("): ") for line in reversed(lines) if '.py", line ' in line), "")
    return f"{reason}, line {place}" if place else reason


def _in_one_line(error: BaseException) -> str:
    return " ".join(str(error).split())


def _try(name: str, bot: OwnBot) -> None:
    """Let a bot choose among two moves, in a thread that is left behind if it never ends."""
    view, moves = _sample()
    call = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)(bot.call.address)
    aside = Aside(call, view.ctypes.data, moves.ctypes.data, len(moves))
    if not aside.ends_within(LONGEST_CHOICE):
        raise BotError(f"{name}: it did not choose among two moves within {LONGEST_CHOICE:g} seconds")
    given = aside.result()
    if not 0 <= given < len(moves):
        raise BotError(f"{name}: {complaint(bot, view, moves, given)}")


def _sample() -> tuple[np.ndarray, np.ndarray]:
    """Lay out two players on KS: seat 0 holds 4S and QS, the other five cards."""
    view, moves = np.zeros(1, VIEW_DTYPE), np.zeros((2, COLUMNS), np.int64)
    cards = ["4S", "QS"]
    view["players"], view["rounds"], view["direction"], view["dealer"] = 2, 15, 1, 1
    view["top_rank"], view["suit"], view["stock"] = 12, 3, 44
    view["cards_of"][0, :2] = 2, 5
    view["held"][0, [3, 11]], view["held_of_suit"][0, 3] = 1, 2
    view["unseen"], view["unseen_of_suit"] = 4, 13
    view["unseen"][0, [3, 11, 12]], view["unseen_of_suit"][0, 3] = 3, 10
    moves[:, 0] = [parse_card(card) for card in cards]
    moves[:, 1] = 3
    return view, moves


class Aside:
    """A call in a thread of its own, which is left behind if it never ends: compiled code cannot be stopped."""

    def __init__(self, function: Callable[..., Any], *arguments: Any) -> None:
        self._given: list[Any] = []
        self._failure: Exception | None = None

        def call() -> None:
            try:
                self._given.append(function(*arguments))
            except Exception as failure:
                self._failure = failure

        self._thread = threading.Thread(target=call, daemon=True)
        self._thread.start()

    def ends_within(self, seconds: float) -> bool:
        """Wait for it up to so many seconds; whether it has ended."""
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def result(self) -> Any:
        """Give what the call that has ended gave; raises what it raised."""
        if self._failure is not None:
            raise self._failure
        return self._given[0]


def call_aside(function: Callable[..., Any], *arguments: Any) -> None:
    """Call a function that asks bots of the user's own; Ctrl-C ends the waiting for it, even if a bot never ends.

    Raises
    ------
    BotHangs
        On Ctrl-C, which a compiled function cannot see. Threads other than the main one are not sent it.
    """
    if threading.current_thread() is not threading.main_thread():
        function(*arguments)
        return
    aside = Aside(function, *arguments)
    try:
        while not aside.ends_within(SECONDS_BETWEEN_LOOKS):
            pass
    except KeyboardInterrupt:
        raise BotHangs from None
    aside.result()


def trouble_of(bots: EncodedBots, desk: Desk) -> str:
    """Say which bot has made no move, and where."""
    _, seat, given, number = (int(value) for value in desk.trouble)
    name, bot = _by_address[int(bots.addresses[seat])]
    return f"{name}: {complaint(bot, desk.seen, desk.moves[:number], given)} ({place_of(desk)})"


def place_of(desk: Desk) -> str:
    """Say where a bot was asked the last time."""
    view = desk.seen[0]
    return f"in round {view['round'] + 1}, turn {view['turn'] + 1}, at seat {view['seat']}"


def seconds_a_choice(bot: OwnBot, desk: Desk, times: int = 100_000) -> float:
    """Measure how long a bot takes for the choice that it was asked for last, in seconds."""
    arguments = np.uint64(bot.call.address), desk.seen, desk.moves, desk.asked[1]
    _call_often(*arguments, 1)
    started = time.perf_counter()
    _call_often(*arguments, times)
    return (time.perf_counter() - started) / times


def complaint(bot: OwnBot, view: np.ndarray, moves: np.ndarray, given: int) -> str:
    """Say what was wrong with a choice, in the words of Python where the function raised."""
    if given != RAISED:
        return f"it gave {given}: allowed are the numbers of its moves, 0 to {len(moves) - 1}"
    # As Python, which says more than a compiled function can; numpy's own records have a method `round`.
    fields = SimpleNamespace(**{name: view[name][0] for name in VIEW_DTYPE.names or ()})
    try:
        with np.errstate(divide="raise"):
            bot.function(fields, moves)
    except Exception as error:
        return f"it raised {type(error).__name__}: {_in_one_line(error)}"
    return "it raised an exception"


def encode_table(rules: Rules, bots: Sequence[BotSpec], *more: Any) -> tuple[EncodedRules, EncodedBots]:
    """Encode rules and bots as `encode` does, with the addresses of the user's own bots."""
    encoded_rules, encoded_bots = encode(rules, bots, *more)
    addresses = np.zeros(MAX_PLAYERS, np.uint64)
    for seat, bot in enumerate(bots):
        if bot.is_own:
            addresses[seat] = load_own_bot(bot.name).call.address
    return encoded_rules, encoded_bots._replace(addresses=addresses)


@intrinsic
def call_own(typing_context: Any, address: Any, view: Any, moves: Any, number: Any) -> Any:
    """Call the function at an address with a view, moves and their number; gives what it gives."""

    def data_of(context: Any, builder: Any, array_type: Any, array: Any) -> Any:
        data = arrayobj.make_array(array_type)(context, builder, array).data
        return builder.bitcast(data, ir.IntType(8).as_pointer())

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        byte_pointer, word = ir.IntType(8).as_pointer(), ir.IntType(64)
        function_type = ir.FunctionType(word, [byte_pointer, byte_pointer, word])
        function = builder.inttoptr(arguments[0], function_type.as_pointer())
        view_data = data_of(context, builder, signature.args[1], arguments[1])
        moves_data = data_of(context, builder, signature.args[2], arguments[2])
        return builder.call(function, [view_data, moves_data, arguments[3]])

    return types.int64(types.uint64, view, moves, types.int64), generate


@numba.njit(nogil=True)
def _call_often(address, view, moves, number, times):
    total = 0
    for _ in range(times):
        total += call_own(address, view, moves, number)
    return total
