"""Field selection (`fields=`): renders only the named fields of a task or run."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Annotated, Any, Final, NamedTuple

from starlette.requests import Request
from starlette.responses import Response

from ..model.accounts.principal import Principal
from ..model.change import Facts
from ..web.etags import entity_response, raw_entity_response
from ..web.language import request_language
from ..web.parameters import Query
from ..web.request_context import app_context
from ..wire.fields import check_fields
from ..wire.shapes.runs import RUN
from ..wire.shapes.tasks import TASK
from .parameters import INCLUDABLE, parse_include, render_task
from .task_json_cache import encode_task

Fields = Annotated[
    str | None, Query(max_length=1_000, description="Only these fields, comma-separated; named fields are included.")
]
TASK_FIELDS: Final = tuple(TASK["properties"])
RUN_FIELDS: Final = tuple(RUN["properties"])


class FieldSelection(NamedTuple):
    """Selected fields; `names` None: all."""

    names: tuple[str, ...] | None = None

    @property
    def includes(self) -> frozenset[str]:
        """Return the selected fields that are rendered only on request."""
        return frozenset(self.names or ()).intersection(INCLUDABLE)

    def select(self, data: Mapping[str, Any]) -> Mapping[str, Any]:
        return data if self.names is None else {name: data[name] for name in self.names}


def parse_fields(text: str | None, allowed: Collection[str]) -> FieldSelection:
    """Parse a field list: each name once, in the given order. Unknown names are refused, with the closest known one
    first."""
    if text is None:
        return FieldSelection()
    names = dict.fromkeys(part.strip() for part in text.split(","))
    return FieldSelection(tuple(check_fields("fields", names, allowed)))


async def task_entity(
    request: Request, principal: Principal, facts: Facts, include: str | None, fields: str | None
) -> Response:
    """Respond with one task and its ETag, reduced to the selected fields."""
    if include is None and fields is None:
        names = await app_context(request).service.tasks.predecessor_names(principal, [facts.task])
        now = app_context(request).clock.now()
        encoded = encode_task(facts, request_language(request), names=names, now=now)
        return raw_entity_response(request, encoded, facts.task.version)
    selection = parse_fields(fields, (*TASK_FIELDS, "agenda"))
    data = await render_task(
        request, principal, facts, request_language(request), parse_include(include) | selection.includes
    )
    return entity_response(request, selection.select(data), facts.task.version)
