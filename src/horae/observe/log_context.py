"""Log context: ids of the current request, task, run and trace in a context variable, added to every log line."""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar
from typing import Final

ID_NAMES: Final = ("request", "task", "run", "trace")
_IDS: Final[ContextVar[Mapping[str, str]]] = ContextVar("horae_ids", default={})  # noqa: B039 - never written to


def bind_ids(**ids: str) -> None:
    """Add ids to the current asyncio task and the tasks it starts.

    A request and a run each have an asyncio task of their own, so the ids are never reset, and are still there in log
    lines written after a failure.
    """
    _IDS.set({**_IDS.get(), **{name: value for name, value in ids.items() if value}})


def current_ids() -> Mapping[str, str]:
    return _IDS.get()
