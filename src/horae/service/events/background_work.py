"""Background work of a serving process: webhook delivery, the alarm for missed runs, and the heartbeat ping."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from functools import partial
from typing import Final, NamedTuple

from ...clock import Clock
from ...errors import InvalidSchedule
from ...outgoing.addresses import Networks, read_networks
from ...outgoing.guard import check_url
from ...schedule.durations import parse_duration
from ...settings import Settings
from ...store_retry import restart_on_error
from ..runs.missed_run_alarm import run_missed_run_alarm
from ..service import Service
from .heartbeat_ping import run_pings
from .refusals import refuse
from .webhook_dispatcher import WebhookDispatcher

MIN_INTERVAL: Final = timedelta(seconds=1)


class WatchSettings(NamedTuple):
    """Settings of the background work. `url` empty: no heartbeat ping is sent."""

    grace: timedelta = timedelta(seconds=60)
    url: str = ""
    every: timedelta = timedelta(seconds=60)
    allowed: Networks = ()


def read_watch_settings(settings: Settings) -> WatchSettings:
    """Read the settings; a value that could never work is refused."""
    url = settings.value("ping_url") or ""
    allowed = read_outgoing_networks(settings)
    if url:
        check_url(url, allowed)
    return WatchSettings(
        _read_duration(settings, "overdue_grace"), url, _read_duration(settings, "ping_every"), allowed
    )


def read_outgoing_networks(settings: Settings) -> Networks:
    """Return the networks that webhooks and the ping may reach besides public addresses."""
    return read_networks(settings.value("outgoing_networks"))


async def run_background_work(
    service: Service, clock: Clock, settings: WatchSettings, dispatcher: WebhookDispatcher | None = None
) -> None:
    """Run all background work until cancelled."""
    webhook_dispatcher = dispatcher or WebhookDispatcher(
        service.store,
        service.webhooks.client,
        service.event_encoder,
        clock,
        service.destinations.client,
        service.changes,
    )

    def on_change() -> None:
        webhook_dispatcher.wake()
        service.note_write()

    service.webhooks.on_change = service.destinations.on_change = on_change
    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(restart_on_error("webhook delivery", webhook_dispatcher.run, clock))
            overdue = partial(run_missed_run_alarm, service.store, clock, settings.grace)
            group.create_task(restart_on_error("alarm for missed runs", overdue, clock))
            if settings.url:
                ping = partial(run_pings, service.store, clock, settings)
                group.create_task(restart_on_error("heartbeat", ping, clock))
    finally:
        await service.webhooks.close()


def _read_duration(settings: Settings, name: str) -> timedelta:
    text = str(settings.value(name)).strip()
    try:
        duration = parse_duration(f"{text}s" if text.isdecimal() else text)
    except InvalidSchedule:
        duration = timedelta(0)
    if duration < MIN_INTERVAL:
        raise refuse("bad_ping", name=name, wanted="a length of time of at least a second, such as 60s")
    return duration
