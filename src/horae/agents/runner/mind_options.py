"""Options of `horae-agent` that choose and configure a mind, and the mind that they describe."""

from __future__ import annotations

import argparse
import math
import os
import re
import shlex
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from ...clock import Clock
from ..protocol import AgentInput
from ..protocol.input import MODEL_SOCKET, MODEL_SOCKET_VARIABLE
from .minds import Mind
from .minds.chat_sessions import SESSION_DIRECTORY, ChatSessions
from .minds.local import CommandMind, EchoMind
from .minds.mcp_tools import McpServer
from .minds.shell_tool import ShellTools
from .minds.system_prompt import (
    DEFAULT_NAME,
    GROUP_DIRECTORY,
    SHARED_DIRECTORY,
    Surroundings,
    is_zone,
    write_appended_prompt,
    write_system_prompt,
)

MINDS: Final = ("echo", "command", "openai", "claude")
OPENAI_KEY: Final = "OPENAI_API_KEY"
MODEL_SECONDS: Final = 300.0
_OWN_SERVER: Final = "horae"
_SERVER_NAME: Final = re.compile(r"[a-z][a-z0-9-]{0,30}")
_TOOL_SERVER: Final = "horae.agents.runner.mcp_server"
_BASE_URL: Final = re.compile(r"https?://([A-Za-z0-9._-]+|\[[0-9a-fA-F:.]+\])(:[0-9]{1,5})?(/[A-Za-z0-9._~/-]*)?")
_LIBRARIES: Final = {"openai": ("aiohttp", "horae[http]"), "claude": ("claude_agent_sdk", "horae[claude]")}


def add_mind_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--mind", choices=MINDS, default="echo", help="what answers the prompt (echo)")
    model = parser.add_argument_group("minds with a model (openai, claude)")
    model.add_argument("--model", metavar="NAME", help="model; required by openai, such as gpt-5-mini")
    model.add_argument(
        "--base-url",
        type=_base_url,
        metavar="URL",
        help="endpoint of the model: for openai up to /v1, such as http://127.0.0.1:8080/v1; for claude without /v1",
    )
    model.add_argument(
        "--model-socket",
        default=os.environ.get(MODEL_SOCKET_VARIABLE, MODEL_SOCKET),
        metavar="SOCKET",
        help=f"unix socket of the model, used without --base-url if it exists ({MODEL_SOCKET})",
    )
    model.add_argument("--max-rounds", type=_whole, metavar="N", help="tool rounds of a turn (30; claude: 100)")
    model.add_argument(
        "--zone",
        type=_zone,
        default=_default_zone(),
        help="time zone of the group, such as Asia/Shanghai (the variable TZ, else UTC)",
    )
    model.add_argument(
        "--mcp-server",
        type=_mcp_server,
        action="append",
        default=[],
        metavar="NAME=COMMAND",
        help="further MCP server over stdio, as one word: --mcp-server 'weather=python3 -m weather'",
    )
    model.add_argument(
        "--group",
        type=Path,
        default=_existing(GROUP_DIRECTORY, str(Path.cwd())),
        help=f"directory of the group ({GROUP_DIRECTORY}, else the working directory)",
    )
    model.add_argument(
        "--shared", type=Path, default=Path(SHARED_DIRECTORY), help=f"shared directory ({SHARED_DIRECTORY})"
    )
    model.add_argument(
        "--session",
        type=Path,
        default=_existing(SESSION_DIRECTORY, os.environ.get("HOME", "")),
        help=f"directory of sessions ({SESSION_DIRECTORY}, else the variable HOME)",
    )
    only = parser.add_argument_group("mind openai")
    only.add_argument("--shell", action="store_true", help="let the model run shell commands in the group's directory")
    only.add_argument(
        "--max-tokens", type=_whole, metavar="N", help="tokens of one completion (the endpoint's default)"
    )
    only.add_argument(
        "--model-timeout", type=_amount, default=MODEL_SECONDS, metavar="SECONDS", help="of one request (300)"
    )
    only.add_argument("--price-input", type=_amount, metavar="USD", help="US dollars for a million input tokens")
    only.add_argument("--price-output", type=_amount, metavar="USD", help="US dollars for a million output tokens")


