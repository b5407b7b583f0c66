"""Tasks of a server: made, found, paused, resumed, edited, cancelled, run now; each as the service itself would answer."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple

from ..clock import Clock
from ..errors import NotFound
from ..model.accounts.principal import Principal
from ..model.change import Facts
from ..model.page import Page
from ..model.policy import MissedMode
from ..model.refusals import refuse
from ..model.run import Run
from ..model.task import Task
from ..ports.store import TaskFilter
from ..service.tasks.advisories import Advisory, advisory_codes
from ..service.tasks.edits import Edited, Edits, fire_changes
from ..service.tasks.lookup import Counted
from ..service.tasks.task_request import Wish
from ..wire.instants import utc
from ..wire.runs import read_run
from ..wire.task_facts import read_facts
from ..wire.task_requests import edits_json, wish_json
from .connection import Connection, segment
from .decode import paged, understood
from .refusals import refuse as refuse_here

_ALL: Final = TaskFilter()
_TASKS: Final = "/v1/tasks"
_WHOLE: Final = ("include", "agenda")
_TRIED: Final = ("dry_run", "true")


class ServerReceipt(NamedTuple):
    """What a server says beside a task: fields from the declaration of its function, and warnings about its target."""

    declared: tuple[str, ...] = ()
    warnings: tuple[Advisory, ...] = ()


class RemoteTasks:
    """`zone` is where whoever asks lives: it counts where a wish names none."""

    def __init__(self, connection: Connection, clock: Clock, zone: str) -> None:
        self._connection = connection
        self._clock = clock
        self._zone = zone
        self._last: dict[str, Run] = {}
        self._digests: dict[str, str] = {}
        self.receipt = ServerReceipt()
        """Of the task that was made or changed last."""

    # --- made ----------------------------------------------------------------------------------------------------------

    async def create(self, who: Principal, wish: Wish, *, paused: str | None = None) -> Task:
        if wish.key is not None:
            return await self.declare(who, wish, paused=paused)
        said = await self._connection.post(_TASKS, wish_json(wish, self._zone), [_WHOLE, *_note(paused)])
        return (await self._facts(said)).task

    async def tried(self, who: Principal, wish: Wish) -> Facts:
        """What would be made; nothing is."""
        del who
        return await self._facts(await self._connection.post(_TASKS, wish_json(wish, self._zone), [_WHOLE, _TRIED]))

    async def declare(self, who: Principal, wish: Wish, *, paused: str | None = None) -> Task:
        del who
        said = await self._connection.put(_keyed(wish), wish_json(wish, self._zone), [_WHOLE, *_note(paused)])
        return (await self._facts(said)).task

    async def rehearse(self, who: Principal, wish: Wish, *, paused: str | None = None) -> tuple[Facts | None, Task]:
        """What has this key already, and what it would become."""
        del who
        whose = [] if wish.owner is None else [("owner", wish.owner)]
        try:
            before = await self._facts(await self._connection.get(_keyed(wish), [_WHOLE, *whose]))
        except NotFound:
            before = None
        asked = [_WHOLE, _TRIED, *_note(paused)]
        said = await self._connection.put(_keyed(wish), wish_json(wish, self._zone), asked)
        return before, (await self._facts(said)).task

    async def keep_history(self, who: Principal, task_id: str, ended: Sequence[Run]) -> None:
        del who, task_id
        if ended:
            raise refuse_here("not_over_http", what="runs of another scheduler", what_zh="其他调度器的运行记录")

    # --- found ---------------------------------------------------------------------------------------------------------

    async def get(self, who: Principal, task_id: str) -> Facts:
        del who
        return await self._facts(await self._connection.get(_one(task_id), [_WHOLE]))

    async def named(self, who: Principal, name: str) -> Facts:
        del who
        if not name.strip("/"):
            raise refuse("no_such_task", id=name)
        try:
            return await self._facts(await self._connection.get(f"{_TASKS}/named/{segment(name)}", [_WHOLE]))
        except NotFound:
            # Said anew, for whoever wants to know which name that was.
            raise refuse("no_such_task", id=name) from None

    async def page(
        self, who: Principal, wanted: TaskFilter = _ALL, after: str | None = None, limit: int = 100
    ) -> Page[Facts]:
        del who
        asked = [("include", "last"), *asked_for(wanted)]
        return await paged(self._connection, _TASKS, self._listed, asked, after, limit)

    async def count(self, who: Principal, wanted: TaskFilter = _ALL) -> Counted:
        """How many fit, as the server counts them."""
        del who
        asked = [*asked_for(wanted), ("limit", "1"), ("count", "estimated")]
        return await understood(self._connection, _counted, await self._connection.get(_TASKS, asked))

    async def upcoming(self, who: Principal, limit: int = 20) -> tuple[Facts, ...]:
        del who
        asked = [("include", "last"), ("sort", "next")]
        return (await paged(self._connection, _TASKS, self._listed, asked, None, limit)).items

    async def latest(self, who: Principal, listed: Sequence[Facts]) -> dict[str, Run]:
        """A list comes with these: of a task that was in none so far, nothing is known."""
        del who
        return {each.task.id: self._last[each.task.id] for each in listed if each.task.id in self._last}

    def _listed(self, said: Any) -> Facts:
        if said["last"] is not None:
            self._last[said["id"]] = read_run(said["last"])
        return read_facts(said)

    # --- changed -------------------------------------------------------------------------------------------------------

    async def edit(
        self, who: Principal, task_id: str, edits: Edits, *, expected: int | None = None, dry_run: bool = False
    ) -> Edited:
        """The version that was looked at is sent along: what somebody else has edited meanwhile is not edited over."""
        before = await self.get(who, task_id)
        if expected is not None and expected != before.task.version:
            raise refuse("stale_version", version=before.task.version, expected=expected)
        now = self._clock.now()
        asked = [_WHOLE, *([_TRIED] if dry_run else ())]
        seen = {"If-Match": f'"{before.task.version}"'}
        answer = await self._connection.ask("PATCH", _one(task_id), asked, edits_json(edits), seen)
        after = (await self._facts(answer.value)).task
        return Edited(before.task, after, fire_changes(before.task, after, before.standing, now))

    async def pause(self, who: Principal, task_id: str, *, note: str = "", until: datetime | None = None) -> Facts:
        del who
        return await self._do(task_id, "pause", {"note": note, **({} if until is None else {"until": utc(until)})})

    async def resume(self, who: Principal, task_id: str, missed: MissedMode = "skip") -> Facts:
        del who
        return await self._do(task_id, "resume", {"missed": missed})

    async def cancel(self, who: Principal, task_id: str) -> Facts:
        del who
        return await self._do(task_id, "cancel")

    async def skip_next(self, who: Principal, task_id: str, wanted: int = 1) -> Facts:
        del who
        return await self._do(task_id, "skip", {"number": wanted})

    async def delete(self, who: Principal, task_id: str) -> None:
        del who
        await self._connection.delete(_one(task_id))

    async def run_now(self, who: Principal, task_id: str) -> str:
        del who
        said = await self._connection.post(f"{_one(task_id)}/run")
        return await understood(self._connection, lambda each: str(each["run_id"]), said)

    async def backfill(
        self, who: Principal, task_id: str, first: datetime, last: datetime, *, again: bool = False
    ) -> Facts:
        del who
        body = {"from": utc(first), "to": utc(last), "again": again}
        said = await self._connection.post(f"{_one(task_id)}/backfill", body, [_WHOLE])
        return await understood(self._connection, lambda each: read_facts(each["task"]), said)

    async def _do(self, task_id: str, deed: str, body: dict[str, Any] | None = None) -> Facts:
        return await self._facts(await self._connection.post(f"{_one(task_id)}/{deed}", body, [_WHOLE]))

    def digest(self, task_id: str) -> str:
        """Of the task as it was seen last: only the server knows how it spells what it keeps."""
        return self._digests.get(task_id, "")

    async def _facts(self, said: Any) -> Facts:
        return await understood(self._connection, self._seen, said)

    def _seen(self, said: Any) -> Facts:
        facts = read_facts(said)
        if "dry_run" in said:
            self.receipt = _receipt(said)
        self._digests[facts.task.id] = said.get("agenda", {}).get("digest", "")
        return facts


def _receipt(said: Any) -> ServerReceipt:
    """Warnings about schedules are left out: whoever asks has read the schedule already. Their sentences are in the
    language that was asked for."""
    known = advisory_codes()
    warnings = tuple(
        Advisory(each["code"], {"en": each["message"], "zh": each["message"]})
        for each in said.get("warnings", ())
        if each["code"] in known
    )
    return ServerReceipt(tuple(said.get("declared", ())), warnings)


def _one(task_id: str) -> str:
    return f"{_TASKS}/{segment(task_id)}"


def _keyed(wish: Wish) -> str:
    if wish.key is None:
        raise refuse("bad_text", name="key", value=None, most=200)
    return f"{_TASKS}/by-key/{segment(wish.key)}"


def _note(paused: str | None) -> list[tuple[str, str]]:
    return [] if paused is None else [("paused", paused)]


def asked_for(wanted: TaskFilter) -> list[tuple[str, str]]:
    """A filter as parameters of an address."""
    said = [(name, getattr(wanted, name)) for name in ("owner", "name", "lane", "text", "kind", "prefix")]
    # What is empty is a condition too: that of an owner without a name fits nothing, and without it all would.
    asked = [(name, value) for name, value in said if value is not None]
    asked += [("state", state.value) for state in sorted(wanted.states or ())]
    return asked + [("label", f"{name}={value}") for name, value in wanted.labels]


def _counted(said: Any) -> Counted:
    return Counted(int(said["count"]), bool(said["more"]))
