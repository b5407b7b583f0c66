"""Port for the documented layout of plans, which other programs read and write beside Horae."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import NamedTuple, Protocol, runtime_checkable

from ..errors import Refusal


class ForeignPlan(NamedTuple):
    """A member of the queue that another program has written. `state` identifies this content; no message: None."""

    member: str
    state: str
    score: str
    message: str | None


class LayoutNews(NamedTuple):
    """Tasks whose plans another program has changed, and plans that it has added. `has_more`: a part was not looked at."""

    changed: tuple[str, ...] = ()
    added: tuple[ForeignPlan, ...] = ()
    has_more: bool = False


@runtime_checkable
class PlanLayout(Protocol):
    """Part of a store that has the layout."""

    @property
    def has_plan_layout(self) -> bool:
        """Whether the layout is on: its names are those of one deployment, and a cluster cannot have them."""

    def observe_plans(self, observer: Callable[[], None]) -> None:
        """Call `observer` with each renewal of a lease, on the thread that renews it, while there are plans in the layout."""

    async def find_plan_news(self, horizon: datetime) -> LayoutNews:
        """Look at all that is due before the horizon, and at a part of the rest: at the next part with each call."""

    async def name_plan(self, member: str, canonical: str) -> None:
        """Let a plan that is added under the canonical name keep the member under which another program wrote it."""

    async def plan_name(self, canonical: str) -> str:
        """Return the member under which a plan is in the layout."""

    async def quarantine_plan(self, plan: ForeignPlan, refusal: Refusal) -> None:
        """Leave a plan alone, with the reason for the doctor, until another program changes it."""
