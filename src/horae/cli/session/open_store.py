"""Opens the deployment for one command: which store it is, whether it is there, and in which zone its owner lives."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from ...runtime.process_settings import check_output, data_file, load_settings, store_url
from ...runtime.stores import MEMORY, mask_url, sqlite_path
from ...settings import DefaultZone, Settings, default_zone
from ..messages.refusals import refuse

if TYPE_CHECKING:
    from ...app import Horae
import errno
from typing import Final, Literal, NamedTuple

from ...errors import Refusal
from ..messages.messages import Message

T = TypeVar("T")


def run_with_app(store: str | None, work: Callable[[Horae], Awaitable[T]], *, create: bool = True) -> T:
    """Open the store, do it, close it again. `create` False: a file that is not there is not made, but refused."""
    url = prepare_url(store, create=create)
    return asyncio.run(_within(url, process_zone(None, settings_of(store)).name, work))


def run_with_existing_app(store: str | None, work: Callable[[Horae], Awaitable[T]]) -> T:
    """The same for whoever only wants to see or touch what is there: nothing is made by looking."""
    return run_with_app(store, work, create=False)


async def _within(url: str, zone: str, work: Callable[[Horae], Awaitable[T]]) -> T:
    from ...app import Horae  # noqa: PLC0415 - the whole house; refusals before it is needed are quick

    async with Horae(url, engine=False, zone=zone) as app:
        return await work(app)


def settings_of(store: str | None) -> Settings:
    found = load_settings(os.environ, flags={"store": store})
    check_output(found)
    return found


def store_exists(store: str | None) -> bool:
    """Whether there is anything to look at; a store that is no file is asked when it is opened."""
    path = sqlite_path(store_url(settings_of(store)))
    if path is None or Path(path).exists():
        return True
    _refuse_missing_folder(path)
    return False


def _refuse_missing_folder(path: str) -> None:
    """A folder that is not there was mistyped; but the user's own is made when it is needed."""
    folder = Path(path).absolute().parent
    if path != str(data_file()) and not folder.exists():
        raise refuse("no_such_folder", folder=folder)


def display_location(store: str | None) -> str:
    """Where it is, as people would look for it."""
    url = store_url(settings_of(store))
    path = sqlite_path(url)
    return mask_url(url) if path is None else str(Path(path).resolve())


def is_memory(store: str | None) -> bool:
    return store_url(settings_of(store)) == MEMORY


def refuse_memory(store: str | None) -> None:
    """A store in memory ends with the command: whatever it was given would be gone."""
    if is_memory(store):
        raise refuse("nothing_would_be_kept", url=MEMORY)


def prepare_url(store: str | None, *, create: bool) -> str:
    """The store's address, ready to be opened: the user's own folder is made, nobody else may look into it."""
    url = store_url(settings_of(store))
    path = sqlite_path(url)
    if path is not None and Path(path).exists():
        _refuse_unreachable(Path(path))
    elif path is not None:
        _refuse_missing_folder(path)
        if not create:
            raise refuse("no_store_yet", path=display_location(store))
        if path == str(data_file()):
            data_file().parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    return url


def _refuse_unreachable(path: Path) -> None:
    from .open_store import find_access_problem  # noqa: PLC0415 - it has words of its own

    obstacle = find_access_problem(path)
    if obstacle is not None:
        raise obstacle.refusal()


def process_zone(flag: str | None, settings: Settings) -> DefaultZone:
    """The zone where a schedule names none: said here, in the environment, in a file, or that of the machine."""
    found = default_zone(flag, os.environ)
    chosen = settings.overrides.get("zone")
    if found.origin not in ("flag", "environment") and chosen is not None:
        return DefaultZone(str(chosen.value), "environment", chosen.origin)
    return found


_FOR: Final[dict[str, Message]] = {"reading": Message("reading", "读取"), "writing": Message("writing", "写入")}


class AccessProblem(NamedTuple):
    """What cannot be done with the file or its folder, and what the system says to that."""

    path: Path
    use: Literal["reading", "writing"]
    reason: str

    def refusal(self) -> Refusal:
        said = _FOR[self.use]
        return refuse("store_not_reached", path=self.path, use=said.en, use_zh=said.zh, reason=self.reason)


def find_access_problem(path: Path) -> AccessProblem | None:
    """Of a file that is there. Its folder counts too: the log of what was written last lies beside the file."""
    if not os.access(path, os.R_OK):
        return AccessProblem(path, "reading", _reason(path))
    for place in (path, Path(os.path.realpath(path)).parent):
        if not os.access(place, os.W_OK):
            return AccessProblem(place, "writing", _reason(place))
    return None


def _reason(place: Path) -> str:
    if hasattr(os, "statvfs") and os.statvfs(place).f_flag & os.ST_RDONLY:
        return os.strerror(errno.EROFS)
    return os.strerror(errno.EACCES)
