"""Starts the follower of the documented plan layout on a node whose store has it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from ..clock import Clock
from ..model.accounts.principal import NO_QUOTAS, SCOPES_OF, Principal, Role
from ..ports.plan_layout import PlanLayout
from ..service.plans.layout_follower import LayoutFollower
from ..service.service import Service
from ..settings import Settings
from ..store_retry import restart_on_error

VIA = "redis"


def follow_plan_layout(
    service: Service, clock: Clock, who: Principal, settings: Settings, wake: Callable[[], None]
) -> asyncio.Task[None] | None:
    """Follow what other programs write into the layout until the task is cancelled; None without a layout.

    `who` is the owner of the process, and of adopted plans where the settings name no other.
    """
    if not isinstance(service.store, PlanLayout) or not service.store.has_plan_layout:
        return None
    owner = str(settings.value("plan_owner") or who.owner)

    async def principal_of() -> Principal:
        if owner == who.owner:
            return who
        account = await service.accounts.find(owner)
        role = Role.MEMBER if account is None or account.role is Role.ADMIN else account.role
        quotas = NO_QUOTAS if account is None else account.quotas
        return Principal(owner, scopes=SCOPES_OF[role], via=VIA, quotas=quotas, role=role)

    follower = LayoutFollower(service, service.store, clock, principal_of, wake)
    return asyncio.ensure_future(restart_on_error("follower of plans in Redis", follower.run, clock))
