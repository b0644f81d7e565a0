"""A Monte Carlo rules-analysis toolkit for the card game Craits.

>>> from craits_sim import Rules, compare, simulate, study

gives what the commands compute, as frames: see `craits_sim.api`.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from craits_sim.api import compare as compare
    from craits_sim.api import simulate as simulate
    from craits_sim.api import study as study
    from craits_sim.rules import Rules as Rules
    from craits_sim.rules import load_rules as load_rules

__version__ = "0.1.0"

_HOMES = {
    "Rules": "craits_sim.rules",
    "load_rules": "craits_sim.rules",
    "compare": "craits_sim.api",
    "simulate": "craits_sim.api",
    "study": "craits_sim.api",
}
"""Where each public name stands. It is imported when it is first used, so that ``craits --help`` starts at once."""

__all__ = ["Rules", "__version__", "compare", "load_rules", "simulate", "study"]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
