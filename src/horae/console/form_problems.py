"""Problems of a form that is shown again with its input, and the word that confirms a deletion."""

from __future__ import annotations

from typing import Any, Final

from ..errors import Conflict, HoraeError, InvalidSchedule, InvalidTask, TooMuch
from ..web.problems import status_of
from ..wire.problems import problem_json
from .page import PageRequest
from .refusals import refuse

FORM_ERRORS: Final = (InvalidTask, InvalidSchedule, Conflict, TooMuch)
"""Errors that a user mends in the form. Others, such as an absent object, get a page of their own."""
CONFIRM_FIELD: Final = "confirm"


def form_problem(request: PageRequest, error: HoraeError | None) -> dict[str, Any]:
    """Return what a template shows of the problem; no `problem` where there is no error."""
    return {"problem": None if error is None else problem_json(error, request.viewer.language)}


def form_status(error: HoraeError | None) -> int:
    return 200 if error is None else status_of(error)


def check_confirmation(request: PageRequest, word: str) -> None:
    """Refuse a deletion whose form does not repeat this word."""
    typed = request.form.text(CONFIRM_FIELD)
    if typed != word:
        raise refuse("not_confirmed", value=typed, wanted=word)
