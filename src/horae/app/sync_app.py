"""Blocking API for code that cannot await: each call runs on the app's event loop in a background thread and waits."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine, Iterable, Mapping, Sequence
from concurrent.futures import Future
from datetime import datetime
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar, Unpack

from ..lifecycle.explain.explanation import Explanation
from ..model.lanes.rate import Rate
from ..model.messages import Cursor, MessagePage, Stream, StreamState
from ..model.policy import MissedMode
from ..model.refusals import refuse
from ..model.run import Run, RunState
from ..model.task import TaskState
from ..service.tasks.edits import EditResult
from ..service.tasks.task_chain import TaskChain
from ..service.tasks.task_request import Duration, When
from .declared_function import PolicyArguments, TaskFunction
from .handles import RunHandle, TaskHandle
from .suggestions import OPTIONS, suggest_keywords

if TYPE_CHECKING:
    from .horae import Horae, Item

_T = TypeVar("_T")


class Portal:
    """An event loop in a background thread; other threads run coroutines on it and block for the result."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    def open(self) -> None:
        ready: Future[asyncio.AbstractEventLoop] = Future()
        self._thread = threading.Thread(target=self._run, args=(ready,), name="horae-app", daemon=True)
        self._thread.start()
        self._loop = ready.result()

    def call(self, work: Coroutine[Any, Any, _T]) -> _T:
        loop = self._loop
        if loop is None:
            work.close()
            raise refuse("not_open")
        if threading.current_thread() is self._thread:
            work.close()
            raise RuntimeError("this would wait for itself: on the app's own thread, await the app instead")
        future = asyncio.run_coroutine_threadsafe(work, loop)
        try:
            return future.result()
        except BaseException:
            # Ctrl-C while waiting cancels the coroutine.
            future.cancel()
            raise

    def close(self) -> None:
        loop, thread, self._loop, self._thread = self._loop, self._thread, None, None
        if loop is not None and thread is not None:
            loop.call_soon_threadsafe(loop.stop)
            thread.join()

    @staticmethod
    def _run(ready: Future[asyncio.AbstractEventLoop]) -> None:
        with asyncio.Runner() as runner:
            loop = runner.get_loop()
            loop.call_soon(ready.set_result, loop)
            loop.run_forever()


class BlockingHorae:
    """The app's methods without `await`: `with app.sync() as horae:`. Any thread may call it."""

    def __init__(self, app: Horae) -> None:
        self.app = app
        self._portal = Portal()

    def __enter__(self) -> Self:
        self._portal.open()
        try:
            self._portal.call(self.app.__aenter__())
        except BaseException:
            self._portal.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._portal.call(self.app.__aexit__(kind, error, trace))
        finally:
            self._portal.close()

    def call(self, work: Coroutine[Any, Any, _T]) -> _T:
        """Run any coroutine of the app and wait for it: `horae.call(horae.app.service.overview.now(horae.app.who))`."""
        return self._portal.call(work)

    @suggest_keywords(OPTIONS)
    def schedule(  # noqa: PLR0913 - mirrors `Horae.schedule`
        self,
        target: TaskFunction[Any, Any] | str | Mapping[str, Any],
        when: When,
        payload: Mapping[str, Any] | None = None,
        *,
        key: str | None = None,
        owner: str | None = None,
        zone: str | None = None,
        name: str | None = None,
        lane: str | None = None,
        labels: Mapping[str, str] | None = None,
        using: object | None = None,
        **options: Unpack[PolicyArguments],
    ) -> BlockingTask:
        scheduling = self.app.schedule(
            target,
            when,
            payload,
            key=key,
            owner=owner,
            zone=zone,
            name=name,
            lane=lane,
            labels=labels,
            using=using,
            **options,
        )
        return BlockingTask(self, self.call(scheduling))

    def schedule_many(self, items: Iterable[Item], *, owner: str | None = None) -> list[BlockingTask]:
        return [BlockingTask(self, task) for task in self.call(self.app.schedule_many(items, owner=owner))]

    def get(self, task: str) -> BlockingTask:
        return BlockingTask(self, self.call(self.app.get(task)))

    def tasks(
        self,
        *,
        state: TaskState | str | Iterable[TaskState | str] | None = None,
        labels: Mapping[str, str] | None = None,
        text: str | None = None,
        limit: int | None = None,
    ) -> list[BlockingTask]:
        async def collect() -> list[TaskHandle]:
            return await self.app.tasks(state=state, labels=labels, text=text, limit=limit)

        return [BlockingTask(self, task) for task in self.call(collect())]

    def runs(
        self,
        task: BlockingTask | str | None = None,
        *,
        state: RunState | str | Iterable[RunState | str] | None = None,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        limit: int | None = 100,
    ) -> list[Run]:
        """List runs, newest first; `limit=None`: all runs."""

        async def collect() -> list[Run]:
            task_id = task.id if isinstance(task, BlockingTask) else task
            return await self.app.runs(task_id, state=state, since=since, until=until, limit=limit)

        return self.call(collect())

    def why(self, task: BlockingTask | str, at: datetime | str | None = None) -> Explanation:
        return self.call(self.app.why(task if isinstance(task, str) else task.id, at))

    def lane(self, name: str, limit: int | None = None, *, rate: Rate | str | None = "keep") -> None:
        self.call(self.app.lane(name, limit, rate=rate))

    @property
    def messages(self) -> BlockingMessages:
        """Message streams: `horae.messages.send("chat:12", "hello")`."""
        return BlockingMessages(self)

    def __repr__(self) -> str:
        return f"<blocking {repr(self.app).removeprefix('<')}"


