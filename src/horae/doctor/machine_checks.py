"""Checks of a process and its machine: interpreter, settings, clock, zones, disk, libraries, secrets key."""

from __future__ import annotations

import os
import platform
import shutil
import stat
from collections.abc import Callable, Iterable, Iterator
from importlib.util import find_spec
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from ..clock import Clock
from ..errors import HoraeError, Refusal
from ..message import Message
from ..ports.doctor import Check, Fix, escape_braces, fill_message, make_check
from ..quantities import in_bytes
from ..schedule.zones import find_zone
from ..settings import DefaultZone, Settings
from . import messages as words
from .python_build import Optimisation, python_optimisation

if TYPE_CHECKING:
    from ..agents.host.sender_file import SenderFile

LOW_DISK_BYTES: Final = 1_000_000_000
FULL_DISK_BYTES: Final = 100_000_000
_DRIFT_MILLISECONDS: Final = 50
_SYNCHRONISED: Final = Path("/run/systemd/timesync/synchronized")
_LIBRARIES: Final = {
    "aiohttp": "http",
    "cryptography": "secrets",
    "yaml": "yaml",
    "redis": "redis",
    "asyncpg": "postgres",
    "asyncmy": "mysql",
    "uvloop": "fast",
}


class UnusedSetting(NamedTuple):
    """A setting that nothing reads. `file` is its file, empty for a variable; `nearest` the name probably meant."""

    name: str
    file: str
    nearest: str | None


def check_python(driver: str | tuple[str, str], optimisation: Optimisation | None = None) -> Check:
    """Report the version and build of Python with the database driver, or with SQLite and its library."""
    python, found = platform.python_version(), optimisation or python_optimisation()
    build = words.PYTHON_BUILDS[found]
    fix = words.PYTHON_BUILD_FIX if found == "plain" else None
    if isinstance(driver, str):
        return make_check("python", "ok", words.PYTHON_AND_DRIVER, fix, python=python, build=build, driver=driver)
    sqlite, apsw = driver
    return make_check("python", "ok", words.PYTHON, fix, python=python, build=build, sqlite=sqlite, apsw=apsw)


def check_settings(settings: Settings | HoraeError) -> Check:
    if isinstance(settings, HoraeError):
        texts: dict[str, object] = {"en": str(settings), "zh": str(settings)}
        if isinstance(settings, Refusal):
            texts["zh"] = " ".join(settings.in_language("zh"))
        return Check("settings", "error", Message("{en}", "{zh}"), texts)
    return make_check("settings", "ok", words.SETTINGS_FINE, number=len(settings.overrides))


def check_unused_settings(unused: Iterable[UnusedSetting]) -> Iterator[Check]:
    """Yield a warning for each setting that nothing reads, with the name that was probably meant."""
    for name, file, nearest in unused:
        message = words.UNUSED_KEY if file else words.UNUSED_VARIABLE
        fix = words.UNUSED_FIX if nearest is None else Fix(fill_message(words.UNUSED_NEAREST, name=nearest))
        yield make_check("unknown_setting", "warning", message, fix, name=name, place=file)


def check_senders(senders: SenderFile) -> Iterator[Check]:
    """Report the list of senders that may wake agents; nothing where there is none."""
    senders.read()
    if senders.problem:
        facts = {"path": senders.path, "problem": senders.problem}
        yield make_check("senders", "error", words.SENDERS_DAMAGED, words.SENDERS_FIX, **facts)
    elif senders.path is not None and senders.path.exists():
        yield make_check("senders", "ok", words.SENDERS, path=senders.path)


class ClockReading(NamedTuple):
    """Wall clock and steady clock, read together."""

    wall: float
    steady: float

    @classmethod
    def read(cls, clock: Clock) -> ClockReading:
        return cls(clock.now().timestamp(), clock.steady())


