"""Operator settings for agents, the table `[targets.agent]`: directory, runtime, program, limits, files of lists."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, TypeAlias, get_args

from ..errors import Refusal
from ..outgoing.addresses import Networks, read_networks
from ..outgoing.guard import parse_url
from .model_prices import NO_PRICES, Prices, read_prices
from .refusals import CATALOGUE
from .workspace import Workspace

RuntimeName: TypeAlias = Literal["bubblewrap", "podman", "docker", "process"]
RUNTIMES: Final[tuple[RuntimeName, ...]] = get_args(RuntimeName)
RUNNER: Final = "horae-agent"
"""First word of the program: the runner that this package has; a container image has it by this name."""
MOUNT_LIST_FILE: Final = "mount-allowlist.json"
SENDER_LIST_FILE: Final = "sender-allowlist.json"
_MAX_AGENTS: Final = 1_000
_NAME_CHARACTERS: Final = 64
_MAX_WORDS: Final = 100
_SECRET: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,99}")


class AgentSettings(NamedTuple):
    """`directory` has the files of all groups. `root` and `image` are the file system of the sandbox, where it is not the
    machine's own. `secrets` are names of secrets of the owner `local`, which the agent gets by stdin."""

    enabled: bool = False
    directory: str | None = None
    runtime: RuntimeName = "bubblewrap"
    allow_process: bool = False
    image: str | None = None
    root: str | None = None
    runtime_options: tuple[str, ...] = ()
    """Words before the command of podman or docker, such as `--root DIRECTORY`."""
    program: tuple[str, ...] = (RUNNER,)
    model_socket: str | None = None
    model_url: str | None = None
    """Endpoint of the model, reached through the model proxy of this process; instead of `model_socket`."""
    model_key: str | None = None
    """Name of the secret of the owner `local` that the model proxy adds to each request."""
    models: tuple[str, ...] = ()
    """Models that an agent may name to the model proxy; all if there are none."""
    model_networks: Networks = ()
    """Networks that the name in `model_url` may lead to, beyond the public ones."""
    model_prices: Prices = NO_PRICES
    """Prices by model, from which the model proxy computes the cost of a run."""
    secrets: tuple[str, ...] = ()
    assistant: str = "Andy"
    limit: int | None = None
    """Agents that run at once; None: 5, unless the lane `agents` has another limit already."""
    mounts: str | None = None
    """File of the directories that groups may mount; by default `mount-allowlist.json` in `directory`."""
    senders: str | None = None
    """File of the senders that may wake an agent; by default `sender-allowlist.json` in `directory`."""

    @property
    def workspace(self) -> Workspace:
        """Directories of the agents; refused where the settings do not name one."""
        if self.directory is None:
            raise CATALOGUE.refuse("agent_directory_missing")
        # Mounts have real paths.
        return Workspace(Path(os.path.realpath(self.directory)))

    @property
    def mount_list(self) -> Path:
        return Path(self.mounts) if self.mounts is not None else self.workspace.root / MOUNT_LIST_FILE

    @property
    def sender_list(self) -> Path:
        return Path(self.senders) if self.senders is not None else self.workspace.root / SENDER_LIST_FILE


def read_settings(given: Mapping[str, Any]) -> AgentSettings:
    """Check and convert the settings; None counts as not set. Raises a `Refusal`."""
    values: dict[str, Any] = {}
    for name, value in given.items():
        if name not in _READERS:
            raise _refuse(name, "…", f"one of {', '.join(_READERS)}")
        if value is not None:
            values[name] = _READERS[name](name, value)
    settings = AgentSettings(**values)
    if settings.runtime == "docker" and settings.image is None:
        raise _refuse("image", None, "the name of an image, which docker needs")
    if settings.runtime == "podman" and (settings.image is None) == (settings.root is None):
        raise _refuse("image", settings.image, "the name of an image, or root, a directory; podman needs one of them")
    if settings.runtime_options and settings.runtime not in {"podman", "docker"}:
        raise _refuse(
            "runtime_options", list(settings.runtime_options), "options with the runtime podman or docker only"
        )
    if settings.model_url is not None and settings.model_socket is not None:
        raise _refuse("model_url", settings.model_url, "model_url or model_socket, not both")
    return settings


def _refuse(name: str, value: Any, wanted: str) -> Exception:
    return CATALOGUE.refuse("agent_setting", name=name, value=value, wanted=wanted)


