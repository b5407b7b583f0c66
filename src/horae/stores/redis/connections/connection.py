"""Connections to a Redis server, a Sentinel set or a cluster: scripts by digest, calls from any event loop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import Future
from functools import partial
from typing import Any, Final, TypeVar, cast

from ....errors import StoreUnavailable
from ...refusals import refuse
from ...sql.session_thread import SessionThread
from ..scripts import Script, load_script
from .address import Address
from .errors import translate_error

_T = TypeVar("_T")

_CONNECT_SECONDS: Final = 5.0
_COMMAND_SECONDS: Final = 30.0
_SIDE_CONNECTIONS: Final = 2
_REPLICA_MILLISECONDS: Final = 2_000
"""Longest wait for replicas after a commit."""
_COMMITTING: Final = frozenset({"commit", "write_lines"})
"""Scripts whose writes are acknowledged to callers."""

Word = str | int | float


def _load_packer() -> Callable[[Sequence[Word]], bytes] | None:
    """Return the function that packs a command in C; None without it."""
    try:
        from hiredis import pack_command  # noqa: PLC0415 - an optional dependency
    except ImportError:
        return None
    return cast(Callable[[Sequence[Word]], bytes], pack_command)


_pack: Final = _load_packer()


class _LoopClient:
    """Client of one event loop. A semaphore bounds its commands at once, because the driver fails without a free connection.

    One timer bounds a whole command: with a timeout of its own the driver makes a task for each send.
    """

    def __init__(self, address: Address, connections: int) -> None:
        self.client = make_client(address, connections, command_seconds=None)
        self._room = asyncio.Semaphore(connections)

    async def run(self, command: Callable[[Any], Awaitable[_T]]) -> _T:
        async with self._room:
            try:
                async with asyncio.timeout(_COMMAND_SECONDS):
                    return await run_cancellable(command(self.client))
            except Exception as error:
                translated = translate_error(error)
                if translated is None:
                    raise
                raise translated from error

    async def close(self) -> None:
        await close_client(self.client)


async def run_cancellable(work: Awaitable[_T]) -> _T:
    """Await a call of the driver, and raise a cancellation that the driver has swallowed: it sends with `asyncio.wait_for`,
    which may do so before Python 3.12. Else the task that was cancelled would go on for ever."""
    task = asyncio.current_task()
    before = 0 if task is None else task.cancelling()
    try:
        return await work
    finally:
        if task is not None and task.cancelling() > before:
            raise asyncio.CancelledError


class RedisConnections:
    """The event loop of the first command uses a client directly. Calls from any other loop, such as the one that renews
    leases, run on a thread with a small client of its own, so that neither waits for the other.

    A command is never repeated by the driver: if its answer was lost, it may have been executed.
    """

    def __init__(self, url: str) -> None:
        require_driver()
        self.address: Final = Address.parse(url)
        self._home_loop: asyncio.AbstractEventLoop | None = None
        self._home: _LoopClient | None = None
        self._side_loop: SessionThread | None = None
        self._side: _LoopClient | None = None
        self._lock = threading.Lock()
        self._is_closed = False

    async def call(self, *words: Word) -> Any:
        return await self._run(lambda client: client.execute_command(*words))

    async def call_server(self, *words: Word) -> Any:
        """Run a command that concerns a server and no key; in a cluster, on the server that has the keys."""
        return await self._run(lambda client: _run_on_server(client, self.address.prefix, words))

    async def call_all(self, commands: Sequence[Sequence[Word]]) -> list[Any]:
        """Run several commands in one round trip; they are not one transaction."""
        return await self._run(lambda client: _run_pipeline(client, commands)) if commands else []

    async def run_script(self, name: str, keys: Sequence[str], values: Sequence[Word]) -> Any:
        script, words = load_script(name), (len(keys), *keys, *values)
        if (replicas := self.address.wait_replicas) and name in _COMMITTING:
            return await self._run(lambda client: _run_replicated(client, script, words, replicas))
        return await self._run(lambda client: _run_script(client, script, words))

    def reopen(self) -> None:
        """Allow commands after `close`."""
        self._is_closed = False

    async def close(self) -> None:
        with self._lock:
            self._is_closed = True
            home, self._home = self._home, None
            side, self._side = self._side, None
            side_loop, self._side_loop = self._side_loop, None
            home_loop, self._home_loop = self._home_loop, None
        if side_loop is not None:
            if side is not None:
                await asyncio.wrap_future(side_loop.submit(side.close()))
            await asyncio.to_thread(side_loop.stop)
        if home is not None and home_loop is asyncio.get_running_loop():
            await home.close()

    async def _run(self, command: Callable[[Any], Awaitable[_T]]) -> _T:
        loop = asyncio.get_running_loop()
        with self._lock:
            if self._is_closed:
                raise StoreUnavailable("The store is closed.")
            if self._home is None or self._home_loop is None or self._home_loop.is_closed():
                self._home_loop, self._home = loop, _LoopClient(self.address, self.address.connections)
            home = self._home if loop is self._home_loop else None
            future = None if home is not None else self._submit_aside(command)
        if home is not None:
            return await home.run(command)
        return await asyncio.wrap_future(cast("Future[_T]", future))

    def _submit_aside(self, command: Callable[[Any], Awaitable[_T]]) -> Future[_T]:
        """Run the command on the side thread. The caller has the lock: a closed store submits nothing any more."""
        if self._side_loop is None:
            self._side_loop = SessionThread("horae-store")
        return self._side_loop.submit(self._run_aside(command))

    async def _run_aside(self, command: Callable[[Any], Awaitable[_T]]) -> _T:
        with self._lock:
            if self._is_closed:
                raise StoreUnavailable("The store is closed.")
            if self._side is None:
                self._side = _LoopClient(self.address, _SIDE_CONNECTIONS)
            side = self._side
        return await side.run(command)


async def _run_on_server(client: Any, prefix: str, words: Sequence[Word]) -> Any:
    if not hasattr(client, "get_node_from_key"):
        return await client.execute_command(*_joined(words))
    await client.initialize()
    node = client.get_node_from_key(f"{{{prefix}}}")
    return await client.execute_command(*_joined(words), target_nodes=node)


def _joined(words: Sequence[Word]) -> Sequence[Word]:
    """Return the words with a subcommand as the driver expects it, so that it parses the answer."""
    return (f"{words[0]} {words[1]}", *words[2:]) if words[0] == "CONFIG" else words


async def _run_pipeline(client: Any, commands: Sequence[Sequence[Word]]) -> list[Any]:
    pipeline = client.pipeline(transaction=False)
    for words in commands:
        pipeline.execute_command(*words)
    results: list[Any] = await pipeline.execute()
    return results


async def _run_script(client: Any, script: Script, words: Sequence[Word]) -> Any:
    from redis.exceptions import NoScriptError  # noqa: PLC0415 - an optional dependency

    run = client.execute_command if hasattr(client, "get_node_from_key") else partial(_call_packed, client)
    try:
        return await run("EVALSHA", script.digest, *words)
    except NoScriptError:
        return await run("EVAL", script.text, *words)


async def _call_packed(client: Any, *words: Word) -> Any:
    """Run a command as `execute_command` does, which takes much longer for thousands of words."""
    pool = client.connection_pool
    connection = await pool.get_connection()
    try:
        packed = connection.pack_command(*words) if _pack is None else (_pack(words),)
        await connection.send_packed_command(packed, check_health=False)
        # After an error of the connection it closes the connection, and the pool opens it again.
        return await connection.read_response()
    finally:
        await pool.release(connection)


async def _run_replicated(client: Any, script: Script, words: Sequence[Word], replicas: int) -> Any:
    """Run a script, and wait on the same connection until enough replicas have its writes."""
    from redis.exceptions import NoScriptError  # noqa: PLC0415 - an optional dependency

    async def run(*command: Word) -> list[Any]:
        pipeline = client.pipeline(transaction=False)
        pipeline.execute_command(*command, *words)
        pipeline.execute_command("WAIT", replicas, _REPLICA_MILLISECONDS)
        answers: list[Any] = await pipeline.execute(raise_on_error=False)
        return answers

    answer, found = await run("EVALSHA", script.digest)
    if isinstance(answer, NoScriptError):
        answer, found = await run("EVAL", script.text)
    for each in (answer, found):
        if isinstance(each, BaseException):
            raise each
    if found < replicas:
        raise StoreUnavailable(
            f"A last write may have been kept, but {found} of {replicas} replicas have received it (wait_replicas)."
        )
    return answer


def make_client(address: Address, connections: int, *, command_seconds: float | None) -> Any:
    """Create a client without connecting. `command_seconds` None waits for an answer for ever, as a listener does."""
    from redis.asyncio import Redis, RedisCluster  # noqa: PLC0415 - an optional dependency
    from redis.asyncio.cluster import ClusterNode  # noqa: PLC0415
    from redis.asyncio.retry import Retry  # noqa: PLC0415
    from redis.asyncio.sentinel import Sentinel  # noqa: PLC0415
    from redis.backoff import NoBackoff  # noqa: PLC0415

    options: dict[str, Any] = {
        **address.login_options,
        "decode_responses": True,
        "socket_connect_timeout": _CONNECT_SECONDS,
        "socket_timeout": command_seconds,
        "retry": Retry(NoBackoff(), 0),
        "client_name": "horae",
        # With version 3 the driver would trust a connection that the server has closed.
        "protocol": 2,
    }
    if address.layout == "cluster":
        nodes = [ClusterNode(*place) for place in address.places]
        return RedisCluster(startup_nodes=nodes, max_connections=connections, **options)
    options["db"] = address.database
    if address.layout == "sentinel":
        tls = {} if address.tls is None else address.tls.driver_options
        sentinel_options = {
            "password": address.sentinel_password,
            "socket_connect_timeout": _CONNECT_SECONDS,
            "socket_timeout": _CONNECT_SECONDS,
            **tls,
        }
        make_sentinel: Any = Sentinel
        sentinel = make_sentinel(
            list(map(tuple, address.places)), sentinel_kwargs=sentinel_options, max_connections=connections, **options
        )
        return sentinel.master_for(address.service)
    (place, *_) = address.places
    return Redis(host=place.host, port=place.port, max_connections=connections, **options)


async def close_client(client: Any) -> None:
    """Close a client, and its clients of Sentinel servers."""
    await client.aclose()
    manager = getattr(getattr(client, "connection_pool", None), "sentinel_manager", None)
    for sentinel in () if manager is None else manager.sentinels:
        await sentinel.aclose()


def require_driver() -> None:
    try:
        import redis  # noqa: F401, PLC0415 - only looked for
    except ImportError:
        raise refuse("store_library_missing", server="Redis", library="redis", extra="redis") from None
