"""Compatibility surfaces: the paths, field names and codes of schedulers that Horae replaces, over the same service.

own_tasks     the caller's own tasks only              routers       routes, and refusals in each surface's form
labels        labels that store a surface's fields     notices       notes on fields that were read differently
scheduled_*   `/scheduled-tasks`                       schedule*     `/schedules`
health        `/api/health/scheduler`
"""

from __future__ import annotations

from typing import Final

from fastapi import APIRouter

from . import health, schedule_actions, scheduled_tasks, schedules

ROUTERS: Final[tuple[APIRouter, ...]] = (
    scheduled_tasks.router,
    # Fixed paths before paths with an id.
    schedule_actions.router,
    schedules.router,
    health.router,
)
