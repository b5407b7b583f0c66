"""Start-up lines of a worker, as text or JSON: store, number of tasks, wake mode and next occurrence."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from ...app import Horae
from ...choices import Language
from ...engine.settings import EngineSettings
from ...model.change import Facts
from ...model.task import TaskState
from ...node.event_loop import loop_name
from ...runtime import sqlite_path
from ...runtime.store_status import ServerStatus, read_server_status
from ...schedule.preview import make_fires
from ...version import __version__
from ...wire.instants import local, utc
from ...wire.tasks import next_due
from ..messages import operating_messages as words
from ..messages.messages import Message
from .command_hints import display_url
from .printer import START_LABEL, Printer
from .server_store import server_json, server_line
from .styled_text import StyledText

_PRECISION_MS = 100


class StartupFacts(NamedTuple):
    """State of a node when it becomes ready."""

    app: Horae
    at: datetime
    seconds: float
    number: int
    """How many workers the supervisor has started before."""
    tasks: Mapping[TaskState, int]
    upcoming: Facts | None
    server: ServerStatus | None
    zone: str
    """Zone of the printed times."""

    @property
    def due(self) -> datetime | None:
        return None if self.upcoming is None else next_due(self.upcoming)


async def gather_startup_facts(app: Horae, seconds: float, number: int, zone: str) -> StartupFacts:
    overview = await app.service.overview.now(app.who)
    upcoming = overview.upcoming[0] if overview.upcoming else None
    server = await read_server_status(app.url, app.clock)
    return StartupFacts(app, overview.at, seconds, number, overview.tasks, upcoming, server, zone)


def start_json(start: StartupFacts) -> dict[str, Any]:
    app, path = start.app, sqlite_path(start.app.url)
    return {
        "type": "node.ready",
        "version": __version__,
        "ready_ms": round(start.seconds * 1000),
        "restarts": start.number,
        "node": None if app.engine is None else app.engine.node,
        "store": display_url(app.url),
        "path": None if path is None else str(Path(path).resolve()),
        "server": None if start.server is None else server_json(start.server),
        "loop": loop_name(),
        "zone": app.zone,
        "tasks": {state.value: number for state, number in start.tasks.items()},
        "scheduler": {
            "wake": "precise" if app.settings.precise else "poll",
            **_mechanism(app.settings),
            "queued": start.tasks[TaskState.ACTIVE],
            "next": utc(start.due),
            "next_local": local(start.due, app.zone),
            "next_task": None if start.upcoming is None else start.upcoming.task.name,
        },
    }


def _mechanism(settings: EngineSettings) -> dict[str, Any]:
    """Return type, mechanism and precision of the scheduler, for programs that read the start-up line."""
    if settings.precise:
        return {"type": "priority_queue", "mechanism": "timer", "precision_ms": _PRECISION_MS, "status": "running"}
    ceiling = settings.poll_interval or settings.terms.poll_ceiling
    late = round(ceiling.total_seconds() * 1000)
    return {"type": "polling", "mechanism": "interval", "precision_ms": late, "status": "running"}


def show_start(out: Printer, start: StartupFacts) -> None:
    ready = words.READY if start.number == 0 else words.AGAIN
    out.line(
        ("  ", StyledText(f"horae {__version__}", "bold"), f"  {out.translate(ready, seconds=f'{start.seconds:.1f}')}")
    )
    print_labelled(out, words.DATA, _data(out, start))
    print_labelled(out, words.TASKS, _tasks(out, start.tasks))
    print_labelled(out, words.SCHEDULER, " · ".join(_scheduler(out, start)))


def print_labelled(out: Printer, label: Message, *texts: str) -> None:
    """Print each text on a line of its own, the first behind the label."""
    for number, text in enumerate(texts):
        out.row("" if number else out.translate(label), text, width=START_LABEL, flush=True)


def _data(out: Printer, start: StartupFacts) -> str:
    if start.server is not None:
        return server_line(out, start.server)
    path = sqlite_path(start.app.url)
    return out.translate(words.IN_MEMORY) if path is None else out.translate(words.SQLITE, path=Path(path).resolve())


def _tasks(out: Printer, tasks: Mapping[TaskState, int]) -> str:
    total = sum(tasks.values())
    if not total:
        return out.translate(words.NO_TASKS)
    states = [out.translate(words.STATES[state], number=number) for state, number in tasks.items() if number]
    return out.translate(words.COUNTED, total=total, states=_join(states, out.language))


def _scheduler(out: Printer, start: StartupFacts) -> list[str]:
    """Return the wake mode (timer or polling), the number of queued tasks, and the next occurrence."""
    settings = start.app.settings
    ceiling = settings.poll_interval or settings.terms.poll_ceiling
    source = "HORAE_WAKE=poll" if settings.poll_interval is None else "--poll"
    polling = out.translate(words.POLLING, seconds=f"{ceiling.total_seconds():g}", said=source)
    how = out.translate(words.PRECISE) if settings.precise else polling
    queued = out.translate(words.QUEUED, number=start.tasks[TaskState.ACTIVE])
    if start.upcoming is None or start.due is None:
        return [how, queued, out.translate(words.NOTHING_NEXT)]
    (fire,) = make_fires(start.zone, [start.due])
    at = fire.local.isoformat(" ", "seconds")
    ahead = fire.relative(start.at, out.language)
    return [how, queued, out.translate(words.NEXT, at=at, ahead=ahead, name=start.upcoming.task.name)]


def _join(parts: list[str], language: Language) -> str:
    return (", " if language == "en" else "、").join(parts)
