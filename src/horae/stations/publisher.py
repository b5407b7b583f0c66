"""`Publisher` publishes and manages plans over ZeroMQ with acknowledgement; `Results` receives the results of an owner."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self

from ..clock import Clock, SystemClock
from ..model.plans.codes import CommandByte, FrameType, Status
from .calls import content_value
from .frames import Malformed, Message, decode_message, encode_json, encode_message, status_name
from .keys import load_or_make_keys
from .refusals import refuse
from .settings import DEFAULT_LISTEN, DEFAULT_PUBLISH
from .station import SERVER_KEY_VARIABLE, SERVERS_VARIABLE, default_key_path

if TYPE_CHECKING:
    import zmq

    from .loop_socket import LoopSocket

_TIMEOUT_SECONDS: Final = 5.0
_TRIES: Final = 3
_RETRY_SECONDS: Final = 0.1


class PublishRefused(Exception):  # noqa: N818 - named for its cause
    """The node refused a plan or a command."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(f"{status_name(status)}: {text}")
        self.status = status
        self.text = text


class _Connection:
    """Socket, context and keys, opened by `async with`."""

    def __init__(self, address: str | None, server_key: str | None, key_file: str | Path | None, name: str) -> None:
        self._address = address
        self._server_key = server_key or os.environ.get(SERVER_KEY_VARIABLE) or None
        self._key_file = key_file
        self._name = name
        self._context: zmq.Context[zmq.Socket[bytes]] | None = None
        self._socket: zmq.Socket[bytes] | None = None
        self._reader: LoopSocket | None = None

    def _open(self, *, is_subscriber: bool) -> None:
        try:
            import zmq  # noqa: PLC0415 - an optional library

            from .link import connect_socket, parse_address  # noqa: PLC0415
            from .loop_socket import LoopSocket  # noqa: PLC0415
        except ImportError:
            raise refuse("stations_library_missing") from None
        server = parse_address(self._address or DEFAULT_LISTEN, self._server_key)
        path = default_key_path(self._name) if self._key_file is None else Path(self._key_file)
        keys = None if server.key is None else load_or_make_keys(path)
        self._context = zmq.Context()
        self._socket = connect_socket(self._context, zmq.SUB if is_subscriber else zmq.DEALER, server, keys)
        self._reader = LoopSocket(self._socket, self._on_message)

    def _close(self) -> None:
        if self._reader is not None:
            self._reader.close()
        if self._context is not None:
            self._context.term()
        self._context = self._socket = self._reader = None

    def _on_message(self, parts: list[bytes], _user: str | None) -> None:
        raise NotImplementedError