class BlockingMessages:
    """The methods of `app.messages` without `await`."""

    def __init__(self, horae: BlockingHorae) -> None:
        self._horae = horae

    def send(  # noqa: PLR0913 - mirrors `AppMessages.send`
        self,
        stream: str,
        text: str,
        *,
        sender: str | None = None,
        id: str | None = None,  # noqa: A002 - the field of a message
        source: str | None = None,
        references: Sequence[Any] = (),
        owner: str | None = None,
    ) -> int:
        sending = self._horae.app.messages.send(
            stream, text, sender=sender, id=id, source=source, references=references, owner=owner
        )
        return self._horae.call(sending)

    def read(
        self, stream: str, *, after: int = 0, limit: int = 50, reader: str | None = None, owner: str | None = None
    ) -> MessagePage:
        messages = self._horae.app.messages
        return self._horae.call(messages.read(stream, after=after, limit=limit, reader=reader, owner=owner))

    def streams(self, *, owner: str | None = None) -> list[Stream]:
        return self._horae.call(self._horae.app.messages.streams(owner=owner))

    def get(self, stream: str, *, owner: str | None = None) -> StreamState:
        return self._horae.call(self._horae.app.messages.get(stream, owner=owner))

    def keep(
        self, stream: str, *, count: int | None = None, age: Duration | None = None, owner: str | None = None
    ) -> Stream:
        return self._horae.call(self._horae.app.messages.keep(stream, count=count, age=age, owner=owner))

    def register(self, stream: str, reader: str, *, after: int | None = None, owner: str | None = None) -> Cursor:
        return self._horae.call(self._horae.app.messages.register(stream, reader, after=after, owner=owner))

    def unregister(self, stream: str, reader: str, *, owner: str | None = None) -> None:
        self._horae.call(self._horae.app.messages.unregister(stream, reader, owner=owner))

    def delete(self, stream: str, *, owner: str | None = None) -> None:
        self._horae.call(self._horae.app.messages.delete(stream, owner=owner))


class BlockingTask:
    """The methods of `TaskHandle` without `await`."""

    def __init__(self, horae: BlockingHorae, task: TaskHandle) -> None:
        self._horae = horae
        self._task = task

    @property
    def id(self) -> str:
        return self._task.id

    @property
    def name(self) -> str:
        return self._task.name

    def state(self) -> TaskState:
        return self._horae.call(self._task.state())

    def next(self, number: int = 1) -> list[datetime]:
        return self._horae.call(self._task.next(number))

    def wait(self, timeout: Duration | None = None) -> Run:
        return self._horae.call(self._task.wait(timeout))

    def runs(self, limit: int = 100) -> tuple[Run, ...]:
        return self._horae.call(self._task.runs(limit))

    def why(self, at: datetime | str | None = None) -> Explanation:
        return self._horae.call(self._task.why(at))

    def chain(self) -> TaskChain:
        return self._horae.call(self._task.chain())

    def pause(self, reason: str = "", until: datetime | str | None = None) -> None:
        self._horae.call(self._task.pause(reason, until))

    def resume(self, missed: MissedMode = "skip") -> None:
        self._horae.call(self._task.resume(missed))

    def cancel(self) -> None:
        self._horae.call(self._task.cancel())

    def delete(self) -> None:
        self._horae.call(self._task.delete())

    def skip(self, wanted: int = 1) -> None:
        self._horae.call(self._task.skip(wanted))

    def run_now(
        self,
        wait: Duration | None = None,
        *,
        input: Mapping[str, Any] | None = None,  # noqa: A002
        merge: Mapping[str, Any] | None = None,
        gate_only: bool = False,
    ) -> Run | None:
        """Start one extra run now; with `wait`, wait that long for its end and return its last run.

        `input` are its arguments instead of those of the task; `merge` changes some of these. With `gate_only` it asks
        the gate of the task and does not call its target.
        """
        run: RunHandle = self._horae.call(self._task.run_now(input=input, merge=merge, gate_only=gate_only))
        return None if wait is None else self._horae.call(run.wait(wait))

    def edit(
        self,
        *,
        when: When | None = None,
        payload: Mapping[str, Any] | None = None,
        labels: Mapping[str, str] | None = None,
        dry_run: bool = False,
        **options: Unpack[PolicyArguments],
    ) -> EditResult:
        return self._horae.call(self._task.edit(when=when, payload=payload, labels=labels, dry_run=dry_run, **options))

    def __repr__(self) -> str:
        return repr(self._task)
