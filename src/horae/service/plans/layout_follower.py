"""Follows the documented layout of plans in Redis: plans that other programs add are adopted, and those they change are followed.

The store itself follows a change before it decides about a plan; this only finds changes of plans that are not due.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from ...clock import Clock
from ...errors import Refusal, StoreError
from ...lifecycle.plans.layout import read_message, read_score
from ...lifecycle.plans.rules import is_closed
from ...model.accounts.principal import Principal
from ...model.change import Change, Facts
from ...model.page import MAX_PAGE_SIZE
from ...model.plans.layout import canonical_member, member_of, parse_member
from ...model.plans.plan import KEY_PREFIX, SURFACE, SURFACE_LABEL, plan_of
from ...model.plans.refusals import refuse
from ...ports.plan_layout import ForeignPlan, PlanLayout
from ...ports.store import TaskFilter
from ...store_retry import StoreRetry
from ..accounts.rights import scoped_key

if TYPE_CHECKING:
    from ..service import Service

LOG: Final = logging.getLogger("horae")
PAUSE_SECONDS: Final = 1.0
"""Shortest time between two looks."""
HORIZON: Final = timedelta(seconds=20)
"""A plan that another program has added is adopted this long before it is due, or as soon as it is found."""


class LayoutFollower:
    """`principal_of` returns the owner of adopted plans, `wake` is called when something may have come due."""

    def __init__(
        self,
        service: Service,
        layout: PlanLayout,
        clock: Clock,
        principal_of: Callable[[], Awaitable[Principal]],
        wake: Callable[[], None],
    ) -> None:
        self._service = service
        self._layout = layout
        self._clock = clock
        self._principal_of = principal_of
        self._wake = wake
        self._news = asyncio.Event()
        self._is_begun = False
        self._retry = StoreRetry("reading of plans in Redis", clock)

    async def run(self) -> None:
        """Look at the layout now and with each renewal of the lease, within the poll ceiling."""
        loop = asyncio.get_running_loop()
        self._layout.observe_plans(lambda: _set_soon(loop, self._news))
        self._news.set()
        while True:
            await self._news.wait()
            self._news.clear()
            try:
                if not self._is_begun:
                    await self.show_known()
                    self._is_begun = True
                if await self.step():
                    self._news.set()
                self._retry.succeeded()
            except StoreError as error:
                self._news.set()
                await self._retry.wait(error)
            await self._clock.pause(PAUSE_SECONDS)

    async def step(self) -> bool:
        """Look at the layout once; return whether a part was not looked at."""
        news = await self._layout.find_plan_news(self._clock.now() + HORIZON)
        for task_id in news.changed:
            await self._follow(task_id)
        for plan in news.added:
            await self._adopt(plan)
        if news.changed or news.added:
            self._wake()
        return news.has_more

    async def show_known(self) -> None:
        """Show plans of the time before the layout was on."""
        after: str | None = None
        while True:
            task_filter = TaskFilter(labels=((SURFACE_LABEL, SURFACE),))
            page = await self._service.store.tasks(task_filter, after, MAX_PAGE_SIZE)
            for facts in page.items:
                if not is_closed(facts):
                    await self._follow(facts.task.id)
            after = page.after
            if after is None:
                return

    async def _follow(self, task_id: str) -> None:
        """Let the store follow the change: it does so before any decision."""
        await self._service.store.change(task_id, None, _change_nothing)

    async def _adopt(self, found: ForeignPlan) -> None:
        try:
            await self._add(found)
        except Refusal as refusal:
            LOG.warning("the plan %s in Redis is left alone: %s", found.member, refusal)
            await self._layout.quarantine_plan(found, refusal)

    async def _add(self, found: ForeignPlan) -> None:
        parsed, canonical = parse_member(found.member), canonical_member(found.member)
        if parsed is None or canonical is None:
            raise refuse(
                "bad_plan_layout",
                name=found.member,
                problem="its name is not plan:msg:STATION:HEX_ID",
                problem_zh="其名称不是 plan:msg:站点:十六进制标识",
            )
        station, plan_id = parsed
        if found.message is None:
            problem, problem_zh = "it has no message", "它没有消息"
            raise refuse("bad_plan_layout", name=found.member, problem=problem, problem_zh=problem_zh)
        principal = await self._principal_of()
        known = await self._service.store.find(principal.owner, scoped_key(principal, f"{KEY_PREFIX}{plan_id:016x}"))
        if known is not None and not is_closed(known):
            plan = plan_of(known.task)
            if plan is None or member_of(plan) != canonical or await self._layout.plan_name(canonical) != found.member:
                raise refuse("plan_exists", id=f"{plan_id:016x}")
            await self._follow(known.task.id)
            return
        plan, progress = read_message(found.member, plan_id, station, found.message)
        due = read_score(found.member, found.score)
        if known is not None:
            # It was closed, and is published again under its id.
            await self._service.tasks.delete(principal, known.task.id)
        if found.member != canonical:
            await self._layout.name_plan(found.member, canonical)
        view = await self._service.plans.adopt(principal, plan, progress, due)
        LOG.info("adopted the plan %s of Redis as %s of %s", found.member, view.task_id, view.owner)
        await self._follow(view.task_id)


def _set_soon(loop: asyncio.AbstractEventLoop, event: asyncio.Event) -> None:
    """Set an event from the thread that renews leases; a loop that has ended needs it no more."""
    with suppress(RuntimeError):
        loop.call_soon_threadsafe(event.set)


def _change_nothing(_facts: Facts) -> Change:
    return Change()
