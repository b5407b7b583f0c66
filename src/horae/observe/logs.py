"""Configures logging to standard error and a file: text or JSON lines, with ids from the context, with secrets masked."""

from __future__ import annotations

import json
import logging
import re
import sys
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from contextvars import ContextVar
from copy import copy
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, TextIO
from unicodedata import category

from ..model.refusals import refuse
from ..schedule.preview import make_fires
from .refusals import refuse as refuse_log

MASK: Final = "***"
_VALUE_CHARACTER: Final = r"[^\s\"'\\,;&)}\]]"
_PATTERNS: Final[tuple[tuple[re.Pattern[str], str], ...]] = (
    # Horae tokens: the id stays visible, the secret part is masked.
    (re.compile(r"\b(horae_[0-9A-Za-z]+_)[0-9A-Za-z_-]{8,}"), rf"\1{MASK}"),
    (re.compile(r"\b(whsec_)[0-9A-Za-z+/=_-]+"), rf"\1{MASK}"),
    # Cookies of browser sessions, and codes of sign-in links.
    (re.compile(r"\b(ses_[0-9a-f]{32}_)[0-9a-f]{64}"), rf"\1{MASK}"),
    (re.compile(r"\b[0-9a-f]{48}\b"), MASK),
    # Callback tokens and signatures.
    (re.compile(r"\b[0-9a-f]{64,}\b"), MASK),
    (re.compile(rf"\b(Bearer|Basic|Token)\s+{_VALUE_CHARACTER}{{6,}}", re.IGNORECASE), rf"\1 {MASK}"),
    # `scheme://name:password@host`
    (re.compile(r"(\w[\w+.-]*://)[^\s/@\"'\\]*@"), rf"\1{MASK}@"),
    (
        re.compile(
            r"([\w-]*(?:password|passwd|secret|token|api[_-]?key|authorization|cookie|signature)[\w-]*"
            rf"[\"']?\s*[=:]\s*[\"']?)(?!(?:Bearer|Basic|Token)\b)({_VALUE_CHARACTER}+)",
            re.IGNORECASE,
        ),
        rf"\1{MASK}",
    ),
    (re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*-----|$)", re.DOTALL), MASK),
)
_SECRET_NAMES: Final = re.compile(
    r"password|passwd|secret|token|api[_-]?key|authorization|cookie|signature", re.IGNORECASE
)
_MAX_DEPTH: Final = 6


def mask_text(text: str) -> str:
    """Return the text with everything that looks like a secret masked."""
    for pattern, replacement in _PATTERNS:
        text = pattern.sub(replacement, text)
    return text


def mask_value(value: Any, depth: int = 0) -> Any:
    """Mask a value for JSON, recursively; a value under a name like `password` is masked whatever it looks like."""
    if isinstance(value, str):
        return mask_text(value)
    if depth > _MAX_DEPTH or value is None or isinstance(value, bool | int | float):
        return value if depth <= _MAX_DEPTH else MASK
    if isinstance(value, Mapping):
        return {
            str(name): MASK if _SECRET_NAMES.search(str(name)) else mask_value(each, depth + 1)
            for name, each in value.items()
        }
    if isinstance(value, bytes | bytearray):
        return mask_text(repr(bytes(value)))
    if isinstance(value, Sequence | set | frozenset):
        return [mask_value(each, depth + 1) for each in value]
    return mask_text(repr(value))


_IDS: Final[ContextVar[Mapping[str, str]]] = ContextVar("horae_ids", default={})  # noqa: B039 - never written to


def bind_ids(**ids: str) -> None:
    """Add ids to the current asyncio task and the tasks it starts.

    A request and a run each have an asyncio task of their own, so the ids are never reset, and are still there in log
    lines written after a failure.
    """
    _IDS.set({**_IDS.get(), **{name: value for name, value in ids.items() if value}})


def current_ids() -> Mapping[str, str]:
    return _IDS.get()


LOG_FORMATS: Final = ("text", "json")
LEVELS: Final = ("debug", "info", "warning", "error")
LOGGER_NAME: Final = "horae"
RUNS_LOGGER: Final = "horae.runs"
"""Logger of failed runs: disabled where a command prints each of them itself."""
_TEXT_FORMAT: Final = "%(asctime)s %(levelname)s %(message)s"
_STANDARD_ATTRIBUTES: Final = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


