"""Records: what happened in each game, for those who analyze it in a notebook of their own.

Rows are written while games are played, in the order of the game index, so that memory does not grow with them. A file
is whole or absent: it is written beside its place and renamed at the end.

One row per game and seat, in the order of game, design point and seat:

=====================  =================================================================================
the factors            one column for each varied key, where something is varied
``game``               index of the game, from 0
``seat``               from 0, clockwise
``position``           counted clockwise from the game's first dealer, who is 0
``bot``                who plays there
``total``              points of the game
``win``                1, 1/k where k win together, 0
``turns``              turns of all seats in the game; so too the following
``cards_drawn``        the deal and the starter left out
``crank_cards_drawn``  of them, drawn to pay a crank
``cranks``             cranks started
``reshuffles``
``blocked``            rounds that were blocked (RULES.md R13)
``truncated``          rounds that the turn cap ended
=====================  =================================================================================

One row per game, round and seat, in the order of game, design point, round and offset:

=====================  =================================================================================
the factors, ``game``  as above
``round``              from 1
``deal_size``          cards dealt to each player
``seat``, ``bot``      as above
``position``           as above
``offset``             counted clockwise from the dealer of the round, who is 0
``points``             of the round
``went_out``           whether the seat ended the round
``ending``             ``went_out``, ``blocked`` or ``truncated``
``turns``              turns that the seat took
``skips``              turns that it lost to an ability
``forced_cards``       cards that it drew because of others' cards
``round_turns``        turns of all seats in the round; so too the following
``cards_drawn``        and ``crank_cards_drawn``, ``cranks``, ``reshuffles``: as above
=====================  =================================================================================

The metadata of a file says what was played, as JSON under ``craits``, and in ``attrs`` when pandas reads the file:
versions, seed, and of each design point its factors, rules and bots.
"""

import json
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from craits_sim import __version__
from craits_sim.design import DesignError, DesignPoint
from craits_sim.files import replacing_file
from craits_sim.results import WIN_UNIT, Batch, Ending

GAME_COLUMNS = {
    "game": pa.int64(),
    "seat": pa.int8(),
    "position": pa.int8(),
    "bot": pa.dictionary(pa.int8(), pa.string()),
    "total": pa.int64(),
    "win": pa.float64(),
    "turns": pa.int32(),
    "cards_drawn": pa.int32(),
    "crank_cards_drawn": pa.int32(),
    "cranks": pa.int32(),
    "reshuffles": pa.int32(),
    "blocked": pa.int32(),
    "truncated": pa.int32(),
}
ROUND_COLUMNS = {
    "game": pa.int64(),
    "round": pa.int16(),
    "deal_size": pa.int16(),
    "seat": pa.int8(),
    "position": pa.int8(),
    "bot": pa.dictionary(pa.int8(), pa.string()),
    "offset": pa.int8(),
    "points": pa.int64(),
    "went_out": pa.bool_(),
    "ending": pa.dictionary(pa.int8(), pa.string()),
    "turns": pa.int32(),
    "skips": pa.int32(),
    "forced_cards": pa.int32(),
    "round_turns": pa.int32(),
    "cards_drawn": pa.int32(),
    "crank_cards_drawn": pa.int32(),
    "cranks": pa.int32(),
    "reshuffles": pa.int32(),
}

ENDINGS = tuple(ending.name.lower() for ending in Ending)

Columns = dict[str, NDArray[Any]]
Rows = dict[str, pa.RecordBatch]


