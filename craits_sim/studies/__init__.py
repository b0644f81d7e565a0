"""The studies, by name: what a user can ask, each in a file of its own.

A new question is a file here with a subclass of `Study`, and one line in `STUDIES`.
"""

from craits_sim.studies.base import Study
from craits_sim.studies.cards import CardsStudy
from craits_sim.studies.compare import CompareStudy
from craits_sim.studies.crank import CrankStudy
from craits_sim.studies.dealer import DealerStudy
from craits_sim.studies.ladder import LadderStudy
from craits_sim.studies.length import LengthStudy
from craits_sim.studies.luck import LuckStudy
from craits_sim.studies.players import PlayersStudy
from craits_sim.studies.restricted import RestrictedStudy
from craits_sim.studies.screen import ScreenStudy
from craits_sim.studies.seats import SeatsStudy
from craits_sim.studies.stalemate import StalemateStudy
from craits_sim.text import nearest

STUDIES: dict[str, Study] = {
    study.name: study
    for study in (
        SeatsStudy(),
        DealerStudy(),
        LengthStudy(),
        CompareStudy(),
        ScreenStudy(),
        PlayersStudy(),
        StalemateStudy(),
        CrankStudy(),
        LadderStudy(),
        RestrictedStudy(),
        LuckStudy(),
        CardsStudy(),
    )
}


class StudyError(ValueError):
    """A name that is no study; its text is the message for the user."""


def get_study(name: str) -> Study:
    """Give the study of a name.

    Raises
    ------
    StudyError
        If there is none.
    """
    if name not in STUDIES:
        raise StudyError(f'unknown study "{name}"; studies: {", ".join(STUDIES)}{nearest(name, STUDIES)}')
    return STUDIES[name]
