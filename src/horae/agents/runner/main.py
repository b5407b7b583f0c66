"""Command `horae-agent`: one agent, from the document on stdin to the last marked result on stdout."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from ...clock import SystemClock
from ..protocol import AgentInput, AgentResult, ProtocolError, read_input, write_result
from ..protocol.documents import MAX_INPUT_BYTES
from .forward import forward_port
from .inbox import Inbox
from .minds import CommandMind, EchoMind, Mind
from .turns import POLL_SECONDS, AgentTurns

INPUT_FOLDER: Final = "/workspace/ipc/input"


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    if options.mind == "command" and not options.command:
        _parser().error("the mind 'command' needs a program: horae-agent --mind command -- PROGRAM [ARGUMENT …]")
    mind: Mind = CommandMind(options.command) if options.mind == "command" else EchoMind()
    try:
        given = read_input(sys.stdin.buffer.read(MAX_INPUT_BYTES + 1))
    except ProtocolError as error:
        _emit(AgentResult(status="error", error=f"the input cannot be read: {error}"))
        return 1
    return asyncio.run(_run(options, mind, given))


async def _run(options: argparse.Namespace, mind: Mind, given: AgentInput) -> int:
    servers = [await forward_port(port, path) for port, path in options.forward]
    try:
        turns = AgentTurns(mind, Inbox(options.input), _emit, SystemClock(), options.poll)
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
    )
    parser.add_argument("--mind", choices=["echo", "command"], default="echo", help="what answers the prompt (echo)")
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
