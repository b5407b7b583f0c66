"""Backup of a Redis server while nodes write: the snapshot of one instant that the server sends to a new replica."""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import IO, Any, Final

from ....errors import StoreError, StoreUnavailable
from ..layout.keys import Keys
from .address import Address, Place
from .connection import close_client, make_client
from .errors import translate_error

CHUNK_BYTES: Final = 1 << 20
SILENT_SECONDS: Final = 60.0
"""Longest time without a byte: while the server prepares the snapshot, it sends line breaks."""
_MAGIC: Final = b"REDIS"
_END_OF_SNAPSHOT: Final = b"\xff"
_CHECKSUM_BYTES: Final = 8
_END_PREFIX: Final = b"EOF:"

Progress = Callable[[int, int], None]


async def write_snapshot(address: Address, path: str, progress: Progress | None = None) -> None:
    """Write all databases of the server to a file in the format of `dump.rdb`, complete or not at all.

    The server forks for it: it answers other clients meanwhile, and the file has what it held at that instant. In a cluster
    one server has all keys of the deployment.
    """
    target = Path(path)
    descriptor, name = await asyncio.to_thread(tempfile.mkstemp, prefix=".horae-", dir=target.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            await _receive(address, file, progress)
            await asyncio.to_thread(_sync, file)
        await asyncio.to_thread(_check, Path(name))
        await asyncio.to_thread(os.replace, name, target)
    except BaseException:
        await asyncio.shield(asyncio.to_thread(_remove, name))
        raise
    await asyncio.to_thread(_sync_folder, target.parent)


async def _receive(address: Address, file: IO[bytes], progress: Progress | None) -> None:
    client = make_client(await _find_server(address), 1, command_seconds=SILENT_SECONDS)
    try:
        connection = await client.connection_pool.get_connection()
        try:
            await _request(connection)
            async for chunk in _read_snapshot(connection._reader, progress):  # noqa: SLF001 - the driver has no SYNC
                await asyncio.to_thread(file.write, chunk)
        finally:
            # What follows on this connection is no answer to a command.
            await connection.disconnect(nowait=True)
            await client.connection_pool.release(connection)
    except StoreError:
        raise
    except (TimeoutError, asyncio.IncompleteReadError) as error:
        raise StoreUnavailable("The snapshot of the server was cut off.") from error
    except Exception as error:
        translated = translate_error(error)
        if translated is None:
            raise
        raise translated from error
    finally:
        await close_client(client)


async def _find_server(address: Address) -> Address:
    """Return the address of the server that has the keys of the deployment, where the address names a cluster."""
    if address.layout != "cluster":
        return address
    client = make_client(address, 1, command_seconds=SILENT_SECONDS)
    try:
        await client.initialize()
        node = client.get_node_from_key(Keys(address.prefix).schema)
        return address._replace(layout="server", places=(Place(node.host, int(node.port)),))
    except Exception as error:
        translated = translate_error(error)
        if translated is None:
            raise
        raise translated from error
    finally:
        await close_client(client)


async def _request(connection: Any) -> None:
    """Ask for a snapshot alone, without the writes after it; servers that do not know these options send both."""
    from redis.exceptions import NoPermissionError, ResponseError  # noqa: PLC0415 - an optional dependency

    for option in (("capa", "eof"), ("rdb-only", "1")):
        await connection.send_command("REPLCONF", *option)
        try:
            await connection.read_response()
        except NoPermissionError:
            raise StoreError(
                "The login of the store may not copy the server: it needs the rights +sync and +replconf."
            ) from None
        except ResponseError:
            continue
    await connection.send_command("SYNC")


async def _read_snapshot(reader: asyncio.StreamReader, progress: Progress | None) -> AsyncIterator[bytes]:
    """Yield the bytes of the snapshot: `$LENGTH`, or `$EOF:MARK` with the mark at the end again."""
    line = b""
    while not line.strip():
        async with asyncio.timeout(SILENT_SECONDS):
            line = await reader.readuntil(b"\n")
    size = line.strip()
    if not size.startswith(b"$"):
        raise StoreError(f"The server sends no snapshot: {size.decode(errors='replace').lstrip('-')}.")
    if size[1:].startswith(_END_PREFIX):
        async for chunk in _read_until_mark(reader, size[1 + len(_END_PREFIX) :]):
            yield chunk
        return
    total = left = int(size[1:])
    while left:
        async with asyncio.timeout(SILENT_SECONDS):
            chunk = await reader.read(min(left, CHUNK_BYTES))
        if not chunk:
            raise StoreUnavailable("The snapshot of the server was cut off.")
        left -= len(chunk)
        yield chunk
        if progress is not None:
            progress(total - left, total)


async def _read_until_mark(reader: asyncio.StreamReader, mark: bytes) -> AsyncIterator[bytes]:
    """Yield what comes before the mark, which is random and as long as no value could match by chance."""
    held = b""
    while True:
        async with asyncio.timeout(SILENT_SECONDS):
            chunk = await reader.read(CHUNK_BYTES)
        if not chunk:
            raise StoreUnavailable("The snapshot of the server was cut off.")
        held += chunk
        # A server that does not know `rdb-only` goes on with its writes.
        place = held.find(mark)
        if place >= 0:
            yield held[:place]
            return
        yield held[: -len(mark)]
        held = held[-len(mark) :]


def _remove(name: str) -> None:
    Path(name).unlink(missing_ok=True)


def _sync(file: IO[bytes]) -> None:
    file.flush()
    os.fsync(file.fileno())


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _check(path: Path) -> None:
    """Check begin and end of the file; the server compares the checksum when it loads it."""
    with path.open("rb") as file:
        begin = file.read(len(_MAGIC))
        tail = 1 + _CHECKSUM_BYTES
        if file.seek(0, os.SEEK_END) < len(_MAGIC) + tail:
            raise StoreError("The server has sent an incomplete snapshot.")
        file.seek(-tail, os.SEEK_END)
        if begin != _MAGIC or file.read(1) != _END_OF_SNAPSHOT:
            raise StoreError("The server has sent an incomplete snapshot.")
