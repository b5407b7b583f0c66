"""`Station`: functions that nodes call; many workers in one process, several nodes at once."""

from __future__ import annotations

import asyncio
import inspect
import logging
import os
import platform
import re
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

from ..clock import Clock, SystemClock
from ..model.plans.codes import STATUS_TEXTS, FrameType, Status
from .calls import content_value
from .frames import Frame, Message, encode_json, encode_message
from .keys import KeyPair, load_or_make_keys
from .payloads import PayloadError, Signature
from .refusals import refuse
from .settings import DEFAULT_LISTEN

if TYPE_CHECKING:
    from .link import Link, ServerAddress

LOG: Final = logging.getLogger("horae.stations")
F = TypeVar("F", bound=Callable[..., Any])
SERVERS_VARIABLE: Final = "HORAE_STATION_SERVERS"
SERVER_KEY_VARIABLE: Final = "HORAE_STATION_SERVER_KEY"
KEYS_VARIABLE: Final = "HORAE_STATION_KEYS"
_MAX_KNOWN: Final = 1_000
_GRACE_SECONDS: Final = 10.0
_MAX_ERROR: Final = 4_000


class Failure(Exception):  # noqa: N818 - named for its cause
    """Raised by a function: it refuses for a reason of its own, and a retry would not help (status FAILED)."""


class Context:
    """One call, as a function sees it."""

    def __init__(self, message: Message, station: str) -> None:
        self.station = station
        self.command = message.text(FrameType.COMMAND) or ""
        self.caller = message.text(FrameType.REQUESTER) or ""
        self.key = message.text(FrameType.REQUEST_ID) or ""
        """The idempotency key: the same for every attempt."""
        plan = message.json(FrameType.PLAN)
        self.plan: Mapping[str, Any] = plan if isinstance(plan, dict) else {}
        """The plan, or an ordinary task in its form: `plan_time` is the planned instant in Unix seconds."""
        contents = message.contents
        self.payload: Any = content_value(contents[0]) if contents else _argument(message)
        self.values: list[Any] = [content_value(each) for each in contents[1:]]
        self.frames: tuple[Frame, ...] = message.frames
        self.is_cancelled = False
        """Whether the node does not wait for the result any more."""
        self._wait: Callable[[], object] = lambda: None

    def connect(self, wait: Callable[[], object]) -> None:
        """Set the action of `wait`."""
        self._wait = wait

    def wait(self) -> None:
        """Tell the node that the function is still at work: the timeout of the run begins anew. From any thread."""
        self._wait()


class _Function(NamedTuple):
    call: Callable[..., Any]
    signature: Signature
    is_answered: bool