def check_clock(before: ClockReading, after: ClockReading) -> Check:
    drift = round(1000 * ((after.wall - before.wall) - (after.steady - before.steady)))
    ntp = words.NTP_SYNCED if _SYNCHRONISED.exists() else words.NTP_UNKNOWN
    if abs(drift) > _DRIFT_MILLISECONDS:
        return make_check("clock", "warning", _with_ntp(words.CLOCK_DRIFTS, ntp), words.CLOCK_FIX, drift=drift)
    return make_check("clock", "ok", _with_ntp(words.CLOCK_FINE, ntp))


def _with_ntp(message: Message, ntp: Message) -> Message:
    return Message(message.en.replace("{ntp}", ntp.en), message.zh.replace("{ntp}", ntp.zh))


def check_zones(zone: DefaultZone) -> Check:
    import tzdata  # noqa: PLC0415 - only for its version

    facts: dict[str, Any] = {"version": tzdata.IANA_VERSION, "zone": zone.name, "source": zone.source}
    try:
        find_zone(zone.name)
    except Refusal:
        return make_check("zones", "error", words.BAD_ZONE, words.ZONE_FIX, **facts)
    if zone.origin == "nowhere":
        return make_check("zones", "warning", words.ZONE_NOWHERE, words.ZONE_FIX, **facts)
    return make_check("zones", "ok", words.ZONES, **facts)


def free_bytes(folder: Path) -> int:
    return shutil.disk_usage(folder).free


def check_disk(folder: Path, read_free: Callable[[Path], int] = free_bytes) -> Check:
    """Check the free space of the disk that holds the folder, which need not exist yet."""
    free = read_free(next(each for each in (folder, *folder.parents) if each.exists()))
    size = in_bytes(free)
    if free >= LOW_DISK_BYTES:
        return make_check("disk", "ok", words.DISK_FINE, free=size)
    return make_check(
        "disk", "error" if free < FULL_DISK_BYTES else "warning", words.DISK_LOW, words.DISK_FIX, free=size
    )


def check_libraries() -> Check:
    present = [name for name in _LIBRARIES if find_spec(name) is not None]
    absent = [f"{name} (horae[{extra}])" for name, extra in _LIBRARIES.items() if name not in present]
    start = words.LIBRARIES
    rest = words.ABSENT if absent else Message("", "")
    message = Message(start.en.replace("{absent}", rest.en), start.zh.replace("{absent}", rest.zh))
    fix = words.LIBRARIES_FIX if absent else None
    return make_check("libraries", "ok", message, fix, present=", ".join(present) or "-", names=", ".join(absent))


def check_key(path: Path | None, secrets: int) -> Check:
    """Check that the key file exists and that no other user can read it, and so every secret. `path` None: not configured."""
    if path is None:
        missing = make_check("secrets", "error", words.KEY_NOT_NAMED, words.KEY_NOT_NAMED_FIX, number=secrets)
        return missing if secrets else make_check("secrets", "ok", words.KEY_NONE)
    if not path.exists():
        if secrets:
            return make_check("secrets", "error", words.KEY_MISSING, words.KEY_MISSING_FIX, number=secrets, path=path)
        return make_check("secrets", "ok", words.KEY_NONE)
    from ..encryption.refusals import refuse  # noqa: PLC0415 - for the message of an exposed key

    mode = stat.S_IMODE(path.stat().st_mode)
    if os.name == "posix" and mode & 0o077:
        exposed = refuse("key_file_exposed", path=path, mode=f"{mode:04o}", quoted=path)
        message = Message(*(exposed.in_language(each).message for each in ("en", "zh")))
        command = f"chmod 600 {quote(str(path))}"
        fix = Fix(escape_braces(Message(command, command)), command)
        return Check("secrets", "error", escape_braces(message), {}, fix)
    return make_check("secrets", "ok", words.KEY_FINE, number=secrets, path=path)


def check_machine(folder: Path | None) -> Iterator[Check]:
    """Yield the checks of disk and libraries; `folder` is that of the store, if it is a file."""
    if folder is not None:
        yield check_disk(folder)
    yield check_libraries()
