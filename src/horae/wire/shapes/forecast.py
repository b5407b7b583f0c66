"""Shape of a forecast, the answer of `horae simulate`."""

from __future__ import annotations

from typing import Final

from .notation import BOOLEAN, INTEGER, NUMBER, OBJECT, TEXT, Schema, answer_of, choice, closed, list_of, nullable

_BUSIEST: Final = closed({"at": TEXT, "count": INTEGER, "tasks": list_of(closed({"name": TEXT, "count": INTEGER}))})

SHAPES: Final[dict[str, Schema]] = {
    "simulate": closed(
        {
            "start": TEXT,
            "end": TEXT,
            "until": TEXT,
            "complete": BOOLEAN,
            "zone": TEXT,
            "capacity": INTEGER,
            "runs": INTEGER,
            "skipped": INTEGER,
            "most_at_once": INTEGER,
            "busiest_minute": nullable(_BUSIEST),
            "busiest_second": nullable(_BUSIEST),
            "tasks": list_of(
                closed(
                    {
                        "name": TEXT,
                        "owner": TEXT,
                        "zone": TEXT,
                        "lane": nullable(TEXT),
                        "takes": NUMBER,
                        "planned": INTEGER,
                        "ran": INTEGER,
                        "skipped": OBJECT | {"additionalProperties": INTEGER},
                        "waiting": INTEGER,
                        "cut_short": INTEGER,
                        "first": nullable(TEXT),
                        "last": nullable(TEXT),
                        "upcoming": nullable(TEXT),
                        "lateness_max": NUMBER,
                        "lateness_p99": NUMBER,
                        "lane_wait_max": NUMBER,
                        "capacity_wait_max": NUMBER,
                        "overlaps": INTEGER,
                        "overlap_examples": list_of(
                            closed(
                                {
                                    "planned": TEXT,
                                    "going": TEXT,
                                    "became": choice("skipped", "queued", "replaced", "parallel"),
                                }
                            )
                        ),
                        "clock_changes": list_of(
                            closed(
                                {
                                    "at": TEXT,
                                    "kind": choice("gap", "fold"),
                                    "effect": TEXT,
                                    "sentence": closed({"en": TEXT, "zh": TEXT}),
                                }
                            )
                        ),
                    }
                )
            ),
            "lanes": list_of(
                closed(
                    {
                        "name": TEXT,
                        "limit": nullable(INTEGER),
                        "rate": nullable(TEXT),
                        "runs": INTEGER,
                        "peak_wanted": INTEGER,
                        "full_share": NUMBER,
                        "longest_wait": NUMBER,
                        "tasks": list_of(TEXT),
                    }
                )
            ),
            "first_starts": list_of(closed({"at": TEXT, "planned": TEXT, "task": TEXT})),
            "days": list_of(closed({"date": TEXT, "ran": INTEGER, "skipped": INTEGER})),
            "findings": list_of(
                closed(
                    {
                        "code": TEXT,
                        "severity": choice("info", "warning", "problem"),
                        "task": nullable(TEXT),
                        "lane": nullable(TEXT),
                        "sentence": closed(
                            {
                                "en": closed({"message": TEXT, "hint": TEXT}),
                                "zh": closed({"message": TEXT, "hint": TEXT}),
                            }
                        ),
                    }
                )
            ),
        }
    )
    | answer_of("simulate"),
}
