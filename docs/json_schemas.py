"""JSON Schema documents in docs/schemas, generated from the declarations in `horae.wire.shapes`."""
# ruff: noqa: INP001 - this folder holds pages, and the scripts that write some of them

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

from horae.wire.schemas import json_schemas

FOLDER: Final = Path(__file__).with_name("schemas")


def schema_files() -> dict[str, str]:
    """Return the text of each file by its name."""
    return {
        f"{name}.json": json.dumps(schema, indent=2, ensure_ascii=False) + "\n"
        for name, schema in json_schemas().items()
    }


def write_schemas() -> None:
    """Write every file, and remove those without a declaration."""
    files = schema_files()
    for path in FOLDER.glob("*.json"):
        if path.name not in files:
            path.unlink()
    for name, text in files.items():
        (FOLDER / name).write_text(text, encoding="utf-8")
