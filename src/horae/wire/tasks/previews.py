"""Schedule previews to JSON (meaning, next fires, warnings), and preview questions from JSON."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

from ...choices import Language
from ...model.refusals import refuse
from ...schedule import to_json
from ...schedule.any_of import parts_of
from ...schedule.describe import describe_schedule
from ...schedule.preview import Fire
from ...schedule.warnings import ScheduleWarning
from ...service.tasks.advisories import Advisory
from ...service.tasks.default_zone import AssumedZone
from ...service.tasks.previews import Preview, PreviewRequest
from ..fields import check_fields, text_or_none
from ..instants import utc

QUESTION_FIELDS: Final = ("when", "zone", "after", "until", "number", "gap", "fold")
_GAPS: Final = ("next", "shift", "skip")
_FOLDS: Final = ("first", "last", "both")


def preview_json(preview: Preview, language: Language = "en") -> dict[str, Any]:
    schedule, after = preview.schedule, preview.after
    is_passed = any(each.code == "in_the_past" for each in preview.warnings)
    return {
        "text": preview.text,
        "means": describe_schedule(schedule, language),
        "schedule": to_json(schedule),
        "zone": schedule.zone,
        "after": utc(after),
        "due_at_creation": is_passed or any(part.kind == "now" for part in parts_of(schedule)),
        "fires": [
            {**each, "in_seconds": (fire.utc - after).total_seconds()}
            for each, fire in zip(fires_json(preview.fires), preview.fires, strict=True)
        ],
        "warnings": warnings_json(preview.warnings, language),
    }


def fires_json(fires: Sequence[Fire]) -> list[dict[str, Any]]:
    return [{"at": utc(fire.utc), "at_local": _local_time(fire.local)} for fire in fires]


def _local_time(at: datetime) -> str:
    return at.isoformat(timespec="microseconds" if at.microsecond % 1000 else "milliseconds")


def warnings_json(warnings: Sequence[ScheduleWarning | Advisory], language: Language) -> list[dict[str, str]]:
    return [{"code": each.code, "message": each.in_language(language)} for each in warnings]


def read_question(value: object, assumed_zone: AssumedZone) -> PreviewRequest:
    fields = check_fields("question", value, QUESTION_FIELDS)
    if fields.get("when") is None:
        raise refuse("missing_field", name="when")
    for name, allowed in (("gap", _GAPS), ("fold", _FOLDS)):
        if fields.get(name) is not None and fields[name] not in allowed:
            raise refuse("bad_choice", name=name, value=fields[name], allowed=", ".join(allowed))
    return PreviewRequest(
        fields["when"],
        text_or_none("zone", fields.get("zone")),
        assumed_zone,
        text_or_none("after", fields.get("after")),
        text_or_none("until", fields.get("until")),
        fields.get("number", 5),
        fields.get("gap"),
        fields.get("fold"),
    )
