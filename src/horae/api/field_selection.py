"""Only some fields of what is told: those that somebody named, each of them known."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Annotated, Any, Final, NamedTuple

from fastapi import Query
from starlette.requests import Request
from starlette.responses import Response

from ..model.accounts.principal import Principal
from ..model.change import Facts
from ..web.etags import entity, written_entity
from ..web.language import language
from ..wire.fields import check_fields
from ..wire.schemas import shape
from .parameters import INCLUDED, included, shown_task
from .task_json_cache import task_text

Fields = Annotated[
    str | None, Query(max_length=1_000, description="Only these fields, with commas; what is named is included.")
]
TASK_FIELDS: Final = tuple(shape("task")["properties"])
RUN_FIELDS: Final = tuple(shape("run")["properties"])


class Chosen(NamedTuple):
    """`names` None: all of it."""

    names: tuple[str, ...] | None = None

    @property
    def included(self) -> frozenset[str]:
        """What is told only to those who ask for it."""
        return frozenset(self.names or ()).intersection(INCLUDED)

    def of(self, told: Mapping[str, Any]) -> Mapping[str, Any]:
        return told if self.names is None else {name: told[name] for name in self.names}


def chosen(said: str | None, known: Collection[str]) -> Chosen:
    """Once each, in the order in which they were named; the nearest known one is told where there is none."""
    if said is None:
        return Chosen()
    named = dict.fromkeys(part.strip() for part in said.split(","))
    return Chosen(tuple(check_fields("fields", named, known)))


async def task_entity(
    request: Request, who: Principal, facts: Facts, include: str | None, fields: str | None
) -> Response:
    """One task with its tag, as much of it as is wanted."""
    if include is None and fields is None:
        return written_entity(request, task_text(facts, language(request)), facts.task.version)
    only = chosen(fields, (*TASK_FIELDS, "agenda"))
    told = await shown_task(request, who, facts, language(request), included(include) | only.included)
    return entity(request, only.of(told), facts.task.version)
