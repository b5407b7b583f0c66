"""Documented layout of plans in Redis: whether a deployment has it, and the search for changes by other programs."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Final, Literal

from ...errors import Refusal, StoreError
from ...model.ids import to_microseconds
from ...model.plans.layout import MESSAGE_PREFIX, PLAN_QUEUE
from ...ports.plan_layout import ForeignPlan, LayoutNews
from .connections.address import DEFAULT_PREFIX, Address
from .connections.connection import RedisConnections
from .layout.keys import Keys
from .transactions.plan_writes import decode_message, decode_reason, encode_refusal
from .transactions.runner import RedisTransactions

LayoutState = Literal["on", "cluster", "prefix", "denied"]
_WINDOW: Final = 500
_MICROSECONDS: Final = 1_000_000


async def read_layout_state(connections: RedisConnections, address: Address) -> LayoutState:
    """Return whether plans are shown in the documented layout, or why not: its names have no hash tag and no prefix, and the
    login may not have the right to use them."""
    if address.layout == "cluster":
        return "cluster"
    if address.prefix != DEFAULT_PREFIX:
        return "prefix"
    for words in (("ZCARD", PLAN_QUEUE), ("EXISTS", f"{MESSAGE_PREFIX}x:1"), ("EXISTS", "plan:work:x:1")):
        try:
            await connections.call(*words)
        except StoreError as error:
            if _is_denied(error):
                return "denied"
            # A key of another type: the doctor shows its plans as they are found.
    return "on"


def _is_denied(error: StoreError) -> bool:
    from redis.exceptions import NoPermissionError  # noqa: PLC0415 - an optional dependency

    return isinstance(error.__cause__, NoPermissionError)


async def read_quarantined(connections: RedisConnections, keys: Keys) -> dict[str, dict[str, str]]:
    """Return the plans in quarantine with their reasons, by member and language; one of which nothing is left is left out."""
    found = await connections.call("HGETALL", keys.quarantined_plans)
    members = sorted(found)
    commands = [command for each in members for command in (("ZRANK", PLAN_QUEUE, each), ("EXISTS", each))]
    answers = await connections.call_all(commands)
    left = zip(members, answers[::2], answers[1::2], strict=True)
    return {each: decode_reason(found[each]) for each, rank, has_message in left if rank is not None or has_message}


def _do_nothing() -> None:
    """Until a node observes the layout."""


class RedisPlanLayout:
    _database: RedisTransactions
    _keys: Keys
    _on_plans: Callable[[], None] = staticmethod(_do_nothing)
    _plan_window = 0
    _plan_cursor = "0"

    @property
    def has_plan_layout(self) -> bool:
        return self._keys.has_plan_layout

    def observe_plans(self, observer: Callable[[], None]) -> None:
        self._on_plans = observer

    async def find_plan_news(self, horizon: datetime) -> LayoutNews:
        keys = self._keys
        names = (keys.plan_rows, keys.plan_tasks, keys.quarantined_plans, PLAN_QUEUE)
        score = to_microseconds(horizon) // _MICROSECONDS
        values = (score, self._plan_window, self._plan_cursor, _WINDOW)
        window, cursor, changed, *added = await self._database.client.run_script("find_plans", names, values)
        self._plan_window, self._plan_cursor = int(window), str(cursor)
        plans = (ForeignPlan(member, state, score, decode_message(text)) for member, state, score, text in added)
        return LayoutNews(tuple(changed), tuple(plans), bool(self._plan_window) or self._plan_cursor != "0")

    async def name_plan(self, member: str, canonical: str) -> None:
        await self._database.client.call("HSET", self._keys.plan_names, canonical, member)

    async def plan_name(self, canonical: str) -> str:
        return await self._database.client.call("HGET", self._keys.plan_names, canonical) or canonical

    async def quarantine_plan(self, plan: ForeignPlan, refusal: Refusal) -> None:
        text = encode_refusal(plan.state, refusal)
        await self._database.client.call("HSET", self._keys.quarantined_plans, plan.member, text)
