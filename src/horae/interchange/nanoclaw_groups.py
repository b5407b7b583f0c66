"""NanoClaw group importer: reads the table `registered_groups`, or the JSON file of older versions."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ..errors import Refusal
from .database import Row
from .fields import Fields, flag, folder_of, needed_text, optional_mapping, optional_text
from .import_result import Group, Harvest, Unclear, excerpt
from .json_text import read_json
from .notes import told
from .refusals import refuse

MOST_GROUPS = 10_000
_MAIN_FOLDER = "main"


def read_groups(data: bytes | str) -> Harvest:
    """Read `data/registered_groups.json`: an object with one entry for each chat."""
    value = read_json(data)
    if not isinstance(value, dict) or not all(isinstance(each, dict) for each in value.values()):
        raise refuse("import_no_groups")
    groups, unclear = _read_each((jid, {**entry, "jid": jid}, _group_from_json) for jid, entry in value.items())
    return Harvest(rejected=unclear, groups=groups)


def rows_of_groups(rows: Iterable[Row]) -> tuple[tuple[Group, ...], tuple[Unclear, ...]]:
    return _read_each((row.get("jid"), row, _group_from_row) for row in rows)


def _read_each(
    entries: Iterable[tuple[object, Fields, Callable[[Fields], Group]]],
) -> tuple[tuple[Group, ...], tuple[Unclear, ...]]:
    groups: list[Group] = []
    unclear: list[Unclear] = []
    for number, (jid, fields, read) in enumerate(entries):
        if number == MOST_GROUPS:
            raise refuse("import_too_many", most=MOST_GROUPS, things="groups")
        try:
            groups.append(read(fields))
        except Refusal as refusal:
            unclear.append(Unclear(f"group {excerpt(str(jid))}", excerpt(str(fields.get("name"))), told(refusal)))
    return tuple(groups), tuple(unclear)


def _group_from_json(fields: Fields) -> Group:
    folder = folder_of("folder", fields.get("folder"))
    return Group(
        folder=folder,
        jid=needed_text(fields, "jid"),
        name=optional_text(fields, "name") or folder,
        trigger=optional_text(fields, "trigger"),
        requires_trigger=flag(fields, "requiresTrigger", default=True),
        is_main=flag(fields, "isMain", default=folder == _MAIN_FOLDER),
        added=optional_text(fields, "added_at"),
        config=optional_mapping(fields, "containerConfig") or None,
    )


def _group_from_row(row: Row) -> Group:
    """Read a table row; schema versions without `is_main` identify the main group by its folder."""
    renamed: dict[str, Any] = {
        "trigger": row.get("trigger_pattern"),
        "requiresTrigger": row.get("requires_trigger"),
        "isMain": row.get("is_main"),
        "containerConfig": _parse_config(optional_text(row, "container_config")),
    }
    return _group_from_json({**row, **renamed})


def _parse_config(text: str | None) -> Any:
    return None if text is None else read_json(text)
