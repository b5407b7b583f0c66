"""Settings of this process, merged from command line, environment and files, with checks of single values."""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

from ..errors import InvalidSchedule
from ..model.messages import MAX_KEEP, MAX_KEEP_FOR, KeepRules
from ..model.refusals import refuse
from ..schedule.durations import parse_duration
from ..settings import (
    OUTPUTS,
    PROJECT_FILE,
    WAKE_VARIABLE,
    WAKES,
    BadSettings,
    DefaultZone,
    Settings,
    SettingValue,
    default_zone,
    is_precise_wake,
    read_settings,
)
from .stores import DEFAULT_STORE
from .zero_settings import redis_url

MIN_RUN_LOG_BYTES: Final = 4 * 1024
MAX_RUN_LOG_BYTES: Final = 1024 * 1024 * 1024
_MAX_DIGITS: Final = 10
_SWITCH_VALUES: Final = {"yes": True, "true": True, "1": True, "no": False, "false": False, "0": False, "": False}


def load_settings(
    environment: Mapping[str, str], directory: Path | None = None, flags: Mapping[str, Any] | None = None
) -> Settings:
    """Read the settings; precedence: flag, environment, `horae.toml` in the directory, the user's own file."""
    try:
        return read_settings(environment, (user_file(), (directory or Path.cwd()) / PROJECT_FILE), flags)
    except BadSettings as bad:
        raise refuse("bad_settings", file=bad.file, problem=bad.problem) from None


def read_wake_mode(settings: Settings, environment: Mapping[str, str]) -> bool:
    """Whether the engine sleeps until the next due instant instead of polling; an invalid value is refused."""
    precise = is_precise_wake(settings, environment)
    if precise is not None:
        return precise
    value, origin = settings.overrides["wake"]
    if origin == WAKE_VARIABLE:
        raise refuse("bad_choice", name=WAKE_VARIABLE, value=value, allowed=", ".join(WAKES))
    raise refuse("bad_settings", file=origin, problem=f"wake must be {' or '.join(WAKES)}, not {value!r}")


def check_output(settings: Settings) -> None:
    """Raise a refusal if the output format is neither text nor JSON."""
    chosen = settings.overrides.get("output")
    if chosen is not None and chosen.value not in OUTPUTS:
        raise refuse("bad_choice", name=_source_name(chosen, "output"), value=chosen.value, allowed=", ".join(OUTPUTS))


def read_clock_tolerance(settings: Settings) -> timedelta | None:
    """Return how far a node's clock may be off when it starts; None where it is not set."""
    chosen = settings.overrides.get("clock_tolerance")
    if chosen is None:
        return None
    text = str(chosen.value).strip()
    try:
        return parse_duration(f"{text}s" if text.isdecimal() else text)
    except InvalidSchedule:
        name = _source_name(chosen, "clock_tolerance")
        raise refuse("bad_duration", name=name, value=text, least="0s", most="1d") from None


def read_switch(settings: Settings, name: str) -> bool:
    """Return whether a setting is on; raises a refusal unless it is yes or no."""
    chosen = settings.overrides.get(name)
    if chosen is None:
        return False
    value = str(chosen.value).strip().lower()
    if value not in _SWITCH_VALUES:
        raise refuse("bad_choice", name=_source_name(chosen, name), value=chosen.value, allowed="yes, no")
    return _SWITCH_VALUES[value]


def read_run_log_bytes(settings: Settings) -> int | None:
    """Return how many bytes of the log of a run are kept; None where it is not set."""
    chosen = settings.overrides.get("run_log_bytes")
    if chosen is None:
        return None
    text = str(chosen.value).strip()
    if not text.isdecimal() or len(text) > _MAX_DIGITS or not MIN_RUN_LOG_BYTES <= int(text) <= MAX_RUN_LOG_BYTES:
        name = _source_name(chosen, "run_log_bytes")
        raise refuse("bad_number", name=name, value=text, least=MIN_RUN_LOG_BYTES, most=MAX_RUN_LOG_BYTES)
    return int(text)


def read_message_rules(settings: Settings) -> KeepRules | None:
    """Return the retention of messages; None where nothing of it is set."""
    chosen = {name: settings.overrides.get(name) for name in _MESSAGE_SETTINGS}
    rules = KeepRules()
    for name, value in chosen.items():
        if value is not None:
            text = str(value.value).strip()
            if name == "message_keep_for":
                rules = rules._replace(keep_for=_read_keep_for(text, _source_name(value, name)))
            elif name == "message_keep_read_for":
                rules = rules._replace(keep_read_for=_read_keep_for(text, _source_name(value, name)))
            elif not text.isdecimal() or len(text) > _MAX_DIGITS or not 1 <= int(text) <= MAX_KEEP:
                raise refuse("bad_number", name=_source_name(value, name), value=text, least=1, most=MAX_KEEP)
            else:
                rules = rules._replace(keep=int(text))
    return None if rules == KeepRules() else rules


_MESSAGE_SETTINGS: Final = ("message_keep", "message_keep_for", "message_keep_read_for")


def _read_keep_for(text: str, name: str) -> timedelta:
    try:
        duration = parse_duration(f"{text}s" if text.isdecimal() else text)
    except InvalidSchedule:
        raise refuse("bad_duration", name=name, value=text, least="0s", most="3650d") from None
    if duration > MAX_KEEP_FOR:
        raise refuse("bad_duration", name=name, value=text, least="0s", most="3650d")
    return duration


def _source_name(chosen: SettingValue, path: str) -> str:
    """Return the name under which the user set it: an environment variable, or the setting and its file."""
    return chosen.origin if chosen.origin.isupper() else f"{path} ({chosen.origin})"


def user_file() -> Path:
    from platformdirs import user_config_path  # noqa: PLC0415 - only where files are looked for

    return user_config_path("horae", appauthor=False) / PROJECT_FILE


def data_file() -> Path:
    """Return the default SQLite file of this user."""
    from platformdirs import user_data_path  # noqa: PLC0415 - only where files are looked for

    return user_data_path("horae", appauthor=False) / "horae.db"


def store_url(settings: Settings, directory: Path | None = None) -> str:
    """Return the configured store, by `store` or by `redis_addr`; else `horae.db` in this directory if it exists; else the
    user's default file."""
    chosen = settings.value("store")
    if chosen is None:
        chosen = redis_url(settings)
    if chosen is not None:
        return str(chosen)
    here = (directory or Path.cwd()) / "horae.db"
    return DEFAULT_STORE if here.exists() else f"sqlite:///{data_file()}"


def process_zone(flag: str | None, settings: Settings) -> DefaultZone:
    """Return the zone for schedules that name none: from the option, the environment, a file, or the machine."""
    zone = default_zone(flag, os.environ)
    chosen = settings.overrides.get("zone")
    if zone.origin not in ("flag", "environment") and chosen is not None:
        return DefaultZone(str(chosen.value), "environment", chosen.origin)
    return zone
