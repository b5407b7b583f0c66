"""Prints what the processes of a node report: start, first hints, events of runs, and the end."""

from __future__ import annotations

import asyncio
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from ...app import Horae
from ...message import Message
from ...node.reports import AgentsReady, ApiReady
from ...runtime import sqlite_path
from ...runtime.stores import MEMORY
from ...service.tasks.default_zone import own_zone
from ...service.tasks.demo_tasks import create_demo_tasks
from ...settings import Settings
from ...wire.instants import utc
from ..messages import operating_messages as words
from ..node_options import UpOptions
from .command_hints import is_default_store, omits_password, store_option
from .event_lines import EventFollower
from .outage_summary import find_outage, outage_sentence, outage_summary_json, summarize_outage
from .printer import Printer
from .startup_lines import (
    StartupFacts,
    gather_startup_facts,
    is_seen_at_once,
    print_labelled,
    show_agents,
    show_api,
    show_start,
    start_json,
)
from .styled_text import StyledText
from .terminal_log import configure_node_log

_HEADER_SECONDS: Final = 10.0


class PrintedReports:
    """Prints the reports of an API process."""

    def __init__(self, out: Printer, options: UpOptions) -> None:
        self._out = out
        self._options = options

    @property
    def shows_sign_in_link(self) -> bool:
        return self._options.restarts == 0 and is_seen_at_once(self._out)

    def on_api_ready(self, api: ApiReady) -> None:
        if self._options.restarts == 0:
            # A printer without the store of the app: the printed command names the store already.
            show_api(self._options.make_printer(), api, self._options.program)

    def on_store_lost(self, path: Path | None, at: datetime) -> None:
        if self._out.json:
            self._out.each({"type": "store.lost", "at": utc(at), "path": str(path)})
        else:
            text = self._out.translate(words.STORE_LOST, path=path)
            self._out.line((StyledText("✕ ", "bad"), text), flush=True)


class PrintedWorkerReports(PrintedReports):
    """Prints the reports of a worker process. Made before the app is opened, so that no event is missed."""

    def __init__(self, out: Printer, options: UpOptions, settings: Settings, app: Horae) -> None:
        super().__init__(out, options)
        self._settings = settings
        self._app = app
        self._is_first = options.number == 0
        # The event log has the runs of all processes; texts of tasks exist only in the process that ran them.
        self._events = EventFollower(app, out, verbose=options.verbose, texts_only=not self._is_first)
        self._opened = app.clock.now()
        self._start: StartupFacts | None = None
        self._demo_tasks = 0
        self._agents: AgentsReady | None = None

    def on_agents(self, agents: AgentsReady) -> None:
        self._agents = agents

    async def on_open(self) -> None:
        app, options = self._app, self._options
        self._demo_tasks = await create_demo_tasks(app.service.tasks, app.who) if options.demo and self._is_first else 0
        # Times for people are in the zone of the command line's lists, even if the app has another one.
        zone = self._events.zone = await own_zone(app.service, app.who) or options.zone or app.zone
        if zone != options.zone:
            configure_node_log(self._out, self._settings, zone, failures=self._out.json)
        self._start = await gather_startup_facts(app, app.clock.steady() - options.began, options.restarts, zone)

    async def on_ready(self) -> None:
        try:
            if self._start is not None:
                await self._show_start(self._start)
        finally:
            self._events.start()

    async def watch(self) -> None:
        if self._is_first:
            await self._events.watch_waiting()
        else:
            await asyncio.Event().wait()

    def on_drained(self) -> None:
        self._show(words.DRAINED, "node.drained")

    def on_stopping(self) -> None:
        if self._is_first or self._out.json:
            self._show(words.STOPPING, "node.stopping")

    def on_stopped(self) -> None:
        if self._is_first or self._out.json:
            self._show(words.STOPPED, "node.stopped")

    async def _show_start(self, start: StartupFacts) -> None:
        out = self._out
        if not out.json and not self._is_first:
            await self._wait_for_header()
            text = out.translate(words.PROCESS_READY, number=self._options.number + 1, total=self._options.processes)
            print_labelled(out, words.PROCESS, text)
            return
        if not out.json:
            show_start(out, start)
            if self._shares_a_file:
                print_labelled(out, words.PROCESS, *map(out.translate, words.PROCESSES_ON_SQLITE))
            if self._agents is not None:
                show_agents(out, self._agents)
        outage = await find_outage(self._app, self._opened)
        summary = None if outage is None else await summarize_outage(self._app, outage)
        if out.json:
            outage_json: Any = None if outage is None or summary is None else outage_summary_json(outage, summary)
            agents_json = None if self._agents is None else self._agents._asdict()
            if self._shares_a_file:
                text = " ".join(map(out.translate, words.PROCESSES_ON_SQLITE))
                out.each({"type": "node.warning", "code": "processes_on_sqlite", "detail": text})
            out.each({**start_json(start), "outage": outage_json, **({"agents": agents_json} if agents_json else {})})
            return
        if outage is not None and summary is not None:
            print_labelled(out, words.OUTAGE, outage_sentence(out, start.zone, outage, summary))
        if self._options.restarts == 0:
            self._show_hints()
        self._options.note_header()

    async def _wait_for_header(self) -> None:
        """Wait until the first process has printed its header, but not for one that has died before."""
        reader = self._options.header_reader
        if reader is None or self._options.restarts:
            return
        is_printed = asyncio.Event()
        loop = asyncio.get_running_loop()
        loop.add_reader(reader, is_printed.set)
        try:
            async with asyncio.timeout(_HEADER_SECONDS):
                await is_printed.wait()
        except TimeoutError:
            pass
        finally:
            loop.remove_reader(reader)

    @property
    def _shares_a_file(self) -> bool:
        """Whether this is the first of several processes on one SQLite file."""
        return self._is_first and self._options.processes > 1 and sqlite_path(self._app.url) is not None

    def _show_hints(self) -> None:
        out, url = self._out, self._app.url
        if not is_default_store(out, url) and omits_password(url):
            print_labelled(out, words.STORE, out.translate(words.NAME_THE_STORE))
        horae = self._options.program + store_option(out, url)
        if self._demo_tasks:
            here = out.translate(words.DEMO_HERE, number=self._demo_tasks)
            remove = out.translate(words.REMOVE_DEMO, command=f"{horae} rm --label demo=yes --yes")
            print_labelled(out, words.DEMO, *([here] if url == MEMORY else [here, remove]))
        if url != MEMORY:  # no other process reaches what is in memory
            print_labelled(out, words.TRY, f'{horae} add "every 10s" --say tick', f"{horae} watch")
        if self._options.seconds is None:
            print_labelled(out, words.ENDS, out.translate(words.ON_SIGNAL))
        else:
            print_labelled(out, words.ENDS, out.translate(words.ENDS_ALONE, seconds=self._options.seconds))
        out.line(flush=True)

    def _show(self, message: Message, kind: str) -> None:
        if self._out.json:
            self._out.each({"type": kind})
        else:
            self._out.line(("  ", self._out.translate(message)), flush=True)
