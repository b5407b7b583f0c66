"""Bounded file reading: bytes from a regular file, and UTF-8 text from bytes, or a refusal."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Final

from .refusals import refuse

MAX_FILE_BYTES: Final = 4 * 1024 * 1024
"""Far above any real file; JSON of this size still fits into memory many times over."""


def read_bytes(path: Path) -> bytes:
    """Read the whole file; a pipe or device is refused, not waited for."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        raise refuse("import_no_file", path=path) from None
    except OSError as error:
        raise refuse("import_unreadable", path=path, problem=error.strerror) from None
    except ValueError:  # a NUL in the path
        raise refuse("import_no_file", path=path) from None
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise refuse("import_not_a_file", path=path)
        with open(descriptor, "rb", closefd=False) as file:
            return check_size(file.read(MAX_FILE_BYTES + 1))
    except OSError as error:
        raise refuse("import_unreadable", path=path, problem=error.strerror) from None
    finally:
        os.close(descriptor)


def decode_text(data: bytes | str) -> str:
    """Decode UTF-8 without NUL; a byte order mark at the beginning is dropped."""
    text = _decode(check_size(data if isinstance(data, bytes) else _encode(data)))
    if "\0" in text:
        raise refuse("import_binary", position=text.index("\0"))
    return text.removeprefix("\ufeff")


def check_size(data: bytes) -> bytes:
    if len(data) > MAX_FILE_BYTES:
        raise refuse("import_too_large", most=MAX_FILE_BYTES)
    return data


def _encode(text: str) -> bytes:
    try:
        return text[: MAX_FILE_BYTES + 1].encode()
    except UnicodeEncodeError as error:
        raise refuse("import_bad_utf8", position=error.start) from None


def _decode(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        code = "import_binary" if b"\0" in data[: error.start + 1] else "import_bad_utf8"
        position = data.index(b"\0") if code == "import_binary" else error.start
        raise refuse(code, position=position) from None