class Recorder:
    """Turns batches into rows, and writes them.

    Parameters
    ----------
    points
        The design points; as many batches come with each chunk.
    seed
        Of the games.
    games_file, rounds_file
        Where the rows go, a file that is written anew; None for nowhere.
    """

    def __init__(
        self,
        points: Sequence[DesignPoint],
        seed: int,
        games_file: Path | None,
        rounds_file: Path | None,
    ) -> None:
        self._points = points
        self._bots = tuple(dict.fromkeys(str(bot) for point in points for bot in point.bots))
        self._writers: dict[str, pq.ParquetWriter] = {}
        metadata = _metadata(points, seed)
        for kind, file, columns in (
            ("games", games_file, GAME_COLUMNS),
            ("rounds", rounds_file, ROUND_COLUMNS),
        ):
            if file is not None:
                types = {**_factor_types(points), **columns}
                fields = [pa.field(name, values, nullable=False) for name, values in types.items()]
                self._writers[kind] = _writer(file, pa.schema(fields, metadata))

    def rows(self, first_game: int, batches: Sequence[Batch]) -> Rows:
        """Turn the batches of a chunk, one a design point, into rows; may be called in several threads at once."""
        return {kind: self._batch(kind, writer.schema, first_game, batches) for kind, writer in self._writers.items()}

    def write(self, rows: Rows) -> None:
        """Write the rows of a chunk; to be called in the order of games."""
        for kind, batch in rows.items():
            self._writers[kind].write_batch(batch)

    def close(self) -> None:
        """Write the ends of the files; without them they cannot be read."""
        for writer in self._writers.values():
            writer.close()

    def _batch(self, kind: str, schema: pa.Schema, first_game: int, batches: Sequence[Batch]) -> pa.RecordBatch:
        parts = []
        for point, batch in zip(self._points, batches, strict=True):
            bots = np.array([self._bots.index(str(bot)) for bot in point.bots], np.int8)
            if kind == "games":
                columns = game_columns(batch, first_game, bots)
            else:
                columns = round_columns(batch, first_game, bots, point.rules.deals)
            arrays = [
                self._array(field, columns[field.name])
                if field.name in columns
                else self._level(field, point.factors[field.name], len(columns["game"]))
                for field in schema
            ]
            parts.append(pa.RecordBatch.from_arrays(arrays, schema=schema))
        if len(parts) == 1:
            return parts[0]
        together = pa.Table.from_batches(parts).combine_chunks()
        order = np.argsort(together.column("game").to_numpy(), kind="stable")
        (batch,) = together.take(order).combine_chunks().to_batches()
        return batch

    def _array(self, field: pa.Field, values: NDArray[Any]) -> pa.Array:
        if pa.types.is_dictionary(field.type):
            words = ENDINGS if field.name == "ending" else self._bots
            return pa.DictionaryArray.from_arrays(pa.array(values.astype(np.int8)), pa.array(words, pa.string()))
        return pa.array(values, field.type)

    def _level(self, field: pa.Field, level: object, count: int) -> pa.Array:
        """Give the column of a factor at one design point: ``count`` times its level."""
        if not pa.types.is_dictionary(field.type):
            return pa.repeat(pa.scalar(level, field.type), count)
        words = list(dict.fromkeys(str(point.factors[field.name]) for point in self._points))
        codes = np.full(count, words.index(str(level)), np.int32)
        return pa.DictionaryArray.from_arrays(pa.array(codes), pa.array(words, pa.string()))


@contextmanager
def recording(
    points: Sequence[DesignPoint], seed: int, games_file: Path | None, rounds_file: Path | None
) -> Iterator[Recorder | None]:
    """Lend a recorder, or None where nothing is to be recorded; the files are in their places after the block.

    If the block fails, earlier files are left as they were.

    Raises
    ------
    DesignError
        If both files are the same.
    OSError
        If a file cannot be written.
    """
    if games_file is None and rounds_file is None:
        yield None
        return
    if games_file is not None and rounds_file is not None and games_file.absolute() == rounds_file.absolute():
        raise DesignError(f"{games_file} cannot hold both games and rounds: name two files")
    with ExitStack() as stack:
        places = [
            None if file is None else stack.enter_context(replacing_file(file, "the records"))
            for file in (games_file, rounds_file)
        ]
        recorder = Recorder(points, seed, *places)
        try:
            yield recorder
        finally:
            # On failure too: an open file cannot be removed everywhere.
            recorder.close()


def _writer(file: Path, schema: pa.Schema) -> pq.ParquetWriter:
    """Open a file that is quick to write.

    Measured for rows of rounds, per game of four players, which takes 14 us to play: 9.0 us and 286 bytes with numbers
    as they are; 6.7 and 257 with the first bytes of all numbers together, then the second ones, and so on (most are
    zero); 4.1 and 256 where moreover no value may be missing. With LZ4 it would be 2.9 and 402, with dictionaries for
    the numbers of few values 9.0 and 218.
    """
    numbers = [field.name for field in schema if pa.types.is_integer(field.type) or pa.types.is_floating(field.type)]
    return pq.ParquetWriter(
        file,
        schema,
        compression="zstd",
        compression_level=1,
        use_dictionary=[field.name for field in schema if pa.types.is_dictionary(field.type)],
        column_encoding={**dict.fromkeys(numbers, "BYTE_STREAM_SPLIT"), "game": "DELTA_BINARY_PACKED"},
        write_statistics=["game"],
    )


