"""One node in the foreground: the app is opened, what it does is told line by line, until somebody asks it to stop."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Final

from ...app import Horae
from ...engine.settings import EngineSettings
from ...observe.metrics_server import Observability
from ...runtime.observability import (
    make_observability,
    make_observer,
    register_engine_gauges,
    run_metrics_server,
    run_observer,
)
from ...service.tasks.default_zone import own_zone
from ...store_retry import restart_on_error
from ..app_loader import load_app
from ..commands.operate.demo_tasks import create_demo_tasks, register_demo_function
from ..doctor.same_file import SameFile, stop_when_lost
from ..messages import operating_messages as words
from ..messages.messages import Message
from ..output.event_lines import EventFollower
from ..output.outage_summary import account_of, gap_before, gap_json, gap_sentence
from ..output.printer import Printer
from ..output.shown_store import flag_for, is_found, leaves_password_out
from ..output.startup_lines import StartupFacts, gather, labelled, show_start, start_json
from ..output.terminal_log import begin_node_log
from ..session.open_store import MEMORY, settings_of
from .api_server import api_within
from .heartbeat import Punctuality, beat
from .supervisor import BEGUN, DRAINED, STORE_LOST
from .work_order import WorkOrder

_STOPPERS: Final = (signal.SIGINT, signal.SIGTERM)


async def work(
    order: WorkOrder,
    ready: Callable[[], None] = lambda: None,
    line: socket.socket | None = None,
    orphaned: threading.Event | None = None,
) -> int:
    """`ready` is called when the engine runs; signs of life go to `line`. Ends in good order when SIGINT or SIGTERM comes;
    the exit code. `orphaned` is set when the supervisor was killed."""
    stop = _stop_on_signal(force=not order.supervised)
    settings = settings_of(order.store)
    out = order.out
    begin_node_log(out, settings, order.zone)
    app = _made(order)
    out = _on_store_of(app, out)
    begin_node_log(out, settings, order.zone, failures=out.json)
    observer = make_observer("engine" if order.door is None else "both", app.clock)
    sight = make_observability(observer, settings)
    app.observe(observer)
    if line is not None:
        app.on_engine_start = partial(line.sendall, BEGUN)
    following = EventFollower(app, out, verbose=order.verbose)
    opened = app.clock.now()
    async with app, _looked_at(order, app, sight), api_within(order, app, sight):
        file = SameFile(app.url)
        demos = await create_demo_tasks(app) if order.demo else 0
        zone = following.zone = await _shown_zone(order, app)
        if zone != order.zone:
            begin_node_log(out, settings, zone, failures=out.json)
        start = await gather(app, app.clock.steady() - order.began, order.number, zone)
        ready()
        try:
            await _greet(out, order, start, opened, demos)
        finally:
            following.begin()
        beside: dict[str, Callable[[], Awaitable[None]]] = {
            "notice of waiting tasks": following.watch_what_waits,
            "watch over the store's file": partial(stop_when_lost, out, app.clock, file, stop),
            "watch over a drain": partial(_stop_when_drained, out, app, stop),
            "sign of life": partial(_give_signs, order, app, line),
        }
        jobs = [asyncio.ensure_future(restart_on_error(name, run, app.clock)) for name, run in beside.items()]
        try:
            await _until(stop, None if order.supervised else order.seconds)
            app.is_stop_requested = orphaned is None or not orphaned.is_set()
        finally:
            for job in jobs:
                job.cancel()
            await asyncio.gather(*jobs, return_exceptions=True)
        was_drained = app.engine is not None and app.engine.drained.is_set()
        _say(out, words.STOPPING, "node.stopping")
    _say(out, words.STOPPED, "node.stopped")
    if file.lost:
        return STORE_LOST
    return DRAINED if was_drained else 0


def _on_store_of(app: Horae, out: Printer) -> Printer:
    """Printed commands name the store of the app, which may be another than the default one."""
    return out if out.store or app.url.startswith("memory:") else replace(out, store=app.url)


async def _shown_zone(order: WorkOrder, app: Horae) -> str:
    """Times for people are in the same zone as in the lists of the command line, whatever the zone of the app is."""
    return await own_zone(app.service, app.who) or order.zone or app.zone


@asynccontextmanager
async def _looked_at(order: WorkOrder, app: Horae, looking: Observability) -> AsyncIterator[None]:
    if app.engine is not None:
        register_engine_gauges(looking.observer, app.engine, app.settings.capacity)
    async with (
        run_observer(looking.observer, app.clock),
        run_metrics_server(order.look, order.look_key, app.service, app.clock, looking),
    ):
        yield


async def _stop_when_drained(out: Printer, app: Horae, stop: asyncio.Event) -> None:
    await app.until_drained()
    _say(out, words.DRAINED, "node.drained")
    stop.set()


async def _give_signs(order: WorkOrder, app: Horae, line: socket.socket | None) -> None:
    if line is not None and order.beat is not None:
        punctuality = Punctuality(app)
        beating = beat(line, order.beat, app.clock, lambda: punctuality.kept)
        await asyncio.gather(beating, punctuality.watch(order.beat))


def _made(order: WorkOrder) -> Horae:
    if order.place is not None:
        app = load_app(order.place, order.store)
    else:
        app = Horae(order.store, zone=order.zone)
        register_demo_function(app)
    app.settings = _numbers(app.settings, order)
    return app


def _numbers(settings: EngineSettings, order: WorkOrder) -> EngineSettings:
    """What was said on the command line, in the place of what the app has."""
    if order.poll is not None:
        settings = replace(settings, precise=False, poll_interval=timedelta(seconds=order.poll))
    if order.batch is not None:
        settings = replace(settings, claim_limit=order.batch)
    if order.concurrency is not None:
        settings = replace(settings, capacity=order.concurrency)
    if order.lease is not None:
        settings = replace(settings, terms=settings.terms._replace(lease=timedelta(seconds=order.lease)))
    return settings


def _stop_on_signal(*, force: bool) -> asyncio.Event:
    """Begun in the background by a script, a program inherits that Ctrl-C is to be ignored: not this one.

    `force`: nobody stands behind us to end us when we do not, so a second signal does it.
    """
    stop = asyncio.Event()

    def asked(number: int) -> None:
        if stop.is_set() and force:
            os._exit(128 + number)
        stop.set()

    for each in _STOPPERS:
        with suppress(NotImplementedError):  # Windows raises KeyboardInterrupt by itself
            asyncio.get_running_loop().add_signal_handler(each, asked, int(each))
    return stop


async def _until(stop: asyncio.Event, seconds: float | None) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await stop.wait()


async def _greet(out: Printer, order: WorkOrder, start: StartupFacts, opened: datetime, demos: int) -> None:
    app = start.app
    if not out.json:
        show_start(out, start)
    outage = await gap_before(app, opened)
    account = None if outage is None else await account_of(app, outage)
    if out.json:
        gap: Any = None if outage is None or account is None else gap_json(outage, account)
        out.each({**start_json(start), "outage": gap})
        return
    if outage is not None and account is not None:
        labelled(out, words.OUTAGE, gap_sentence(out, start.zone, outage, account))
    if order.number == 0:
        _show_hints(out, order, app, demos)


def _show_hints(out: Printer, order: WorkOrder, app: Horae, demos: int) -> None:
    if not is_found(app.url) and leaves_password_out(app.url):
        labelled(out, words.STORE, out.translate(words.NAME_THE_STORE))
    horae = order.program + flag_for(app.url)
    if demos:
        here = out.translate(words.DEMO_HERE, number=demos)
        remove = out.translate(words.REMOVE_DEMO, command=f"{horae} rm --label demo=yes --yes")
        labelled(out, words.DEMO, *([here] if app.url == MEMORY else [here, remove]))
    if app.url != MEMORY:  # no other process reaches what is in memory
        labelled(out, words.TRY, f'{horae} add "every 10s" --say tick', f"{horae} watch")
    if order.seconds is None:
        labelled(out, words.ENDS, out.translate(words.ON_SIGNAL))
    else:
        labelled(out, words.ENDS, out.translate(words.ENDS_ALONE, seconds=order.seconds))
    out.line(flush=True)


def _say(out: Printer, said: Message, kind: str) -> None:
    if out.json:
        out.each({"type": kind})
    else:
        out.line(("  ", out.translate(said)), flush=True)
