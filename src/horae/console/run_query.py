"""Query of the runs page: its parameters in the URL, and the store filter that they mean."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from starlette.datastructures import QueryParams

from ..model.accounts.principal import Principal
from ..ports.store import RunFilter
from ..service.query.filters import narrow_run_filter
from ..service.query.instants import parse_span
from .page import PageRequest
from .request import Form

NAMES: Final = ("q", "since", "until", "task", "tz", "system")
"""Parameters that links and forms of the page carry on."""


class RunQuery(NamedTuple):
    """Texts as given; empty if absent."""

    q: str = ""
    since: str = ""
    until: str = ""
    task: str = ""
    tz: str = ""
    system: str = ""
    """`1`: runs of system tasks instead of all others."""

    def reader(self, principal: Principal) -> Principal:
        """Return the principal that reads the list."""
        return principal.as_system_reader() if self.system == "1" else principal

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters that are set, for URLs and hidden fields."""
        return {name: value for name, value in self._asdict().items() if value}

    @property
    def is_narrowed(self) -> bool:
        return any((self.q, self.since, self.until, self.task, self.system))


def read_run_query(source: QueryParams | Form) -> RunQuery:
    return RunQuery(*((source.get(name) or "").strip() for name in NAMES))


async def build_run_filter(request: PageRequest, query: RunQuery) -> RunFilter:
    """Return the filter that a query means; times are read in the zone of the viewer. Raises refusals of the query."""
    zone, now = request.viewer.zone, request.viewer.now
    run_filter = RunFilter(
        task_id=query.task or None,
        since=parse_span(query.since, zone, now).first if query.since else None,
        until=parse_span(query.until, zone, now).last if query.until else None,
    )
    if query.q:
        run_filter = narrow_run_filter(run_filter, query.q, zone, now)
    if run_filter.task_id is None or run_filter.task_id.startswith("tsk_"):
        return run_filter
    facts = await request.service.tasks.find_by_name(request.viewer.principal, run_filter.task_id)
    return run_filter._replace(task_id=facts.task.id)