class Publisher(_Connection):
    """`async with Publisher("press") as publisher: await publisher.publish("orders", "pack", {...}, plan_type="minute", …)`."""

    def __init__(
        self,
        name: str = "publisher",
        *,
        server: str | None = None,
        server_key: str | None = None,
        key_file: str | Path | None = None,
        timeout: float = _TIMEOUT_SECONDS,
        clock: Clock | None = None,
    ) -> None:
        first = os.environ.get(SERVERS_VARIABLE, "").split(",")[0].strip()
        super().__init__(server or first or DEFAULT_LISTEN, server_key, key_file, name)
        self._timeout = timeout
        self._clock: Clock = SystemClock() if clock is None else clock
        self._answers: dict[str, asyncio.Future[Message]] = {}

    async def __aenter__(self) -> Self:
        self._open(is_subscriber=False)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close()

    async def publish(
        self,
        station: str,
        command: str,
        payload: Any = None,
        *,
        plan_id: str | None = None,
        title: str | None = None,
        **plan: Any,
    ) -> str:
        """Publish a plan and return its id, sixteen hexadecimal digits, when the node has stored it.

        `plan` has the fields of a plan: `plan_type`, `plan_value`, `plan_repet`, `plan_time`, `description`, `no_keep`,
        `skip_set`. A request without an answer is repeated with the same id, which never makes a second plan.
        """
        chosen = plan_id or f"{int.from_bytes(os.urandom(8)) & ((1 << 63) - 1):016x}"
        frames = [
            (FrameType.STATION_ID, station.encode()),
            (FrameType.COMMAND, command.encode()),
            *([] if title is None else [(FrameType.PUB_TITLE, title.encode())]),
            (FrameType.CONTENT_JSON, encode_json(payload)),
            (FrameType.PLAN, encode_json(plan)),
            (FrameType.GLOBAL_ID, chosen.encode()),
        ]
        answer = await self._ask(CommandByte.PLAN, frames)
        if answer.code != Status.PLAN:
            raise PublishRefused(answer.code, _reason(answer))
        return answer.text(FrameType.GLOBAL_ID) or chosen

    async def manage(self, command: str, *arguments: str) -> Any:
        """Execute `list`, `message`, `skip`, `pause`, `reset`, `close` or `remove`; return the answer."""
        frames = [
            (FrameType.COMMAND, command.encode()),
            *((FrameType.ARGUMENT, each.encode()) for each in arguments),
        ]
        answer = await self._ask(CommandByte.NONE, frames)
        if answer.code != Status.OK:
            raise PublishRefused(answer.code, _reason(answer))
        return next((content_value(each) for each in answer.contents), None)

    async def _ask(self, command: CommandByte, frames: Sequence[tuple[FrameType, bytes]]) -> Message:
        for _ in range(_TRIES):
            request = os.urandom(8).hex()
            waiter: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
            self._answers[request] = waiter
            parts = encode_message(command, [(FrameType.REQUEST_ID, request.encode()), *frames])
            try:
                async with asyncio.timeout(self._timeout):
                    while self._reader is None or self._reader.send(parts) is not None:
                        await self._clock.pause(_RETRY_SECONDS)
                    return await waiter
            except TimeoutError:
                continue
            finally:
                del self._answers[request]
        raise TimeoutError(f"the node {self._address} did not answer")

    def _on_message(self, parts: list[bytes], _user: str | None) -> None:
        message = decode_message(parts)
        if isinstance(message, Malformed):
            return
        waiter = self._answers.get(message.text(FrameType.REQUEST_ID) or "")
        if waiter is not None and not waiter.done():
            waiter.set_result(message)


class ResultMessage(NamedTuple):
    """Result of a run: `content` is its state, `values` are the content frames that the station sent."""

    title: str
    plan_id: str
    status: int
    content: Mapping[str, Any]
    values: tuple[Any, ...]


class Results(_Connection):
    """`async with Results("local") as results: async for result in results: …`; `title` limits it to one title."""

    def __init__(
        self,
        owner: str = "local",
        title: str = "",
        *,
        name: str = "publisher",
        server: str | None = None,
        server_key: str | None = None,
        key_file: str | Path | None = None,
    ) -> None:
        super().__init__(server or DEFAULT_PUBLISH, server_key, key_file, name)
        self._topic = f"{owner}/{title}".encode()
        self._queue: asyncio.Queue[ResultMessage] = asyncio.Queue(10_000)

    async def __aenter__(self) -> Self:
        self._open(is_subscriber=True)
        if self._socket is not None:
            import zmq  # noqa: PLC0415 - an optional library

            self._socket.setsockopt(zmq.SUBSCRIBE, self._topic)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close()

    async def __aiter__(self) -> AsyncIterator[ResultMessage]:
        while True:
            yield await self._queue.get()

    async def next(self) -> ResultMessage:
        return await self._queue.get()

    def _on_message(self, parts: list[bytes], _user: str | None) -> None:
        message = decode_message(parts[1:])
        if isinstance(message, Malformed):
            return
        content, *values = [content_value(each) for each in message.contents] or [{}]
        title, plan_id = message.text(FrameType.PUB_TITLE) or "", message.text(FrameType.SUB_TITLE) or ""
        if not self._queue.full():
            self._queue.put_nowait(ResultMessage(title, plan_id, message.code, content, tuple(values)))


def _reason(message: Message) -> str:
    return message.text(FrameType.CONTENT_TEXT) or ""
