"""Numbers of a command line or an experiment file."""

import math

import pytest

from craits_sim.ranges import GAMES, LEVEL, MARGIN, SEED, STUDY_OPTION, NumberError


@pytest.mark.parametrize("text", ["100000", "1e5", "100_000", "100k", "0.1m", "100K", " 100000 ", "1E5", "100000.0"])
def test_a_number_of_games_is_read_in_each_way_people_write_it(text: str) -> None:
    assert GAMES.parse(text) == 100_000


@pytest.mark.parametrize(
    "value",
    [
        *("0", "-5", "1.5", "nan", "inf", "-inf", "", " ", "k", "1kk", "1g", "ten", "0x10", "1,000"),
        *("10000000001", "1e999999999", 0, -1, 0.5, math.nan, math.inf, True, None, [1]),
    ],
)
def test_what_is_no_number_of_games_is_refused_with_the_value_and_what_is_allowed(value: object) -> None:
    with pytest.raises(NumberError) as error:
        GAMES.parse(value)
    shown = f'"{value}"' if isinstance(value, str) else str(value).lower()
    assert shown in str(error.value).lower()
    assert "whole numbers from 1 to 10,000,000,000" in str(error.value)


def test_seeds_use_all_64_bits() -> None:
    assert SEED.parse("18446744073709551615") == 2**64 - 1
    with pytest.raises(NumberError, match="18,446,744,073,709,551,615"):
        SEED.parse(2**64)


@pytest.mark.parametrize("value", ["0.5", "1", "95", "nan", "-0.9", "0"])
def test_a_level_lies_between_a_half_and_one(value: str) -> None:
    assert LEVEL.parse("0.99") == 0.99
    with pytest.raises(NumberError, match=r"numbers above 0\.5 and below 1"):
        LEVEL.parse(value)


def test_a_margin_is_above_zero_and_an_option_may_be_zero() -> None:
    assert STUDY_OPTION.parse(0) == 0
    with pytest.raises(NumberError, match="numbers above 0 and below 1,000,000"):
        MARGIN.parse(0)
    with pytest.raises(NumberError, match="numbers from 0 to 1,000,000"):
        STUDY_OPTION.parse(-1)
