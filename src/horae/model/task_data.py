"""Data that a task keeps between its runs: JSON values by name, in one record that a run writes with its settlement."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from .message_refusals import refuse
from .record import Record, RecordWrite
from .text.field_checks import check_text

TASK_DATA_KIND: Final = "task_data"
TASK_DATA_BYTES: Final = 64 * 1024
"""Bytes of all values of a task together, with their names."""
NAME_CHARACTERS: Final = 100


def check_value_name(name: object) -> str:
    check_text("name", name, NAME_CHARACTERS)
    return str(name)


def encode_value(name: str, value: Any) -> str:
    """Return a value as JSON text; refuse one that has no JSON form."""
    try:
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        text.encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise refuse("bad_task_data", name=name) from error
    if "\\u0000" in text:
        raise refuse("bad_task_data", name=name)
    return text


def decode_values(record: Record | None) -> dict[str, str]:
    """Return the JSON text of each value of a task."""
    values: dict[str, Any] = {} if record is None else json.loads(record.body)
    return {name: json.dumps(value, ensure_ascii=False, separators=(",", ":")) for name, value in values.items()}


def task_data_write(task_id: str, owner: str, values: Mapping[str, str], version: int | None) -> RecordWrite:
    """Return the write of all values of a task, in place of the version that the run has read; None: there was none."""
    parts = [f"{json.dumps(name, ensure_ascii=False)}:{values[name]}" for name in sorted(values)]
    body = f"{{{','.join(parts)}}}"
    size = len(body.encode())
    if size > TASK_DATA_BYTES:
        raise refuse("task_data_too_large", size=size, most=TASK_DATA_BYTES)
    return RecordWrite(Record(TASK_DATA_KIND, task_id, owner, body), version)
