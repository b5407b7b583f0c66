"""Size limits of payloads, results, names, labels, logs and batches."""

from __future__ import annotations

from typing import Final

from ..truncation import truncate

PAYLOAD_BYTES: Final = 256 * 1024
TARGET_BYTES: Final = 2 * PAYLOAD_BYTES
"""A target may contain a body as large as a payload."""
RESULT_BYTES: Final = 64 * 1024
ERROR_CHARACTERS: Final = 4_000
NAME_CHARACTERS: Final = 200
KEY_CHARACTERS: Final = 200
LABELS: Final = 32
LABEL_CHARACTERS: Final = 100
NOTE_CHARACTERS: Final = 500
SUMMARY_CHARACTERS: Final = 200
LOG_LINES: Final = 1_000
LOG_LINE_CHARACTERS: Final = 4_000
BULK_TASKS: Final = 1_000
BACKFILL_OCCURRENCES: Final = 10_000
CLAIM_SLICE: Final = 128


def shorten(text: str, most: int) -> str:
    """Return the text, or its first whole words and an ellipsis where it has more than `most` characters."""
    return truncate(text, most)
