"""Start-up lines of a node, as text or JSON: store, tasks, wake mode, next occurrence; address and token of the API."""

from __future__ import annotations

import os
import shlex
import stat
import sys
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Final, NamedTuple

from ...app import Horae
from ...choices import Language
from ...engine.settings import EngineSettings
from ...message import Message
from ...model.change import Facts
from ...model.task import TaskState
from ...node.api_server import ListenAddress, WhyNoApi
from ...node.event_loop import loop_name
from ...node.reports import AgentsReady, ApiReady
from ...runtime import sqlite_path
from ...runtime.store_status import ServerStatus, read_server_status
from ...schedule.preview import make_fires
from ...version import __version__
from ...wire.instants import local, utc
from ...wire.tasks.task import next_due
from ..messages import operating_messages as words
from .command_hints import display_url, store_option
from .line_breaks import is_narrow
from .printer import START_LABEL, Printer, shell_lines
from .server_store import server_json, server_line
from .styled_text import StyledText, display_width, pad, terminal_width

_PRECISION_MS = 100
_SHOWN_NAMES: Final = 5


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


def show_agents(out: Printer, agents: AgentsReady) -> None:
    def names(found: Sequence[str]) -> str:
        shown = ", ".join(found[:_SHOWN_NAMES])
        return f"{shown}, …" if len(found) > _SHOWN_NAMES else shown or out.translate(words.NO_NAMES)

    facts = {"runtime": agents.runtime, "channels": names(agents.channels), "groups": names(agents.groups)}
    print_labelled(out, words.AGENTS, out.translate(words.AGENTS_RUN, **facts))


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


_LOOPBACK: Final = ("127.0.0.1", "localhost", "::1")


def show_no_api(out: Printer, address: ListenAddress, why: WhyNoApi) -> None:
    if why == "not_installed":
        because = out.translate(words.NOT_INSTALLED)
    else:
        because = out.translate(words.PORT_TAKEN, port=address.port)
    if out.json:
        out.each({"type": "api.off", "because": because})
    else:
        print_labelled(out, words.API, out.translate(words.NO_API, because=because))


def show_metrics_url(out: Printer, url: str) -> None:
    if out.json:
        out.each({"type": "metrics.ready", "url": url})
    else:
        print_labelled(out, words.METRICS, url)


def show_api(out: Printer, api: ApiReady, program: str) -> None:
    has_file = api.token_path.exists()
    if out.json:
        out.each(
            {
                "type": "api.ready",
                "url": api.url,
                "docs": f"{api.url}/docs",
                "token_file": str(api.token_path) if has_file else None,
                "first_start": api.first_token is not None,
                "console": api.console,
                "sign_in_link": api.sign_in_link,
                "socket": api.socket,
            }
        )
        return
    print_labelled(out, words.API, out.translate(words.API_AT, url=api.url))
    if api.first_token is not None and sys.stdout.isatty():
        print_labelled(out, words.TOKEN, out.translate(words.FIRST_TOKEN, path=api.token_path))
        out.line(f"  {api.first_token}", flush=True)
    elif has_file:
        print_labelled(out, words.TOKEN, out.translate(words.TOKEN_FILE, path=api.token_path))
    else:
        command = f"{program}{store_option(out, api.store)} token make laptop"
        print_labelled(out, words.TOKEN, out.translate(words.TOKENS_THERE, command=command))
    if api.console is not None:
        _show_console(out, api.console, api.sign_in_link, f"{program}{store_option(out, api.store)} open")
    if has_file:
        _show_request(out, api.token_path, api.url)
    if api.socket is not None:
        token = f"HORAE_TOKEN_FILE={shlex.quote(str(api.token_path))} " if has_file else ""
        command = f"{token}{program} ls --server unix:{shlex.quote(api.socket)}"
        print_labelled(out, words.SOCKET, out.translate(words.SOCKET_AT, path=api.socket, command=command))
    host = api.url.split("://")[1].rsplit(":", 1)[0].strip("[]")
    if host not in _LOOPBACK:
        print_labelled(out, words.API, out.translate(words.NO_TLS, host=host))


def is_seen_at_once(out: Printer) -> bool:
    """Whether a secret in the output is seen by a person at a terminal, or with `--json` read by a program through a pipe.

    A file, or the socket of a service manager, keeps what is written there.
    """
    if sys.stdout.isatty():
        return True
    try:
        return out.json and stat.S_ISFIFO(os.fstat(sys.stdout.fileno()).st_mode)
    except (OSError, ValueError):  # closed, or no file
        return False


def _show_console(out: Printer, console: str, link: str | None, command: str) -> None:
    """Print the one-time link, never broken within; off a terminal, where output may be kept, the command that makes one."""
    if link is None:
        print_labelled(out, words.CONSOLE, out.translate(words.CONSOLE_AT, url=console, command=command))
        return
    note = out.translate(words.ONE_TIME_LINK)
    if START_LABEL + 5 + display_width(link) + display_width(note) <= terminal_width():
        print_labelled(out, words.CONSOLE, f"{link}  {note}")
    else:
        print_labelled(out, words.CONSOLE, note)
        out.line(f"  {link}", flush=True, whole=True)


def _show_request(out: Printer, path: Path, url: str) -> None:
    """Print a request to try: on one line, or on a terminal broken to its width."""
    # The token is not an argument of curl: every user of the machine can read those.
    parts = [
        "sed 's/^/Authorization: Bearer /'",
        shlex.quote(str(path)),
        "| curl -sH @-",
        "-H 'Content-Type: application/json'",
        """-d '{"name": "hello", "when": "every 10s", "say": "hello"}'""",
        f"{url}/v1/tasks",
    ]
    if not out.on_terminal:
        print_labelled(out, words.TRY, " ".join(parts))
        return
    narrow = is_narrow(terminal_width())
    indent = 2 if narrow else START_LABEL + 3
    if narrow:
        out.line(("  ", StyledText(out.translate(words.TRY), "dim")), flush=True)
    for number, line in enumerate(shell_lines(parts, terminal_width(), indent)):
        label = "" if number or narrow else f"  {pad(out.translate(words.TRY), START_LABEL)} "
        out.line((StyledText(pad(label, indent), "dim"), line), flush=True, whole=True)
