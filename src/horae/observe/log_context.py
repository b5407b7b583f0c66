"""What a line of the log is about: the request, the task, the run, the trace. It follows the work, however deep it goes."""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar
from typing import Final

NAMES: Final = ("request", "task", "run", "trace")
_IDS: Final[ContextVar[Mapping[str, str]]] = ContextVar("horae_ids", default={})  # noqa: B039 - never written to


def bind(**ids: str) -> None:
    """From here on, in this line of work and what it begins. A request and a run have each a task of the event loop to
    themselves, so nobody has to take it back; and what is said after it failed still says of whom."""
    _IDS.set({**_IDS.get(), **{name: value for name, value in ids.items() if value}})


def bound() -> Mapping[str, str]:
    return _IDS.get()
