"""Directories that a group may mount: the operator's list of permitted roots, read and resolved again for every run.

The file has the format of NanoClaw's `mount-allowlist.json`. It is outside of every mount, so that no agent can change it.
The check is by the real path at run time: a link that leaves the permitted roots is refused, also one made after the
group was registered. The content of a permitted directory is not searched for secrets.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterable, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, Final, NamedTuple

from ..errors import Refusal
from ..ports.runtime import Mount
from .refusals import CATALOGUE

EXTRA_FOLDER: Final = "/workspace/extra"
DEFAULT_BLOCKED_PATTERNS: Final = (
    ".ssh",
    ".gnupg",
    ".gpg",
    ".aws",
    ".azure",
    ".gcloud",
    ".kube",
    ".docker",
    "credentials",
    ".env",
    ".netrc",
    ".npmrc",
    ".pypirc",
    "id_rsa",
    "id_ed25519",
    "private_key",
    ".secret",
    "docker.sock",
    "podman.sock",
    "containerd.sock",
)
"""Always blocked, next to the patterns of the file: a path with one of these in any part is never mounted."""
_MAX_LIST_BYTES: Final = 256 * 1024


class MountRequest(NamedTuple):
    """A mount as a group asks for it: the default place is the last part of the path, below `EXTRA_FOLDER`."""

    host_path: str
    container_path: str | None = None
    readonly: bool = True


class AllowedRoot(NamedTuple):
    path: Path
    allow_read_write: bool


class MountList(NamedTuple):
    """The list as the file has it."""

    roots: Sequence[AllowedRoot]
    blocked_patterns: Sequence[str]
    non_main_read_only: bool


class ResolvedMounts(NamedTuple):
    mounts: Sequence[Mount]
    refusals: Sequence[Refusal]


def resolve_mounts(
    file: Path, requests: Iterable[MountRequest], *, is_main: bool, reserved: Sequence[Path] = ()
) -> ResolvedMounts:
    """Return the mounts that are permitted now, and a refusal for each of the others.

    `reserved` are real paths of which no group gets a part by a mount, whatever the list permits.
    """
    mounts: list[Mount] = []
    refusals: list[Refusal] = []
    for request in requests:
        try:
            mount = resolve_mount(file, request, is_main=is_main, reserved=reserved)
            if any(_overlap(mount.target, other.target) for other in mounts):
                raise CATALOGUE.refuse("mount_target_twice", value=mount.target)
            mounts.append(mount)
        except Refusal as refusal:
            refusals.append(refusal)
    return ResolvedMounts(mounts, refusals)


def resolve_mount(file: Path, request: MountRequest, *, is_main: bool, reserved: Sequence[Path] = ()) -> Mount:
    """Return the mount with its real path, writable only if all three agree: request, root and kind of group."""
    permitted = read_mount_list(file)
    target = _target(request)
    path = _real_path(request.host_path)
    for pattern in (*DEFAULT_BLOCKED_PATTERNS, *permitted.blocked_patterns):
        if any(pattern in each for each in (str(path), request.host_path)):
            raise CATALOGUE.refuse("mount_blocked", path=request.host_path, pattern=pattern)
    roots = [root for root in permitted.roots if path.is_relative_to(root.path)]
    if not roots:
        allowed = ", ".join(str(root.path) for root in permitted.roots) or "-"
        raise CATALOGUE.refuse("mount_not_allowed", path=request.host_path, file=file, allowed=allowed)
    if Path(os.path.realpath(file)).is_relative_to(path):
        raise CATALOGUE.refuse("mount_of_list", path=request.host_path, file=file)
    for each in reserved:
        if path.is_relative_to(each) or each.is_relative_to(path):
            raise CATALOGUE.refuse("mount_of_agents", path=request.host_path, directory=each)
    root = max(roots, key=lambda each: len(each.path.parts))
    may_write = root.allow_read_write and (is_main or not permitted.non_main_read_only)
    return Mount(str(path), target, writable=may_write and not request.readonly)


def read_mount_list(file: Path) -> MountList:
    """Read the file; raise a refusal when it is missing, malformed, or when other users could have written it."""
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        raise CATALOGUE.refuse("mount_list_missing", file=file) from None
    except OSError as error:
        raise _invalid(file, error.strerror or "it cannot be read") from None
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode) or found.st_size > _MAX_LIST_BYTES:
            raise _invalid(file, "it is not a small regular file")
        if found.st_uid not in {0, os.geteuid()} or found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            raise _invalid(file, "other users can write it (chmod 600 makes it yours alone)")
        data = os.read(descriptor, _MAX_LIST_BYTES)
    finally:
        os.close(descriptor)
    try:
        return _parse_list(json.loads(data))
    except (ValueError, RecursionError) as error:
        raise _invalid(file, str(error)) from None


def _parse_list(value: Any) -> MountList:
    if not isinstance(value, dict):
        raise ValueError("it is not an object")  # noqa: TRY004 - of a file, not of a caller
    roots = _items(value, "allowedRoots", dict)
    patterns = _items(value, "blockedPatterns", str) if "blockedPatterns" in value else []
    if "" in patterns:
        raise ValueError("blockedPatterns has an empty text, which matches every path")
    return MountList(
        [root for each in roots if (root := _parse_root(each)) is not None],
        patterns,
        _flag(value, "nonMainReadOnly", default=True),
    )


def _parse_root(value: dict[str, Any]) -> AllowedRoot | None:
    """A root that does not exist permits nothing."""
    path = value.get("path")
    if not isinstance(path, str) or not path.startswith(("/", "~")):
        raise ValueError("the path of an allowed root is not an absolute path")
    may_write = _flag(value, "allowReadWrite", default=False)
    try:
        return AllowedRoot(Path(os.path.realpath(Path(path).expanduser(), strict=True)), may_write)
    except (OSError, RuntimeError, ValueError):
        return None


def _items(value: dict[str, Any], name: str, kind: type) -> list[Any]:
    items = value.get(name)
    if not isinstance(items, list) or not all(isinstance(each, kind) for each in items):
        raise ValueError(f"{name} is not a list of {'objects' if kind is dict else 'texts'}")
    return items


def _flag(value: dict[str, Any], name: str, *, default: bool) -> bool:
    flag = value.get(name, default)
    if not isinstance(flag, bool):
        raise ValueError(f"{name} is neither true nor false")  # noqa: TRY004 - of a file, not of a caller
    return flag


def _invalid(file: Path, problem: str) -> Refusal:
    return CATALOGUE.refuse("mount_list_invalid", file=file, problem=problem)


def _real_path(text: str) -> Path:
    try:
        path = Path(text).expanduser()
        if not path.is_absolute():
            raise CATALOGUE.refuse("mount_source", path=text, problem="it is not an absolute path")
        real = Path(os.path.realpath(path, strict=True))
        mode = real.stat().st_mode
    except (OSError, RuntimeError, ValueError):
        raise CATALOGUE.refuse("mount_not_found", path=text) from None
    if not stat.S_ISDIR(mode) and not stat.S_ISREG(mode):
        raise CATALOGUE.refuse("mount_source", path=text, problem="it is neither a directory nor a regular file")
    return real


def _target(request: MountRequest) -> str:
    value = PurePosixPath(request.host_path).name if request.container_path is None else request.container_path
    path = PurePosixPath(value)
    is_usable = value.strip() and value.isprintable() and not any(character in value for character in ',:"')
    if not is_usable or path.is_absolute() or ".." in path.parts or not path.parts:
        raise CATALOGUE.refuse("mount_target", value=value, folder=EXTRA_FOLDER)
    return f"{EXTRA_FOLDER}/{path}"


def _overlap(first: str, second: str) -> bool:
    return PurePosixPath(first).is_relative_to(second) or PurePosixPath(second).is_relative_to(first)
