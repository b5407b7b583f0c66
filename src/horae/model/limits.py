"""Size limits of payloads, results, names, labels, logs and batches, and text cut to them."""

from __future__ import annotations

from typing import Final

from ..typography import truncate

PAYLOAD_BYTES: Final = 256 * 1024
TARGET_BYTES: Final = 2 * PAYLOAD_BYTES
"""A target may contain a body as large as a payload."""
RESULT_BYTES: Final = 64 * 1024
PREVIOUS_BYTES: Final = 64 * 1024
"""Results of all predecessors that a chained run gets."""
ERROR_CHARACTERS: Final = 4_000
NAME_CHARACTERS: Final = 200
KEY_CHARACTERS: Final = 200
LABELS: Final = 32
LABEL_CHARACTERS: Final = 100
NOTE_CHARACTERS: Final = 500
SUMMARY_CHARACTERS: Final = 200
LOG_LINES: Final = 100_000
"""Lines that a run may log; `LOG_BYTES` is usually reached first."""
LOG_BYTES: Final = 16 * 1024 * 1024
"""Bytes (UTF-8) that the log lines of a run may have, unless the setting `run_log_bytes` says otherwise."""
LOG_LINE_CHARACTERS: Final = 4_000
BULK_TASKS: Final = 1_000
BACKFILL_OCCURRENCES: Final = 10_000
BACKFILL_INPUT_BYTES: Final = 64 * 1024 * 1024
"""Bytes that the input of a backfill may have in all its runs together: each run keeps a copy."""
CLAIM_SLICE: Final = 128


def shorten(text: str, most: int) -> str:
    """Return the text, or its first whole words and an ellipsis where it has more than `most` characters."""
    return truncate(text, most)


def to_storable(text: str, max_length: int) -> str:
    """Cut the text and replace lone surrogates and NUL, which come from file names and binary output."""
    text = shorten(text, max_length)
    if not text.isascii():
        text = text.encode(errors="replace").decode()
    return text.replace("\0", "\N{REPLACEMENT CHARACTER}")
