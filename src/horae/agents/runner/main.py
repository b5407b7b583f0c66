"""Command `horae-agent`: one agent, from the document on stdin to the last marked result on stdout."""

from __future__ import annotations

import argparse
import asyncio
import ctypes
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from ...clock import SystemClock
from ..protocol import AgentInput, AgentResult, ProtocolError, read_input, write_result
from ..protocol.documents import MAX_INPUT_BYTES
from .inbox import Inbox
from .mcp_server import main as serve_tools
from .mind_options import add_mind_options, check_mind_options, has_model_socket, make_mind
from .turns import POLL_SECONDS, AgentTurns

_CHUNK_BYTES: Final = 65_536


async def forward_port(port: int, path: str) -> asyncio.Server:
    """Listen on 127.0.0.1 for a model at a unix socket, each connection with one of its own; port 0 takes a free one.

    A client of HTTP reaches the model so without a network.
    """

    async def connect(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            far_reader, far_writer = await asyncio.open_unix_connection(path)
        except OSError:
            writer.close()
            return
        try:
            await asyncio.gather(_copy(reader, far_writer), _copy(far_reader, writer))
        finally:
            writer.close()
            far_writer.close()

    return await asyncio.start_server(connect, "127.0.0.1", port)


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Copy one direction to its end; the other may go on."""
    with suppress(ConnectionError):
        while data := await reader.read(_CHUNK_BYTES):
            writer.write(data)
            await writer.drain()
        writer.write_eof()


_PR_SET_DUMPABLE: Final = 4


def protect_memory() -> None:
    """Forbid other processes of the same user to read the memory of this one, where the system can.

    The runner has the secrets, and a model may start processes.
    """
    try:
        ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
    except (OSError, AttributeError):
        return


INPUT_FOLDER: Final = "/workspace/ipc/input"


def main(arguments: Sequence[str] | None = None) -> int:
    given_arguments = sys.argv[1:] if arguments is None else list(arguments)
    if given_arguments[:1] == ["mcp"]:
        return serve_tools(given_arguments[1:])
    parser = _parser()
    options = parser.parse_args(given_arguments)
    check_mind_options(parser, options)
    protect_memory()
    try:
        given = read_input(sys.stdin.buffer.read(MAX_INPUT_BYTES + 1))
    except ProtocolError as error:
        _emit(AgentResult(status="error", error=f"the input cannot be read: {error}"))
        return 1
    return asyncio.run(_run(options, given))


async def _run(options: argparse.Namespace, given: AgentInput) -> int:
    clock = SystemClock()
    servers = [await forward_port(port, path) for port, path in options.forward]
    if has_model_socket(options):
        servers.append(await forward_port(0, options.model_socket))
        port = servers[-1].sockets[0].getsockname()[1]
        options.base_url = f"http://127.0.0.1:{port}" + ("/v1" if options.mind == "openai" else "")
    try:
        mind = make_mind(options, given, clock)
        turns = AgentTurns(mind, Inbox(options.input), _emit, clock, options.poll)
        return await turns.run(given)
    finally:
        for server in servers:
            server.close()


def _emit(result: AgentResult) -> None:
    sys.stdout.buffer.write(write_result(result))
    sys.stdout.buffer.flush()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="horae-agent",
        description="Runs one agent: reads a JSON document on stdin, writes marked JSON results on stdout.",
        epilog="horae-agent mcp serves the tools of the agent over stdio (MCP).",
    )
    add_mind_options(parser)
    parser.add_argument(
        "--input", type=Path, default=Path(INPUT_FOLDER), help=f"directory of further messages ({INPUT_FOLDER})"
    )
    parser.add_argument("--poll", type=float, default=POLL_SECONDS, help=f"seconds between two looks ({POLL_SECONDS})")
    parser.add_argument(
        "--forward",
        type=_forwarding,
        action="append",
        default=[],
        metavar="PORT:SOCKET",
        help="forward a port of 127.0.0.1 to a unix socket, such as 8080:/run/horae/model.sock",
    )
    parser.add_argument("command", nargs="*", help="program of the mind 'command', after --")
    return parser


def _forwarding(text: str) -> tuple[int, str]:
    port, _, path = text.partition(":")
    if not port.isdecimal() or not 0 < int(port) < 65_536 or not path.startswith("/"):
        raise argparse.ArgumentTypeError(f"{text!r} is not PORT:SOCKET, such as 8080:/run/horae/model.sock")
    return int(port), path


if __name__ == "__main__":
    sys.exit(main())
