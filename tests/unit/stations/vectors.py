"""Test vectors of the station wire format, as other languages read them: `tests/data/station_vectors.json`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

PATH: Final = Path(__file__).parents[2] / "data" / "station_vectors.json"


def load_vectors() -> dict[str, list[dict[str, Any]]]:
    loaded: dict[str, list[dict[str, Any]]] = json.loads(PATH.read_text(encoding="utf-8"))
    return loaded


def parts_of(vector: dict[str, Any]) -> list[bytes]:
    return [bytes.fromhex(part) for part in vector["parts"]]