def configure_logging(
    log_format: str,
    level: str,
    stream: TextIO | None = None,
    *,
    file: str | None = None,
    zone: str = "UTC",
    on_terminal: Callable[[str], logging.Formatter] | None = None,
) -> None:
    """Configure the root logger; raises a refusal for an unknown format or level before changing anything.

    `file` receives the same lines as the stream, and is reopened after a log rotation. `zone` is the time zone of a text
    log; a JSON log is in UTC. `on_terminal` makes the formatter of text lines, by zone, where the stream is a terminal.
    """
    log_format, level = log_format.strip().lower(), level.strip().lower()
    if log_format not in LOG_FORMATS:
        raise refuse("bad_choice", name="log", value=log_format, allowed=", ".join(LOG_FORMATS))
    if level not in LEVELS:
        raise refuse("bad_choice", name="log_level", value=level, allowed=", ".join(LEVELS))
    if log_format == "json" and find_spec("structlog") is None:
        raise refuse("missing_part", library="structlog", extra="observe")
    stream = sys.stderr if stream is None else stream
    handlers: list[logging.Handler] = [logging.StreamHandler(stream)]
    if file:
        handlers.append(_log_file(file))
    for handler in handlers:
        handler.setFormatter(_json_lines() if log_format == "json" else TextFormatter(_TEXT_FORMAT, zone))
    if on_terminal is not None and log_format == "text" and stream.isatty():
        handlers[0].setFormatter(on_terminal(zone))
    root = logging.getLogger()
    for old_handler in root.handlers[:]:
        root.removeHandler(old_handler)
        if isinstance(old_handler, logging.FileHandler):
            old_handler.close()
    for handler in handlers:
        root.addHandler(handler)
    # Libraries log warnings and above only: their details may contain data from the network.
    root.setLevel(max(logging.WARNING, logging.getLevelNamesMapping()[level.upper()]))
    logging.getLogger(LOGGER_NAME).setLevel(level.upper())


def _log_file(path: str) -> logging.Handler:
    from logging.handlers import WatchedFileHandler  # noqa: PLC0415 - most processes have no log file

    try:
        return WatchedFileHandler(Path(path).expanduser(), encoding="utf-8")
    except OSError as error:
        raise refuse_log("log_file_unusable", path=path, problem=error.strerror or type(error).__name__) from None


class TextFormatter(logging.Formatter):
    """Formats a message with its ids, with all times in one zone.

    Logged text can neither start a line of its own nor send escape sequences to a terminal.
    """

    def __init__(self, pattern: str, zone: str = "UTC") -> None:
        super().__init__(pattern)
        self._zone = zone

    def formatTime(self, record: logging.LogRecord, datefmt: str | None = None) -> str:  # noqa: N802 - as the library calls it
        del datefmt
        return self._local(datetime.fromtimestamp(record.created, UTC))

    def _local(self, at: datetime) -> str:
        """Format as `2026-11-17 14:42:42.262 +08:00`."""
        (fire,) = make_fires(self._zone, [at])
        text = fire.local.isoformat(" ", "milliseconds")
        return f"{text[:23]} {text[23:]}"

    def _with_local_times(self, record: logging.LogRecord) -> logging.LogRecord:
        args = record.args
        if not isinstance(args, tuple) or not any(isinstance(each, datetime) and each.tzinfo for each in args):
            return record
        local = copy(record)
        local.args = tuple(self._local(each) if isinstance(each, datetime) and each.tzinfo else each for each in args)
        return local

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - as the library calls it
        ids = " ".join(f"{name}={value}" for name, value in current_ids().items())
        line = super().formatMessage(record)
        return f"{line} [{ids}]" if ids else line

    def format(self, record: logging.LogRecord) -> str:
        first, *rest = self.format_lines(record)
        prefix = f"{self.formatTime(record)} {record.levelname} | "
        return "\n".join([first, *(prefix + line for line in rest)])

    def format_lines(self, record: logging.LogRecord) -> list[str]:
        """Format the record with its traceback, mask secrets, escape control characters, and split into lines."""
        text = mask_text(super().format(self._with_local_times(record)))
        return [escape_invisible(line) for line in text.replace("\r\n", "\n").split("\n")]


def escape_invisible(text: str) -> str:
    """Escape control characters, direction marks and other invisible characters: `\\x1b`, `\\u202e`."""
    if text.isprintable():
        return text
    return "".join(character if _is_harmless(character) else _escape(character) for character in text)


def _is_harmless(character: str) -> bool:
    return character.isprintable() or character == "\t" or category(character) == "Zs"


def _escape(character: str) -> str:
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _json_text(event: Any, **options: Any) -> str:
    """Dump JSON and escape the control characters that `json.dumps` leaves; they occur only within strings."""
    text = json.dumps(event, **options)
    if text.isprintable():
        return text
    return "".join(character if _is_harmless(character) else json.dumps(character)[1:-1] for character in text)


def _json_lines() -> logging.Formatter:
    """Return a formatter that renders standard log records as JSON with structlog."""
    from structlog.processors import JSONRenderer, TimeStamper, format_exc_info  # noqa: PLC0415 - an extra
    from structlog.stdlib import ProcessorFormatter, add_log_level, add_logger_name  # noqa: PLC0415

    return ProcessorFormatter(
        foreign_pre_chain=[add_log_level, add_logger_name, _add_ids, _add_extras],
        processors=[
            TimeStamper(fmt="iso", utc=True, key="at"),
            format_exc_info,
            ProcessorFormatter.remove_processors_meta,
            _mask_secrets,
            JSONRenderer(_json_text, sort_keys=False, ensure_ascii=False),
        ],
    )


def _add_ids(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    event.update(current_ids())
    return event


def _add_extras(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Add the `extra` fields of the record."""
    record = event.get("_record")
    if record is not None:
        event.update(
            {name: value for name, value in vars(record).items() if name not in _STANDARD_ATTRIBUTES | event.keys()}
        )
    return event


def _mask_secrets(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    return dict(mask_value(event))
