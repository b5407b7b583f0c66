"""Checks of a runtime spec that all runtimes share, and the names by which their processes are found again."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path, PurePosixPath
from typing import Final

from ...ports.runtime import MIB, RuntimeSpec
from ..refusals import CATALOGUE

INSTALL_VARIABLE: Final = "HORAE_INSTALL"
RUN_VARIABLE: Final = "HORAE_RUN_ID"
DEFAULT_PATH: Final = "/usr/local/bin:/usr/bin:/bin"
_INSTALL: Final = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9_-]{0,39}")
_RUN: Final = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9_.-]{0,99}")
_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_RESERVED: Final = ("/proc", "/sys", "/dev", "/etc", "/usr", "/bin", "/sbin", "/lib", "/lib64")
_MIN_MEMORY: Final = 16 * MIB
_PLACES: Final = "absolute paths without '..', none of them inside of another, outside of the system's directories"


def check_install(install: str) -> str:
    """The name of an installation has no dot: it ends at the first dot of a process name."""
    if not _INSTALL.fullmatch(install):
        raise CATALOGUE.refuse("runtime_spec", name="install", value=install, allowed="letters, digits, _ and -")
    return install


def process_name(install: str, run: str) -> str:
    return f"{name_prefix(install)}{run}"


def name_prefix(install: str) -> str:
    return f"horae.{install}."


def check_spec(spec: RuntimeSpec) -> None:
    """Raise a refusal for a spec that no runtime could start; the sources of mounts must be canonical now."""
    for name, value, allowed in _problems(spec):
        raise CATALOGUE.refuse("runtime_spec", name=name, value=value, allowed=allowed)
    for source in (*(mount.source for mount in spec.mounts), *(each.source for each in spec.sockets)):
        check_source(source)
    for socket in spec.sockets:
        if not stat.S_ISSOCK(Path(socket.source).stat().st_mode):
            raise CATALOGUE.refuse("mount_source", path=socket.source, problem="it is not a socket")


def check_source(source: str) -> None:
    """A link in the path is refused: it may have been put there after the path was permitted."""
    if not source.startswith("/"):
        raise CATALOGUE.refuse("mount_source", path=source, problem="it is not an absolute path")
    try:
        real = os.path.realpath(source, strict=True)
    except (OSError, ValueError):
        raise CATALOGUE.refuse("mount_source", path=source, problem="it does not exist") from None
    if real != source:
        raise CATALOGUE.refuse("mount_source", path=source, problem="a part of it is a symbolic link")


def _problems(spec: RuntimeSpec) -> Iterator[tuple[str, object, str]]:
    if not _RUN.fullmatch(spec.run):
        yield "run", spec.run, "letters, digits, '_', '-' and '.', at most 100"
    if not spec.program or not all(map(_is_word, spec.program)) or not spec.program[0]:
        yield "program", list(spec.program), "a program and its arguments, without NUL"
    for name, value in spec.environment.items():
        if not _VARIABLE.fullmatch(name) or not _is_word(value) or name in {INSTALL_VARIABLE, RUN_VARIABLE}:
            yield "environment", name, "names of letters, digits and '_', and values without NUL"
    yield from _problems_of_places(spec)
    limits = spec.limits
    if limits.memory < _MIN_MEMORY:
        yield "memory", limits.memory, f"at least {_MIN_MEMORY} bytes"
    for name in ("processes", "open_files", "output", "scratch"):
        if getattr(limits, name) < 1:
            yield name, getattr(limits, name), "at least 1"
    if not 0.01 <= limits.cpus <= 1024:
        yield "cpus", limits.cpus, "a number from 0.01 to 1024"


def _problems_of_places(spec: RuntimeSpec) -> Iterator[tuple[str, object, str]]:
    if not _is_place(spec.directory):
        yield "directory", spec.directory, "an absolute path without '..'"
    targets = [*(mount.target for mount in spec.mounts), *(each.target for each in spec.sockets)]
    for target in targets:
        if not _is_place(target) or target in {"/", "/tmp"} or any(_is_inside(target, each) for each in _RESERVED):  # noqa: S108 - a place inside
            yield "target", target, _PLACES
    for first, second in combinations(targets, 2):
        if _is_inside(first, second) or _is_inside(second, first):
            yield "target", second, _PLACES
    for source in (*(mount.source for mount in spec.mounts), *(each.source for each in spec.sockets)):
        if not _is_word(source) or "," in source or '"' in source:
            yield "source", source, "a path without comma, quotation mark and control characters"


def _is_word(text: str) -> bool:
    return "\0" not in text


def _is_place(path: str) -> bool:
    """Whether the path is absolute and canonical, and has no character with a meaning in an option of a runtime."""
    return (
        path.startswith("/")
        and str(PurePosixPath(path)) == path
        and ".." not in PurePosixPath(path).parts
        and not any(character in ',:"' or not character.isprintable() for character in path)
    )


def _is_inside(path: str, folder: str) -> bool:
    """Whether a path is a folder or within it; both are canonical."""
    return path == folder or path.startswith(folder if folder == "/" else f"{folder}/")