def _metadata(points: Sequence[DesignPoint], seed: int) -> dict[str, str]:
    from craits_sim.kernel import RNG_LAYOUT

    played = {
        "version": __version__,
        "rng": RNG_LAYOUT,
        "pyarrow": pa.__version__,
        "seed": seed,
        "design_points": [
            {
                "factors": point.factors,
                "rules": {
                    "name": point.rules.name,
                    "digest": point.rules.digest,
                    "fields": point.rules.by_key(),
                },
                "players": point.rules.players,
                "bots": [str(bot) for bot in point.bots],
                "bot_digests": [bot.digest(point.rules.players) for bot in point.bots],
            }
            for point in points
        ],
    }
    # pandas makes the attrs of a frame of the second.
    return {"craits": json.dumps(played), "PANDAS_ATTRS": json.dumps({"craits": played})}


def _factor_types(points: Sequence[DesignPoint]) -> dict[str, pa.DataType]:
    """Give the type of the column of each factor: whole numbers and truth values as such, else text."""
    types: dict[str, pa.DataType] = {}
    for name in points[0].factors:
        levels = [point.factors[name] for point in points]
        if all(isinstance(level, bool) for level in levels):
            types[name] = pa.bool_()
        elif all(type(level) is int for level in levels):
            types[name] = pa.int64()
        else:
            types[name] = pa.dictionary(pa.int32(), pa.string())
    return types


def game_columns(batch: Batch, first_game: int, bots: NDArray[np.int8]) -> Columns:
    """Give the columns of `GAME_COLUMNS` for a batch.

    Parameters
    ----------
    bots
        The number of each seat's bot, shape (S,); ``bot`` holds these.

    Returns
    -------
    dict
        Arrays of G * S values.
    """
    games, players = batch.totals.shape
    seats = np.arange(players, dtype=np.int32)
    # einsum adds short rows several times faster than sum.
    by_game: Columns = {
        "game": np.arange(first_game, first_game + games),
        "turns": np.einsum("gr->g", batch.turns),
        "cards_drawn": np.einsum("gr->g", batch.drawn),
        "crank_cards_drawn": np.einsum("gr->g", batch.crank_drawn),
        "cranks": np.einsum("gr->g", batch.cranks),
        "reshuffles": np.einsum("gr->g", batch.reshuffles),
        "blocked": np.count_nonzero(batch.ending == Ending.BLOCKED, axis=1),
        "truncated": np.count_nonzero(batch.ending == Ending.TRUNCATED, axis=1),
    }
    return {
        "seat": np.tile(seats, games),
        "position": ((seats - batch.first_dealer[:, None]) % players).ravel(),
        "bot": np.tile(bots, games),
        "total": batch.totals.ravel(),
        "win": batch.wins.ravel() / WIN_UNIT,
        **{name: values.repeat(players) for name, values in by_game.items()},
    }


def round_columns(batch: Batch, first_game: int, bots: NDArray[np.int8], deals: Sequence[int]) -> Columns:
    """Give the columns of `ROUND_COLUMNS` for a batch; ``ending`` holds values of `Ending`.

    Returns
    -------
    dict
        Arrays of G * R * S values.
    """
    games, rounds, players = batch.points.shape
    offsets = np.arange(players, dtype=np.int8)
    # Who sits at which offset hangs on the dealer alone. Taking rows of a small table is ten times as fast as
    # arithmetic on every seat.
    seats = (offsets[:, None] + offsets) % players
    went_out = np.eye(players + 1, players, dtype=bool)  # the last row: nobody
    went_out_at = np.where(batch.went_out < 0, players, (batch.went_out - batch.dealer) % players)
    by_round: Columns = {
        "ending": batch.ending.astype(np.int8),
        "round_turns": batch.turns,
        "cards_drawn": batch.drawn,
        "crank_cards_drawn": batch.crank_drawn,
        "cranks": batch.cranks,
        "reshuffles": batch.reshuffles,
    }
    return {
        "game": np.arange(first_game, first_game + games).repeat(rounds * players),
        "round": np.tile(np.arange(1, rounds + 1, dtype=np.int16).repeat(players), games),
        "deal_size": np.tile(np.array(deals, np.int16).repeat(players), games),
        "seat": seats.take(batch.dealer, axis=0).ravel(),
        "position": seats.take((batch.dealer - batch.first_dealer[:, None]) % players, axis=0).ravel(),
        "bot": bots[seats].take(batch.dealer, axis=0).ravel(),
        "offset": np.tile(offsets, games * rounds),
        "points": batch.points.ravel(),
        "went_out": went_out.take(went_out_at, axis=0).ravel(),
        "turns": batch.seat_turns.ravel(),
        "skips": batch.skips.ravel(),
        "forced_cards": batch.forced.ravel(),
        **{name: values.ravel().repeat(players) for name, values in by_round.items()},
    }
