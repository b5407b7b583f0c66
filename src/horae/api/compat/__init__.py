"""The surfaces of schedulers that Horae takes the place of: their paths, field names and codes, over the same service.

own           whose tasks: the caller's alone          door          routes, and refusals in each surface's words
marks         what ordinary tasks remember of it       notices       what was understood differently than it was said
scheduled_*   `/scheduled-tasks`                       schedule*     `/schedules`
health        `/api/health/scheduler`
"""

from __future__ import annotations

from typing import Final

from fastapi import APIRouter

from . import health, schedule_actions, scheduled_tasks, schedules

ROUTERS: Final[tuple[APIRouter, ...]] = (
    scheduled_tasks.router,
    # What has a name of its own comes before what is called by an id.
    schedule_actions.router,
    schedules.router,
    health.router,
)