def check_mind_options(parser: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    """End the process with a hint if the options do not fit the mind."""
    mind = options.mind
    if mind == "command" and not options.command:
        parser.error("the mind 'command' needs a program: horae-agent --mind command -- PROGRAM [ARGUMENT …]")
    if mind != "command" and options.command:
        parser.error(f"only the mind 'command' takes a program: horae-agent --mind command -- {options.command[0]}")
    if mind == "openai" and not options.model:
        parser.error("the mind 'openai' needs --model: horae-agent --mind openai --model gpt-5-mini")
    if mind == "openai" and not options.base_url and not has_model_socket(options):
        parser.error(
            "the mind 'openai' needs --base-url: horae-agent --mind openai --base-url http://127.0.0.1:8080/v1, "
            f"or the socket {options.model_socket}"
        )
    if mind in _LIBRARIES and find_spec(_LIBRARIES[mind][0]) is None:
        library, extra = _LIBRARIES[mind]
        parser.error(f"the mind '{mind}' needs the library {library}: pip install '{extra}'")


def has_model_socket(options: argparse.Namespace) -> bool:
    """Whether the socket of the model is forwarded by itself: the mind has no other way to its endpoint."""
    return options.mind in _LIBRARIES and not options.base_url and Path(options.model_socket).is_socket()


def make_mind(options: argparse.Namespace, given: AgentInput, clock: Clock) -> Mind:
    match options.mind:
        case "command":
            return CommandMind(options.command)
        case "openai":
            return _make_openai(options, given, clock)
        case "claude":
            return _make_claude(options, given, clock)
        case _:
            return EchoMind(_own_server(options, given))


def _make_openai(options: argparse.Namespace, given: AgentInput, clock: Clock) -> Mind:
    from .minds.chat_client import ChatClient  # noqa: PLC0415 - an optional library
    from .minds.openai import MAX_ROUNDS, ModelOptions, OpenAiMind  # noqa: PLC0415

    places = _places(options)
    model = ModelOptions(
        model=options.model,
        max_rounds=options.max_rounds or MAX_ROUNDS,
        max_tokens=options.max_tokens,
        price_input=options.price_input,
        price_output=options.price_output,
    )
    return OpenAiMind(
        ChatClient(options.base_url, given.secrets.get(OPENAI_KEY), options.model_timeout, clock),
        model,
        ChatSessions(options.session),
        _servers(options, given),
        lambda: write_system_prompt(given, places, clock.now()),
        [ShellTools(options.group)] if options.shell else (),
    )


def _make_claude(options: argparse.Namespace, given: AgentInput, clock: Clock) -> Mind:
    from .minds.claude import DEFAULT_BASE_URL, MAX_ROUNDS, ClaudeMind, ClaudeOptions  # noqa: PLC0415 - an optional library
    from .minds.key_proxy import key_headers  # noqa: PLC0415

    places = _places(options)
    chosen = ClaudeOptions(
        group=options.group,
        home=options.session,
        assistant=given.assistant_name or DEFAULT_NAME,
        base_url=options.base_url or DEFAULT_BASE_URL,
        headers=key_headers(given.secrets),
        model=options.model,
        max_rounds=options.max_rounds or MAX_ROUNDS,
    )
    servers = _servers(options, given)
    return ClaudeMind(chosen, servers, lambda now: write_appended_prompt(given, places, now), clock.now)


def _places(options: argparse.Namespace) -> Surroundings:
    return Surroundings(options.group, options.shared, options.zone)


def _servers(options: argparse.Namespace, given: AgentInput) -> Sequence[McpServer]:
    """Return the server of Horae's own tools, and those of the options."""
    return (_own_server(options, given), *options.mcp_server)


def _own_server(options: argparse.Namespace, given: AgentInput) -> McpServer:
    argv = (sys.executable, "-m", _TOOL_SERVER, "--ipc", str(options.input.parent))
    return McpServer(_OWN_SERVER, argv, {"HORAE_IS_MAIN": "1" if given.is_main else "0"})


def _base_url(text: str) -> str:
    if not _BASE_URL.fullmatch(text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a URL such as http://127.0.0.1:8080/v1")
    return text


def _mcp_server(text: str) -> McpServer:
    name, _, command = text.partition("=")
    try:
        words = shlex.split(command)
    except ValueError:
        words = []
    if not words or not _SERVER_NAME.fullmatch(name) or name == _OWN_SERVER:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=COMMAND, such as 'weather=python3 -m weather'")
    return McpServer(name, words, {})


def _zone(text: str) -> str:
    if not is_zone(text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a time zone that is known here, such as Asia/Shanghai")
    return text


def _default_zone() -> str:
    zone = os.environ.get("TZ", "")
    return zone if zone and is_zone(zone) else "UTC"


def _existing(directory: str, other: str) -> Path:
    """Return the directory of the sandbox. A runtime without mounts has it elsewhere."""
    return Path(directory if Path(directory).is_dir() or not other else other)


def _whole(text: str) -> int:
    if not text.isdecimal() or not 0 < int(text) <= 1_000_000:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1 to 1000000")
    return int(text)


def _amount(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value < 1e9:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number above 0")
    return value
