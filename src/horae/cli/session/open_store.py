"""Opens the store of a command: settings, checks that its file exists and is accessible, and the default zone."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

from ...message import Message
from ...runtime.process_settings import data_file, store_url
from ...runtime.process_settings import process_zone as process_zone  # noqa: PLC0414 - shown here too
from ...runtime.stores import MEMORY, find_access_problem, mask_url, sqlite_path
from ...settings import Settings
from ..messages.refusals import refuse
from .interruptible import run_interruptible

if TYPE_CHECKING:
    from ...app import Horae

T = TypeVar("T")
_USES: Final[dict[str, Message]] = {"reading": Message("reading", "读取"), "writing": Message("writing", "写入")}


def run_with_app(settings: Settings, work: Callable[[Horae], Awaitable[T]], *, create: bool = True) -> T:
    """Open the store with an app, run `work`, and close it. `create` False: a missing file is refused."""
    url = prepare_url(settings, create=create)
    return run_interruptible(_within(url, process_zone(None, settings).name, work))


def run_with_existing_app(settings: Settings, work: Callable[[Horae], Awaitable[T]]) -> T:
    """Run `work` with an app on a store that must exist."""
    return run_with_app(settings, work, create=False)


async def _within(url: str, zone: str, work: Callable[[Horae], Awaitable[T]]) -> T:
    from ...app import Horae  # noqa: PLC0415 - slow to import; refusals before it are quick

    async with Horae(url, engine=False, zone=zone) as app:
        return await work(app)


def store_exists(settings: Settings) -> bool:
    """Whether the store exists; one that is not a file counts as existing, and is checked when it is opened."""
    path = sqlite_path(store_url(settings))
    if path is None or Path(path).exists():
        return True
    _refuse_missing_folder(path)
    return False


def _refuse_missing_folder(path: str) -> None:
    """Refuse a missing folder, which was probably mistyped; the default one is created when it is needed."""
    folder = Path(path).absolute().parent
    if path != str(data_file()) and not folder.exists():
        raise refuse("no_such_folder", folder=folder)


def display_location(settings: Settings) -> str:
    """Return the absolute path of the file, or the URL without its password."""
    url = store_url(settings)
    path = sqlite_path(url)
    return mask_url(url) if path is None else str(Path(path).resolve())


def is_memory(settings: Settings) -> bool:
    return store_url(settings) == MEMORY


def refuse_memory(settings: Settings) -> None:
    """Refuse a store in memory, since it would end with the command."""
    if is_memory(settings):
        raise refuse("nothing_would_be_kept", url=MEMORY)


def prepare_url(settings: Settings, *, create: bool) -> str:
    """Return the URL after checks of its file; the default folder is created, for this user only (mode 0700)."""
    url = store_url(settings)
    path = sqlite_path(url)
    if path is not None and Path(path).exists():
        _refuse_unreachable(Path(path))
    elif path is not None:
        _refuse_missing_folder(path)
        if not create:
            raise refuse("no_store_yet", path=display_location(settings))
        if path == str(data_file()):
            data_file().parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    return url


def _refuse_unreachable(path: Path) -> None:
    problem = find_access_problem(path)
    if problem is not None:
        use = _USES[problem.use]
        raise refuse("store_not_reached", path=problem.path, use=use.en, use_zh=use.zh, reason=problem.reason)