class _Execution:
    """One execution of a key. Further calls with the same key wait for the same result."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.calls: list[tuple[Link, Message]] = []


class Station:
    """`servers` are nodes: `tcp://host:port`, or with the key of the node `tcp://host:port#KEY`.

    Without arguments they come from HORAE_STATION_SERVERS and HORAE_STATION_SERVER_KEY. `worker` is the name of this
    process within the station. `slots` is how many calls it executes at once.
    """

    def __init__(  # noqa: PLR0913 - settings of a station, each by its name
        self,
        name: str,
        *,
        servers: str | Sequence[str] | None = None,
        server_key: str | None = None,
        key_file: str | Path | None = None,
        worker: str | None = None,
        slots: int = 4,
        clock: Clock | None = None,
    ) -> None:
        self.name = name
        self.worker = worker or default_worker_name()
        self.slots = slots
        self._servers = servers
        self._server_key = server_key
        self._key_file = key_file
        self._clock: Clock = SystemClock() if clock is None else clock
        self._functions: dict[str, _Function] = {}
        self._running: dict[tuple[str, str], _Execution] = {}
        self._done: OrderedDict[tuple[str, str], tuple[int, list[Frame]]] = OrderedDict()
        """Results by API and key: another attempt at what has succeeded is answered from here, and not executed again."""
        self._tasks: set[asyncio.Task[None]] = set()
        self._links: list[Link] = []
        self._threads: ThreadPoolExecutor | None = None
        self._slots: asyncio.Semaphore | None = None

    # --- declarations ------------------------------------------------------------------------------------------------

    def api(self, name: str | None = None) -> Callable[[F], F]:
        """Declare a function that a node calls by this name: `@station.api("pack")`."""
        return partial(self._declare, name, is_answered=True)

    def vote(self, name: str | None = None) -> Callable[[F], F]:
        """Declare a function whose result is the vote of this worker."""
        return partial(self._declare, name, is_answered=True)

    def subscribe(self, name: str | None = None) -> Callable[[F], F]:
        """Declare a function that receives the publications to the station; its result is ignored."""
        return partial(self._declare, name, is_answered=False)

    def _declare(self, name: str | None, function: F, *, is_answered: bool) -> F:
        chosen = name or function.__name__
        if chosen in self._functions:
            raise refuse("station_function", name=chosen, station=self.name)
        self._functions[chosen] = _Function(function, Signature(function, Context), is_answered)
        return function

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._functions)

    def keys(self) -> KeyPair:
        """Return the key pair of this station, made on first use."""
        chosen = self._key_file
        return load_or_make_keys(default_key_path(self.name) if chosen is None else Path(chosen))

    def servers(self) -> list[ServerAddress]:
        from .link import parse_address  # noqa: PLC0415 - needs an optional library

        given = self._servers if self._servers is not None else os.environ.get(SERVERS_VARIABLE, DEFAULT_LISTEN)
        texts = given.split(",") if isinstance(given, str) else list(given)
        key = self._server_key or os.environ.get(SERVER_KEY_VARIABLE) or None
        return [parse_address(each, key) for each in texts if each.strip()]

    # --- running -----------------------------------------------------------------------------------------------------

    async def run(self, stop: asyncio.Event | None = None, *, on_joined: Callable[[], None] | None = None) -> None:
        """Join the nodes and execute calls until `stop` is set or this is cancelled; then let running calls end."""
        try:
            import zmq  # noqa: PLC0415 - an optional library

            from .link import Introduction, Link  # noqa: PLC0415
        except ImportError:
            raise refuse("stations_library_missing") from None
        context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        servers = self.servers()
        keys = self.keys() if any(each.key is not None for each in servers) else None
        about = Introduction(self.name, self.worker, {"slots": self.slots, "apis": list(self.names), "generation": 2})
        self._slots = asyncio.Semaphore(self.slots)
        self._threads = ThreadPoolExecutor(self.slots, thread_name_prefix=f"station-{self.name}")
        self._links = [Link(context, each, keys, about, self._clock) for each in servers]
        for link in self._links:
            link.on_call, link.on_close = self._on_call, self._on_close
        runners = [asyncio.ensure_future(link.run()) for link in self._links]
        if on_joined is not None:
            runners.append(asyncio.ensure_future(self._report_joined(on_joined)))
        try:
            await (asyncio.Event() if stop is None else stop).wait()
        finally:
            await self._finish(runners)
            context.term()

    async def until_joined(self) -> None:
        """Wait until every node has accepted this worker."""
        while not self._links:
            await self._clock.pause(0.01)
        for link in self._links:
            await link.joined.wait()

    async def _report_joined(self, on_joined: Callable[[], None]) -> None:
        await self.until_joined()
        on_joined()

    async def _finish(self, runners: Sequence[asyncio.Task[None]]) -> None:
        for link in self._links:
            link.leave()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=_GRACE_SECONDS)
        for task in (*self._tasks, *runners):
            task.cancel()
        await asyncio.gather(*self._tasks, *runners, return_exceptions=True)
        if self._threads is not None:
            self._threads.shutdown(wait=False, cancel_futures=True)
        self._links = []

    def _on_call(self, link: Link, message: Message) -> None:
        command = message.text(FrameType.COMMAND) or ""
        function = self._functions.get(command)
        key = command, message.text(FrameType.REQUEST_ID) or ""
        if function is None:
            self._reply(link, message, Status.NOT_SUPPORTED, [_text("unknown API")])
        elif function.is_answered and key in self._done:
            self._reply(link, message, *self._done[key])
        elif function.is_answered and key in self._running:
            self._running[key].calls.append((link, message))
            self._running[key].context.is_cancelled = False
            self._reply(link, message, Status.RUNNING)
        else:
            if function.is_answered:
                self._reply(link, message, Status.RUNNING)
            execution = _Execution(Context(message, self.name))
            execution.calls.append((link, message))
            self._running[key] = execution
            task = asyncio.ensure_future(self._execute(key, execution, function))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    def _on_close(self, link: Link, call_id: str | None) -> None:
        """Forget a call, or all calls of a node that is lost; an execution for which no node waits is cancelled."""
        for execution in self._running.values():
            live = [
                (from_link, message)
                for from_link, message in execution.calls
                if from_link is not link or call_id not in (None, message.text(FrameType.CALL_ID))
            ]
            if len(live) != len(execution.calls):
                execution.calls = live
                execution.context.is_cancelled = not live

    async def _execute(self, key: tuple[str, str], execution: _Execution, function: _Function) -> None:
        loop = asyncio.get_running_loop()
        execution.context.connect(partial(loop.call_soon_threadsafe, self._signal_wait, execution))
        try:
            status, frames = await self._call(function, execution.context)
        finally:
            if self._running.get(key) is execution:
                del self._running[key]
        if not function.is_answered:
            return
        if status == Status.OK:
            self._done[key] = status, frames
            if len(self._done) > _MAX_KNOWN:
                self._done.popitem(last=False)
        for link, message in execution.calls:
            self._reply(link, message, status, frames)

    async def _call(self, function: _Function, context: Context) -> tuple[int, list[Frame]]:
        """Execute the function; every exception becomes a status."""
        if self._slots is None:
            raise RuntimeError("the station does not run")
        try:
            arguments = function.signature.bind(context.payload, context)
        except PayloadError as wrong:
            return Status.ARGUMENT_INVALID, [_text(str(wrong))]
        async with self._slots:
            try:
                result = await self._invoke(function.call, arguments)
                return Status.OK, [] if result is None else [Frame(FrameType.CONTENT_JSON, encode_json(result))]
            except Failure as failure:
                return Status.FAILED, [_text(str(failure))]
            except Exception as error:
                LOG.warning("%s of the station %s failed", context.command, self.name, exc_info=True)
                return Status.ERROR, [_text(f"{type(error).__name__}: {error}")]

    async def _invoke(self, function: Callable[..., Any], arguments: Mapping[str, Any]) -> Any:
        if inspect.iscoroutinefunction(function):
            return await function(**arguments)
        result = await asyncio.get_running_loop().run_in_executor(self._threads, partial(function, **arguments))
        return await result if isinstance(result, Awaitable) else result

    def _signal_wait(self, execution: _Execution) -> None:
        for link, message in execution.calls:
            self._reply(link, message, Status.WAIT)

    def _reply(self, link: Link, message: Message, status: int, frames: Sequence[Frame] = ()) -> None:
        """Answer a call: caller, call id, content, global id last."""
        word = STATUS_TEXTS.get(Status(status)) if status >= Status.FAILED else None
        echoed = {each: message.first(each) or b"" for each in (FrameType.REQUESTER, FrameType.CALL_ID)}
        link.send(
            encode_message(
                status,
                [
                    *echoed.items(),
                    *([] if word is None else [(FrameType.STATUS, word.encode())]),
                    *frames,
                    (FrameType.GLOBAL_ID, message.first(FrameType.GLOBAL_ID) or b""),
                ],
            )
        )


def _text(text: str) -> Frame:
    return Frame(FrameType.CONTENT_TEXT, text[:_MAX_ERROR].encode(errors="replace"))


def _argument(message: Message) -> Any:
    """Return the argument of a plan without content: its JSON value, or its text."""
    value = message.json(FrameType.ARGUMENT)
    return message.text(FrameType.ARGUMENT) if value is None else value


def default_worker_name() -> str:
    """Return the name of the machine and the process, as a name of a worker."""
    return re.sub(r"[^A-Za-z0-9.-]", "-", f"{platform.node()[:40] or 'worker'}-{os.getpid()}").lstrip(".-")


def default_key_path(station: str) -> Path:
    """Return the key file of a station: in HORAE_STATION_KEYS, else in the user's data directory."""
    folder = os.environ.get(KEYS_VARIABLE)
    if not folder:
        from platformdirs import user_data_path  # noqa: PLC0415 - only without a setting

        return user_data_path("horae") / "stations" / f"{station}.key"
    return Path(folder) / f"{station}.key"


async def run_stations(stations: Sequence[Station], stop: asyncio.Event, on_joined: Callable[[Station], None]) -> None:
    """Run several stations of one process until `stop` is set."""
    await asyncio.gather(*(each.run(stop, on_joined=partial(on_joined, each)) for each in stations))
