"""What `horae doctor` looks at on this machine: the interpreter, settings, clock, zones, disk, libraries."""

from __future__ import annotations

import os
import platform
import shutil
import stat
from collections.abc import Iterable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

from ...clock import Clock
from ...errors import HoraeError, Refusal
from ...runtime.store_status import library_versions
from ...runtime.unused_settings import UnusedSetting
from ...schedule.zones import find_zone
from ...settings import DefaultZone, Settings
from ..messages import operating_messages as words
from ..messages.messages import Message

Grade = Literal["ok", "warning", "error"]
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


class Check(NamedTuple):
    """One thing that was looked at: a code for programs, how bad it is, a sentence, and what would help."""

    code: str
    grade: Grade
    message: Message
    facts: dict[str, object]
    fix: Message | None = None


def make_check(code: str, grade: Grade, said: Message, fix: Message | None = None, **facts: object) -> Check:
    return Check(code, grade, said, facts, fix)


def check_python(driver: str | None = None) -> Check:
    """`driver` is what speaks with a server; without one, the store is SQLite's."""
    if driver is not None:
        return make_check("python", "ok", words.PYTHON_AND_DRIVER, python=platform.python_version(), driver=driver)
    sqlite, apsw = library_versions()
    return make_check("python", "ok", words.PYTHON, python=platform.python_version(), sqlite=sqlite, apsw=apsw)


def check_settings(settings: Settings | HoraeError) -> Check:
    if isinstance(settings, HoraeError):
        said = {"en": str(settings), "zh": str(settings)}
        if isinstance(settings, Refusal):
            said = {"en": str(settings), "zh": " ".join(settings.in_language("zh"))}
        return Check("settings", "error", Message("{en}", "{zh}"), dict(said))
    return make_check("settings", "ok", words.SETTINGS_FINE, number=len(settings.overrides))


def check_unused_settings(found: Iterable[UnusedSetting]) -> Iterator[Check]:
    """Each name that nothing here reads, with the one that was probably meant."""
    for name, place, nearest in found:
        said = words.UNHEARD_KEY if place else words.UNHEARD_VARIABLE
        fix = words.UNHEARD_FIX if nearest is None else escape_braces(_with_nearest(nearest))
        yield make_check("unknown_setting", "warning", said, fix, name=name, place=place)


def _with_nearest(name: str) -> Message:
    return Message(*(text.format(name=name) for text in words.UNHEARD_NEAREST))


class ClockReading(NamedTuple):
    """Both clocks, read together."""

    wall: float
    steady: float

    @classmethod
    def read(cls, clock: Clock) -> ClockReading:
        return cls(clock.now().timestamp(), clock.steady())


def check_clock(before: ClockReading, after: ClockReading) -> Check:
    drift = round(1000 * ((after.wall - before.wall) - (after.steady - before.steady)))
    ntp = words.NTP_SYNCED if _SYNCHRONISED.exists() else words.NTP_UNKNOWN
    if abs(drift) > _DRIFT_MILLISECONDS:
        return make_check("clock", "warning", _with(words.CLOCK_DRIFTS, ntp), words.CLOCK_FIX, drift=drift)
    return make_check("clock", "ok", _with(words.CLOCK_FINE, ntp))


def _with(said: Message, ntp: Message) -> Message:
    return Message(said.en.replace("{ntp}", ntp.en), said.zh.replace("{ntp}", ntp.zh))


def check_zones(zone: DefaultZone) -> Check:
    import tzdata  # noqa: PLC0415 - only its version is asked for

    facts: dict[str, Any] = {"version": tzdata.IANA_VERSION, "zone": zone.name, "source": zone.source}
    try:
        find_zone(zone.name)
    except Refusal:
        return make_check("zones", "error", words.BAD_ZONE, words.ZONE_FIX, **facts)
    if zone.origin == "nowhere":
        return make_check("zones", "warning", words.ZONE_NOWHERE, words.ZONE_FIX, **facts)
    return make_check("zones", "ok", words.ZONES, **facts)


def check_disk(folder: Path) -> Check:
    there = next(each for each in (folder, *folder.parents) if each.exists())
    free = shutil.disk_usage(there).free
    said = _rounded(free)
    if free >= LOW_DISK_BYTES:
        return make_check("disk", "ok", words.DISK_FINE, free=said)
    return make_check(
        "disk", "error" if free < FULL_DISK_BYTES else "warning", words.DISK_LOW, words.DISK_FIX, free=said
    )


def check_libraries() -> Check:
    present = [name for name in _LIBRARIES if find_spec(name) is not None]
    absent = [f"{name} (horae[{extra}])" for name, extra in _LIBRARIES.items() if name not in present]
    said = words.LIBRARIES
    rest = words.ABSENT if absent else Message("", "")
    whole = Message(said.en.replace("{absent}", rest.en), said.zh.replace("{absent}", rest.zh))
    fix = words.LIBRARIES_FIX if absent else None
    return make_check("libraries", "ok", whole, fix, present=", ".join(present) or "-", names=", ".join(absent))


def check_key(path: Path | None, secrets: int) -> Check:
    """Whoever can read the key can read every secret. None: it has to be named, and was not."""
    if path is None:
        missing = make_check("secrets", "error", words.KEY_NOT_NAMED, words.KEY_NOT_NAMED_FIX, number=secrets)
        return missing if secrets else make_check("secrets", "ok", words.KEY_NONE)
    if not path.exists():
        if secrets:
            return make_check("secrets", "error", words.KEY_MISSING, words.KEY_MISSING_FIX, number=secrets, path=path)
        return make_check("secrets", "ok", words.KEY_NONE)
    from ...encryption.refusals import refuse  # noqa: PLC0415 - it has the sentence for this

    mode = stat.S_IMODE(path.stat().st_mode)
    if os.name == "posix" and mode & 0o077:
        exposed = refuse("key_file_exposed", path=path, mode=f"{mode:04o}", quoted=path)
        said = Message(*(exposed.in_language(each).message for each in ("en", "zh")))
        return Check("secrets", "error", escape_braces(said), {}, Message(f"chmod 600 {path}", f"chmod 600 {path}"))
    return make_check("secrets", "ok", words.KEY_FINE, number=secrets, path=path)


def escape_braces(said: Message) -> Message:
    """A sentence that is complete has no places left to fill, whatever a path looks like."""
    return Message(*(text.replace("{", "{{").replace("}", "}}") for text in said))


def check_machine(folder: Path | None) -> Iterator[Check]:
    """`folder` is that of the store, if it is on this machine."""
    if folder is not None:
        yield check_disk(folder)
    yield check_libraries()


def _rounded(size: int) -> str:
    from ..commands.db import in_bytes  # noqa: PLC0415 - the same way of saying it

    return in_bytes(size)
