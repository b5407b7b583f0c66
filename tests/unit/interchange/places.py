"""Where the sample files are, and short ways to look at what came of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from horae.interchange import Found, Harvest

SAMPLES = Path(__file__).parents[2] / "data" / "interchange"


def sample(name: str) -> bytes:
    return (SAMPLES / name).read_bytes()


def spec_of(found: Found) -> dict[str, Any]:
    spec: dict[str, Any] = json.loads(found.request.target.spec)
    return spec


def payload_of(found: Found) -> dict[str, Any]:
    payload: dict[str, Any] = json.loads(found.request.payload)
    return payload


def codes_of(found: Found) -> list[str]:
    return [note.code for note in found.notes]


def by_source(harvest: Harvest) -> dict[str, Found]:
    return {found.source: found for found in harvest.tasks}


def reasons(harvest: Harvest) -> dict[str, str]:
    return {unclear.source: unclear.note.code for unclear in harvest.rejected}
