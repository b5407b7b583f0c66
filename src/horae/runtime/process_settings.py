"""The settings of this process: what was said on the command line, in the environment, in files, or nowhere."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

from ..errors import InvalidSchedule
from ..model.refusals import refuse
from ..schedule.durations import parse_duration
from ..settings import (
    OUTPUTS,
    PROJECT_FILE,
    WAKE_VARIABLE,
    WAKES,
    BadSettings,
    Chosen,
    Settings,
    precise_wake,
    read_settings,
)
from .stores import DEFAULT_STORE


def chosen_settings(
    environment: Mapping[str, str], directory: Path | None = None, flags: Mapping[str, Any] | None = None
) -> Settings:
    """Flag, then environment, then `horae.toml` here, then the user's own file."""
    try:
        return read_settings(environment, (user_file(), (directory or Path.cwd()) / PROJECT_FILE), flags)
    except BadSettings as bad:
        raise refuse("bad_settings", file=bad.file, problem=bad.problem) from None


def chosen_wake(settings: Settings, environment: Mapping[str, str]) -> bool:
    """Whether to sleep to the next due instant; a word that says neither that nor the other is refused by its place."""
    precise = precise_wake(settings, environment)
    if precise is not None:
        return precise
    value, origin = settings.chosen["wake"]
    if origin == WAKE_VARIABLE:
        raise refuse("bad_choice", name=WAKE_VARIABLE, value=value, allowed=", ".join(WAKES))
    raise refuse("bad_settings", file=origin, problem=f"wake must be {' or '.join(WAKES)}, not {value!r}")


def check_output(settings: Settings) -> None:
    """Text or JSON; whoever wishes for something else is not to be given one of them in silence."""
    said = settings.chosen.get("output")
    if said is not None and said.value not in OUTPUTS:
        raise refuse("bad_choice", name=_named(said, "output"), value=said.value, allowed=", ".join(OUTPUTS))


def chosen_tolerance(settings: Settings) -> timedelta | None:
    """How far a clock may be off when a node starts; None where nobody said anything."""
    said = settings.chosen.get("clock_tolerance")
    if said is None:
        return None
    text = str(said.value).strip()
    try:
        return parse_duration(f"{text}s" if text.isdecimal() else text)
    except InvalidSchedule:
        raise refuse("bad_duration", name=_named(said, "clock_tolerance"), value=text, least="0s", most="1d") from None


def _named(said: Chosen, path: str) -> str:
    """As whoever said it knows it: a variable by its own name, what a file says by its path."""
    return said.origin if said.origin.isupper() else f"{path} ({said.origin})"


def user_file() -> Path:
    from platformdirs import user_config_path  # noqa: PLC0415 - only where files are looked for

    return user_config_path("horae", appauthor=False) / PROJECT_FILE


def data_file() -> Path:
    """Where a user's tasks are kept when nothing else was said."""
    from platformdirs import user_data_path  # noqa: PLC0415 - only where files are looked for

    return user_data_path("horae", appauthor=False) / "horae.db"


def store_url(settings: Settings, directory: Path | None = None) -> str:
    """What was chosen; else the file in this directory where there is one, as an app makes it; else the user's own."""
    chosen = settings.value("store")
    if chosen is not None:
        return str(chosen)
    here = (directory or Path.cwd()) / "horae.db"
    return DEFAULT_STORE if here.exists() else f"sqlite:///{data_file()}"
