"""Lines for whoever runs this, to standard error: text for people or JSON for programs, each with its ids, none with a secret."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Callable, MutableMapping
from copy import copy
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, TextIO
from unicodedata import category

from ..model.refusals import refuse
from ..schedule.preview import fires_in
from .log_context import bound
from .refusals import refuse as refuse_looking
from .secret_mask import masked_text, masked_value

MANNERS: Final = ("text", "json")
LEVELS: Final = ("debug", "info", "warning", "error")
OURS: Final = "horae"
RUNS: Final = "horae.runs"
"""Failures of runs: quiet where a program prints each of them itself."""
_PLAIN: Final = "%(asctime)s %(levelname)s %(message)s"
_RECORD: Final = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


def begin_logging(
    manner: str,
    level: str,
    stream: TextIO | None = None,
    *,
    file: str | None = None,
    zone: str = "UTC",
    on_terminal: Callable[[str], logging.Formatter] | None = None,
) -> None:
    """Everything that this process logs goes here. An unknown format or level is refused, before anything is begun.

    `file` receives the same lines beside the stream; it is opened anew when a log rotation has moved it away.
    `zone` is that of all times in a log for people; a log for programs is in UTC. `on_terminal` makes the formatter of text
    lines, by their zone, where the stream is a terminal.
    """
    manner, level = manner.strip().lower(), level.strip().lower()
    if manner not in MANNERS:
        raise refuse("bad_choice", name="log", value=manner, allowed=", ".join(MANNERS))
    if level not in LEVELS:
        raise refuse("bad_choice", name="log_level", value=level, allowed=", ".join(LEVELS))
    if manner == "json" and find_spec("structlog") is None:
        raise refuse("missing_part", library="structlog", extra="observe")
    stream = sys.stderr if stream is None else stream
    handlers: list[logging.Handler] = [logging.StreamHandler(stream)]
    if file:
        handlers.append(_log_file(file))
    for handler in handlers:
        handler.setFormatter(_json_lines() if manner == "json" else TextLines(_PLAIN, zone))
    if on_terminal is not None and manner == "text" and stream.isatty():
        handlers[0].setFormatter(on_terminal(zone))
    root = logging.getLogger()
    for old in root.handlers[:]:
        root.removeHandler(old)
        if isinstance(old, logging.FileHandler):
            old.close()
    for handler in handlers:
        root.addHandler(handler)
    # What libraries say in detail is theirs, and may hold what came over the wire.
    root.setLevel(max(logging.WARNING, logging.getLevelNamesMapping()[level.upper()]))
    logging.getLogger(OURS).setLevel(level.upper())


def _log_file(path: str) -> logging.Handler:
    from logging.handlers import WatchedFileHandler  # noqa: PLC0415 - most processes have no log file

    try:
        return WatchedFileHandler(Path(path).expanduser(), encoding="utf-8")
    except OSError as error:
        raise refuse_looking("log_file_unusable", path=path, problem=error.strerror or type(error).__name__) from None


class TextLines(logging.Formatter):
    """The message, then its ids. Every time is in one zone: that of the line, and those within the message. Nothing that was
    logged can begin a line of its own, or be obeyed by a terminal."""

    def __init__(self, pattern: str, zone: str = "UTC") -> None:
        super().__init__(pattern)
        self._zone = zone

    def formatTime(self, record: logging.LogRecord, datefmt: str | None = None) -> str:  # noqa: N802 - as the library calls it
        del datefmt
        return self._local(datetime.fromtimestamp(record.created, UTC))

    def _local(self, at: datetime) -> str:
        """`2026-11-17 14:42:42.262 +08:00`."""
        (fire,) = fires_in(self._zone, [at])
        text = fire.local.isoformat(" ", "milliseconds")
        return f"{text[:23]} {text[23:]}"

    def _with_local_times(self, record: logging.LogRecord) -> logging.LogRecord:
        args = record.args
        if not isinstance(args, tuple) or not any(isinstance(each, datetime) and each.tzinfo for each in args):
            return record
        twin = copy(record)
        twin.args = tuple(self._local(each) if isinstance(each, datetime) and each.tzinfo else each for each in args)
        return twin

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - as the library calls it
        ids = " ".join(f"{name}={value}" for name, value in bound().items())
        line = super().formatMessage(record)
        return f"{line} [{ids}]" if ids else line

    def format(self, record: logging.LogRecord) -> str:
        first, *rest = self.visible_lines(record)
        prefix = f"{self.formatTime(record)} {record.levelname} | "
        return "\n".join([first, *(prefix + line for line in rest)])

    def visible_lines(self, record: logging.LogRecord) -> list[str]:
        """The record by the pattern, with what belongs to it: masked, and with nothing that a terminal would obey."""
        text = masked_text(super().format(self._with_local_times(record)))
        return [visible(line) for line in text.replace("\r\n", "\n").split("\n")]


def visible(text: str) -> str:
    """Control characters, escapes, marks of direction and other invisible characters, spelled out: `\\x1b`, `\\u202e`."""
    if text.isprintable():
        return text
    return "".join(sign if _is_harmless(sign) else _spelled(sign) for sign in text)


def _is_harmless(sign: str) -> bool:
    return sign.isprintable() or sign == "\t" or category(sign) == "Zs"


def _spelled(sign: str) -> str:
    code = ord(sign)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _json_text(event: Any, **more: Any) -> str:
    """JSON escapes line breaks and most control characters; the others are escaped here. They stand only within texts."""
    text = json.dumps(event, **more)
    if text.isprintable():
        return text
    return "".join(sign if _is_harmless(sign) else json.dumps(sign)[1:-1] for sign in text)


def _json_lines() -> logging.Formatter:
    """What our own code and every library logs in the ordinary way, as structlog renders it."""
    from structlog.processors import JSONRenderer, TimeStamper, format_exc_info  # noqa: PLC0415 - an extra
    from structlog.stdlib import ProcessorFormatter, add_log_level, add_logger_name  # noqa: PLC0415

    return ProcessorFormatter(
        foreign_pre_chain=[add_log_level, add_logger_name, _with_ids, _with_extras],
        processors=[
            TimeStamper(fmt="iso", utc=True, key="at"),
            format_exc_info,
            ProcessorFormatter.remove_processors_meta,
            _without_secrets,
            JSONRenderer(_json_text, sort_keys=False, ensure_ascii=False),
        ],
    )


def _with_ids(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    event.update(bound())
    return event


def _with_extras(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """What was said beside the message, as `extra`."""
    record = event.get("_record")
    if record is not None:
        event.update({name: value for name, value in vars(record).items() if name not in _RECORD | event.keys()})
    return event


def _without_secrets(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    hidden = masked_value(event)
    return dict(hidden)