def _flag(name: str, value: Any) -> bool:
    words = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
    if isinstance(value, str) and value.lower() in words:
        return words[value.lower()]
    if not isinstance(value, bool):
        raise _refuse(name, value, "true or false")
    return value


def _path(name: str, value: Any) -> str:
    if not isinstance(value, str) or not value or "\0" in value:
        raise _refuse(name, value, "a path")
    path = Path(value).expanduser()
    if not path.is_absolute():
        raise _refuse(name, value, "an absolute path")
    return str(path)


def _runtime(name: str, value: Any) -> RuntimeName:
    for each in RUNTIMES:
        if value == each:
            return each
    raise _refuse(name, value, f"one of {', '.join(RUNTIMES)}")


def _text(name: str, value: Any) -> str:
    if not isinstance(value, str) or not value.strip() or len(value) > _NAME_CHARACTERS * 4 or not value.isprintable():
        raise _refuse(name, value, "a text")
    return value


def _assistant(name: str, value: Any) -> str:
    text = _text(name, value)
    if len(text) > _NAME_CHARACTERS:
        raise _refuse(name, value, f"a name of at most {_NAME_CHARACTERS} characters")
    return text


def _words(name: str, value: Any) -> tuple[str, ...]:
    words = value.split() if isinstance(value, str) else value
    is_list = isinstance(words, list | tuple) and 0 < len(words) <= _MAX_WORDS
    if not is_list or not all(isinstance(word, str) and "\0" not in word for word in words) or not words[0]:
        raise _refuse(name, value, 'a list of a program and its arguments, such as ["horae-agent", "--mind", "echo"]')
    return tuple(words)


def _options(name: str, value: Any) -> tuple[str, ...]:
    words = value.split() if isinstance(value, str) else value
    if not isinstance(words, list | tuple) or not all(isinstance(word, str) and "\0" not in word for word in words):
        raise _refuse(name, value, 'a list of words, such as ["--root", "/srv/containers"]')
    return tuple(words)


def _secrets(name: str, value: Any) -> tuple[str, ...]:
    names = [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value
    if not isinstance(names, list | tuple) or not all(
        isinstance(each, str) and _SECRET.fullmatch(each) for each in names
    ):
        raise _refuse(name, value, "a list of names of secrets")
    return tuple(names)


def _secret(name: str, value: Any) -> str:
    if not isinstance(value, str) or not _SECRET.fullmatch(value):
        raise _refuse(name, "…", "the name of a secret of the owner local, such as MODEL_KEY")
    return value


def _url(name: str, value: Any) -> str:
    try:
        parse_url(value)
    except Refusal:
        raise _refuse(name, value, "a URL, such as https://api.openai.com/v1") from None
    return str(value)


def _names(name: str, value: Any) -> tuple[str, ...]:
    names = [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value
    if not isinstance(names, list | tuple) or not all(isinstance(each, str) and each.strip() for each in names):
        raise _refuse(name, value, "a list of names of models")
    return tuple(names)


def _prices(name: str, value: Any) -> Prices:
    try:
        return read_prices(value)
    except ValueError:
        wanted = 'US dollars for a million tokens by model, such as {"gpt-5-mini": {"input": 0.25, "output": 2}}'
        raise _refuse(name, value, wanted) from None


def _networks(name: str, value: Any) -> Networks:
    names = [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value
    try:
        return read_networks(names)
    except (Refusal, TypeError):
        raise _refuse(name, value, 'a list of networks, such as ["10.0.0.0/8"]') from None


def _limit(name: str, value: Any) -> int:
    number = int(value) if isinstance(value, str) and value.isdecimal() else value
    if isinstance(number, bool) or not isinstance(number, int) or not 1 <= number <= _MAX_AGENTS:
        raise _refuse(name, value, f"a number from 1 to {_MAX_AGENTS}")
    return number


_READERS: Final[Mapping[str, Callable[[str, Any], Any]]] = {
    "enabled": _flag,
    "directory": _path,
    "runtime": _runtime,
    "allow_process": _flag,
    "image": _text,
    "root": _path,
    "runtime_options": _options,
    "program": _words,
    "model_socket": _path,
    "model_url": _url,
    "model_key": _secret,
    "models": _names,
    "model_networks": _networks,
    "model_prices": _prices,
    "secrets": _secrets,
    "assistant": _assistant,
    "limit": _limit,
    "mounts": _path,
    "senders": _path,
}
