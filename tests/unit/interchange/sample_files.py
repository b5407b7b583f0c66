"""Paths of the sample files and helpers to read the imported tasks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from horae.interchange import ImportedTask, ImportResult

SAMPLES = Path(__file__).parents[2] / "data" / "interchange"


def sample(name: str) -> bytes:
    return (SAMPLES / name).read_bytes()


def spec_of(found: ImportedTask) -> dict[str, Any]:
    spec: dict[str, Any] = json.loads(found.request.target.spec)
    return spec


def payload_of(found: ImportedTask) -> dict[str, Any]:
    payload: dict[str, Any] = json.loads(found.request.payload)
    return payload


def codes_of(found: ImportedTask) -> list[str]:
    return [note.code for note in found.notes]


def by_source(imported: ImportResult) -> dict[str, ImportedTask]:
    return {found.source: found for found in imported.tasks}


def reasons(imported: ImportResult) -> dict[str, str]:
    return {unclear.source: unclear.note.code for unclear in imported.rejected}
