"""Small helpers for texts that people read: messages, and values as TOML has them."""

from collections.abc import Iterable, Mapping
from difflib import get_close_matches


def nearest(value: str, allowed: Iterable[str]) -> str:
    """Give ``; did you mean "X"?`` for the allowed value most like ``value``, nothing if none is like it."""
    by_lower_case = {name.lower(): name for name in allowed}
    matches = get_close_matches(value.lower(), by_lower_case, n=1, cutoff=0.5)
    return f'; did you mean "{by_lower_case[matches[0]]}"?' if matches else ""


def toml_value(value: object) -> str:
    """Write a value as TOML has it, in one line, for a file or a message."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return f'"{"".join(map(_escaped, value))}"'
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(toml_value, value))}]"
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{toml_value(str(key))} = {toml_value(item)}' for key, item in value.items())}}}"
    return str(value)


def levels_text(factors: Mapping[str, object]) -> str:
    """Name a design point by the levels of its factors, like ``draw.until_playable = true, players = 4``.

    A variant stands there by its name alone. A level that is a list comes as its text, as in a summary.
    """
    return ", ".join(str(level) if key == "variant" else f"{key} = {_level(level)}" for key, level in factors.items())


def _level(level: object) -> str:
    plain = level.item() if hasattr(level, "item") else level  # a number or a truth value out of a frame
    return plain if isinstance(plain, str) and plain.startswith("[") else toml_value(plain)


def _escaped(character: str) -> str:
    if character in '"\\':
        return f"\\{character}"
    if character.isprintable():
        return character
    return f"\\u{ord(character):04x}" if ord(character) < 0x10000 else f"\\U{ord(character):08x}"
