"""Saved views: named queries of a list, stored per owner as records."""

from __future__ import annotations

import json
from hashlib import blake2b
from typing import Final, NamedTuple

from ...model.accounts.principal import Principal, Scope
from ...model.record import Record
from ...model.refusals import refuse as refuse_task
from ...model.text.field_checks import check_text
from ...ports.records import Records
from ..query.parser import MAX_CHARACTERS, parse_query
from .refusals import refuse
from .rights import refuse_agent

VIEW_KIND: Final = "view"
LISTS: Final = ("tasks", "runs")
MAX_VIEWS: Final = 50
_MAX_NAME: Final = 60
_TRIES: Final = 5


class View(NamedTuple):
    """A query under a name. `list_name` is the list that it filters."""

    name: str
    list_name: str
    query: str
    owner: str
    version: int = 1


class Views:
    """Views belong to the owner of the caller; admins see their own ones too."""

    def __init__(self, records: Records) -> None:
        self._records = records

    async def all(self, principal: Principal, list_name: str | None = None) -> tuple[View, ...]:
        """Return the views of a list, or of all lists, by name."""
        refuse_agent(principal, "saved views")
        principal.require_scope(Scope.READ)
        wanted = LISTS if list_name is None else (_check_list(list_name),)
        views = await self._load(principal.owner)
        return tuple(sorted(view for view in views if view.list_name in wanted))

    async def get(self, principal: Principal, list_name: str, name: str) -> View:
        """Return one view; an absent one is refused."""
        refuse_agent(principal, "saved views")
        principal.require_scope(Scope.READ)
        return _view(await self._find(principal.owner, list_name, name))

    async def save(self, principal: Principal, list_name: str, name: str, query: str) -> View:
        """Store a view, or replace the query of the view with this name."""
        refuse_agent(principal, "saved views")
        principal.require_scope(Scope.READ)
        view = View(_check_name(name), _check_list(list_name), _check_query(query), principal.owner)
        for _ in range(_TRIES):
            before = await self._records.get_record(VIEW_KIND, _key(view), principal.owner)
            if before is None and len(await self._load(principal.owner)) >= MAX_VIEWS:
                raise refuse("too_many_views", most=MAX_VIEWS)
            if await self._records.put_record(_record(view), replacing=None if before is None else before.version):
                return view._replace(version=1 if before is None else before.version + 1)
        raise refuse("views_contested")

    async def remove(self, principal: Principal, list_name: str, name: str) -> None:
        """Remove a view; an absent one is refused."""
        refuse_agent(principal, "saved views")
        principal.require_scope(Scope.READ)
        record = await self._find(principal.owner, list_name, name)
        if not await self._records.drop_record(VIEW_KIND, record.key, record.version):
            raise refuse("no_such_view", name=name)

    async def _find(self, owner: str, list_name: str, name: str) -> Record:
        key = _key(View(_check_name(name), _check_list(list_name), "", owner))
        record = await self._records.get_record(VIEW_KIND, key, owner)
        if record is None:
            raise refuse("no_such_view", name=name)
        return record

    async def _load(self, owner: str) -> list[View]:
        page = await self._records.records(VIEW_KIND, owner, limit=MAX_VIEWS)
        return [_view(record) for record in page.items]


def _check_name(name: str) -> str:
    check_text("name", name, _MAX_NAME)
    return name.strip()


def _check_list(name: str) -> str:
    if name not in LISTS:
        raise refuse_task("bad_choice", name="list", value=name, allowed=", ".join(LISTS))
    return name


def _check_query(query: str) -> str:
    if query:
        check_text("query", query, MAX_CHARACTERS)
        parse_query(query)
    return query


def _key(view: View) -> str:
    """Return a key that two owners can never share, whatever characters the names have."""
    return blake2b(json.dumps([view.owner, view.list_name, view.name]).encode(), digest_size=16).hexdigest()


def _record(view: View) -> Record:
    body = json.dumps({"name": view.name, "list": view.list_name, "query": view.query})
    return Record(VIEW_KIND, _key(view), view.owner, body)


def _view(record: Record) -> View:
    body = json.loads(record.body)
    return View(body["name"], body["list"], body["query"], record.owner, record.version)
