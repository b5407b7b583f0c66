"""What goes on beside a front end that serves: webhooks are told, what is overdue is told of, and the heartbeat beats."""

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
from ...store_retry import keep_going
from ..runs.missed_run_alarm import watch_overdue
from ..service import Service
from .heartbeat_ping import watch_ping
from .refusals import refuse
from .webhook_dispatcher import Courier

LEAST_BEAT: Final = timedelta(seconds=1)


class Watches(NamedTuple):
    """How this process watches over the deployment. `url` empty: nobody outside waits for a heartbeat."""

    grace: timedelta = timedelta(seconds=60)
    url: str = ""
    every: timedelta = timedelta(seconds=60)
    allowed: Networks = ()


def read_watches(settings: Settings) -> Watches:
    """A refusal for what could never work."""
    url = settings.value("ping_url") or ""
    allowed = networks_of(settings)
    if url:
        check_url(url, allowed)
    return Watches(_length(settings, "overdue_grace"), url, _length(settings, "ping_every"), allowed)


def networks_of(settings: Settings) -> Networks:
    """Where webhooks and the heartbeat may go, besides to public addresses."""
    return read_networks(settings.value("outgoing_networks"))


async def watch(service: Service, clock: Clock, watches: Watches, courier: Courier | None = None) -> None:
    """Until it is cancelled."""
    bringing = courier or Courier(service.store, service.webhooks.postman, service.telling, clock)
    service.webhooks.changed = bringing.ring
    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(keep_going("webhook delivery", bringing.run, clock))
            overdue = partial(watch_overdue, service.store, clock, watches.grace)
            group.create_task(keep_going("alarm for missed runs", overdue, clock))
            if watches.url:
                ping = partial(watch_ping, service.store, clock, watches)
                group.create_task(keep_going("heartbeat", ping, clock))
    finally:
        await service.webhooks.close()


def _length(settings: Settings, name: str) -> timedelta:
    text = str(settings.value(name)).strip()
    try:
        length = parse_duration(f"{text}s" if text.isdecimal() else text)
    except InvalidSchedule:
        length = timedelta(0)
    if length < LEAST_BEAT:
        raise refuse("bad_ping", name=name, wanted="a length of time of at least a second, such as 60s")
    return length
