"""NanoClaw group importer: reads the table `registered_groups`, or the JSON file of older versions."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ..errors import Refusal
from .database import Row
from .fields import Fields, read_flag, read_folder, read_optional_mapping, read_optional_text, read_required_text
from .import_result import AgentGroup, ImportResult, RejectedItem, make_excerpt
from .json_text import read_json
from .notes import refusal_note
from .refusals import refuse

MAX_GROUPS = 10_000
_MAIN_FOLDER = "main"


def read_groups(data: bytes | str) -> ImportResult:
    """Read `data/registered_groups.json`: an object with one entry for each chat."""
    value = read_json(data)
    if not isinstance(value, dict) or not all(isinstance(each, dict) for each in value.values()):
        raise refuse("import_no_groups")
    groups, unclear = _read_each((jid, {**entry, "jid": jid}, _group_from_json) for jid, entry in value.items())
    return ImportResult(rejected=unclear, groups=groups)


def read_group_rows(rows: Iterable[Row]) -> tuple[tuple[AgentGroup, ...], tuple[RejectedItem, ...]]:
    return _read_each((row.get("jid"), row, _group_from_row) for row in rows)


def _read_each(
    entries: Iterable[tuple[object, Fields, Callable[[Fields], AgentGroup]]],
) -> tuple[tuple[AgentGroup, ...], tuple[RejectedItem, ...]]:
    groups: list[AgentGroup] = []
    unclear: list[RejectedItem] = []
    for number, (jid, fields, read) in enumerate(entries):
        if number == MAX_GROUPS:
            raise refuse("import_too_many", most=MAX_GROUPS, things="groups")
        try:
            groups.append(read(fields))
        except Refusal as refusal:
            unclear.append(
                RejectedItem(
                    f"group {make_excerpt(str(jid))}", make_excerpt(str(fields.get("name"))), refusal_note(refusal)
                )
            )
    return tuple(groups), tuple(unclear)


def _group_from_json(fields: Fields) -> AgentGroup:
    folder = read_folder("folder", fields.get("folder"))
    return AgentGroup(
        folder=folder,
        jid=read_required_text(fields, "jid"),
        name=read_optional_text(fields, "name") or folder,
        trigger=read_optional_text(fields, "trigger"),
        requires_trigger=read_flag(fields, "requiresTrigger", default=True),
        is_main=read_flag(fields, "isMain", default=folder == _MAIN_FOLDER),
        added=read_optional_text(fields, "added_at"),
        config=read_optional_mapping(fields, "containerConfig") or None,
    )


def _group_from_row(row: Row) -> AgentGroup:
    """Read a table row; schema versions without `is_main` identify the main group by its folder."""
    renamed: dict[str, Any] = {
        "trigger": row.get("trigger_pattern"),
        "requiresTrigger": row.get("requires_trigger"),
        "isMain": row.get("is_main"),
        "containerConfig": _parse_config(read_optional_text(row, "container_config")),
    }
    return _group_from_json({**row, **renamed})


def _parse_config(text: str | None) -> Any:
    return None if text is None else read_json(text)
