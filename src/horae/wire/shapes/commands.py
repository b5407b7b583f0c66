"""Shapes of answers that only the command line gives."""

from __future__ import annotations

from typing import Final

from ...model.stations.station import StationKind
from .notation import (
    ANY,
    BOOLEAN,
    INSTANT,
    INTEGER,
    NUMBER,
    OBJECT,
    TEXT,
    Schema,
    answer_of,
    choice,
    closed,
    list_of,
    nullable,
    ref,
)
from .overview import CHECK, TASK_COUNTS
from .plans import PLAN, PLAN_IMPORT, PLAN_MESSAGE
from .tasks import WARNING

POSSIBLE_LOSS: Final = choice("nothing", "power_failure", "failover", "last_second", "since_snapshot", "unknown")

_STATION: Final = closed(
    {
        "name": TEXT,
        "owner": TEXT,
        "kind": choice(*StationKind),
        "keys": list_of(closed({"key": TEXT, "worker": nullable(TEXT)})),
        "nodes": list_of(
            closed(
                {
                    "node": TEXT,
                    "waiting": INTEGER | {"description": "Calls that wait for a free worker."},
                    "at": INSTANT,
                    "workers": list_of(
                        closed(
                            {
                                "name": TEXT,
                                "slots": INTEGER,
                                "calls": INTEGER | {"description": "Calls that it executes now."},
                                "answered": INTEGER,
                                "joined": INSTANT,
                                "seen": INSTANT,
                                "last_status": nullable(TEXT),
                                "last_answer": nullable(INSTANT),
                            }
                        )
                    ),
                }
            )
        ),
        "created": INSTANT,
        "version": INTEGER,
    }
)

SHAPES: Final[dict[str, Schema]] = {
    "apply": closed(
        {
            "dry_run": BOOLEAN,
            "applied": BOOLEAN,
            "new": INTEGER,
            "changed": INTEGER,
            "same": INTEGER,
            "gone": INTEGER,
            "tasks": list_of(
                closed(
                    {
                        "change": choice("new", "changed", "same", "gone"),
                        "name": TEXT,
                        "key": nullable(TEXT),
                        "owner": TEXT,
                        "fields": OBJECT | {"additionalProperties": closed({"before": ANY, "after": ANY})},
                        "fires": closed({"removed": INTEGER, "added": INTEGER}),
                        "warnings": list_of(WARNING),
                    }
                )
            ),
            "lanes": list_of(
                closed(
                    {
                        "name": TEXT,
                        "before": nullable(INTEGER),
                        "after": nullable(INTEGER),
                        "rate_before": nullable(TEXT),
                        "rate_after": nullable(TEXT),
                    }
                )
            ),
            "warnings": list_of(WARNING),
        }
    )
    | answer_of("apply"),
    "import": closed(
        {
            "dry_run": BOOLEAN,
            "new": INTEGER,
            "changed": INTEGER,
            "same": INTEGER,
            "tasks": list_of(
                closed(
                    {
                        "change": choice("new", "changed", "same"),
                        "id": nullable(TEXT),
                        "name": TEXT,
                        "key": nullable(TEXT),
                        "owner": TEXT,
                        "paused": BOOLEAN,
                        "source": TEXT,
                    }
                )
            ),
            "unclear": list_of(closed({"source": TEXT, "text": TEXT, "code": TEXT, "because": TEXT})),
            "notes": list_of(closed({"source": TEXT, "note": TEXT})),
            "over": INTEGER,
            "groups": INTEGER,
            "chats": list_of(
                closed(
                    {
                        "folder": TEXT,
                        "chat": TEXT,
                        "change": choice("new", "same"),
                        "messages": INTEGER,
                        "waiting": INTEGER,
                        "session": BOOLEAN,
                        "files": closed({"copied": INTEGER, "known": INTEGER, "left": INTEGER, "over": INTEGER}),
                    }
                )
            ),
            "runs": closed({"taken": INTEGER, "left": INTEGER, "there": INTEGER}),
        }
    )
    | answer_of("import"),
    "exported": closed({"path": TEXT, "tasks": INTEGER, "runs": INTEGER}) | answer_of("export --out"),
    "move": closed(
        {
            "from": TEXT,
            "to": TEXT,
            "owner": nullable(TEXT),
            "dry_run": BOOLEAN,
            "resumed": BOOLEAN,
            "moved_before": BOOLEAN,
            "given_up": BOOLEAN,
            "map_line": nullable(TEXT),
            "parts": list_of(
                closed(
                    {
                        "part": choice(
                            "marks",
                            "metadata",
                            "records",
                            "lanes",
                            "blocked_owners",
                            "nodes",
                            "counters",
                            "tasks",
                            "chains",
                            "runs",
                            "lines",
                            "events",
                            "streams",
                            "messages",
                        ),
                        "number": INTEGER,
                        "digest": nullable(TEXT),
                    }
                )
            ),
            "key_file": nullable(TEXT),
            "key_file_wanted": nullable(TEXT),
        }
    )
    | answer_of("move"),
    "route": closed(
        {
            "type": choice("router.ready", "router.map"),
            "url": nullable(TEXT),
            "deployments": list_of(closed({"name": TEXT, "url": TEXT})),
            "owners": list_of(closed({"owner": TEXT, "deployment": TEXT})),
        }
    )
    | answer_of("route"),
    "up": {
        "oneOf": [
            closed(
                {
                    "type": {"const": "node.ready"},
                    "version": TEXT,
                    "ready_ms": INTEGER,
                    "restarts": INTEGER,
                    "node": nullable(TEXT),
                    "store": TEXT,
                    "path": nullable(TEXT),
                    "server": nullable(
                        closed(
                            {
                                "kind": TEXT,
                                "version": TEXT,
                                "place": TEXT,
                                "database": TEXT,
                                "schema": TEXT,
                                "prefix": TEXT,
                                "schema_version": INTEGER,
                                "possible_loss": POSSIBLE_LOSS,
                                "clock_offset": NUMBER,
                            },
                            optional=("schema", "prefix"),
                        )
                    ),
                    "loop": TEXT,
                    "zone": TEXT,
                    "tasks": TASK_COUNTS,
                    "scheduler": closed(
                        {
                            "wake": choice("precise", "poll"),
                            "type": TEXT | {"enum": ["priority_queue", "polling"]},
                            "mechanism": TEXT | {"enum": ["timer", "interval"]},
                            "precision_ms": INTEGER,
                            "status": TEXT | {"enum": ["running"]},
                            "queued": INTEGER,
                            "next": nullable(TEXT),
                            "next_local": nullable(TEXT),
                            "next_task": nullable(TEXT),
                        }
                    ),
                    "outage": nullable(
                        closed(
                            {
                                "since": TEXT,
                                "until": TEXT,
                                "clean": BOOLEAN,
                                "due": INTEGER,
                                "made_up": INTEGER,
                                "merged": INTEGER,
                                "skipped": INTEGER,
                                "waiting": INTEGER,
                            }
                        )
                    ),
                }
            ),
            closed(
                {
                    "type": {"const": "task.said"},
                    "task": TEXT,
                    "text": TEXT,
                    "lateness_ms": NUMBER,
                    "at": TEXT,
                    "task_id": nullable(TEXT),
                }
            ),
            closed(
                {
                    "type": choice(
                        "run.failed",
                        "run.timed_out",
                        "run.lost",
                        "run.retrying",
                        "run.succeeded",
                        "run.skipped",
                        "task.failed",
                    ),
                    "at": TEXT,
                    "task": TEXT,
                    "task_id": TEXT,
                    "run_id": nullable(TEXT),
                    "detail": nullable(TEXT),
                    "error": nullable(TEXT),
                    "attempt": nullable(INTEGER),
                    "lateness_ms": nullable(NUMBER),
                }
            ),
            closed({"type": {"const": "tasks.stranded"}, "at": TEXT, "number": INTEGER}),
            closed(
                {
                    "type": choice("worker.died", "api.died"),
                    "pid": INTEGER,
                    "code": INTEGER,
                    "lived": NUMBER,
                    "pause": NUMBER,
                }
            ),
            closed({"type": choice("node.drained", "node.stopping", "node.stopped")}),
            closed(
                {
                    "type": {"const": "api.ready"},
                    "url": TEXT,
                    "docs": TEXT,
                    "token_file": nullable(TEXT),
                    "first_start": BOOLEAN,
                    "console": nullable(TEXT) | {"description": "The web console; null where it is not installed."},
                    "sign_in_link": nullable(TEXT)
                    | {"description": "Signs one browser in, once; null where the output may be kept in a log."},
                    "socket": nullable(TEXT) | {"description": "The path of its unix socket."},
                }
            ),
            closed({"type": {"const": "api.off"}, "because": TEXT}),
        ]
    }
    | {"title": "One line of the output of a node"},
    "doctor": closed(
        {
            "errors": INTEGER,
            "warnings": INTEGER,
            "checks": list_of(CHECK),
            "server_checks": nullable(list_of(CHECK))
            | {"description": "The checks that the server made of itself, for admins; null without a server."},
        }
    )
    | answer_of("doctor"),
    "config": list_of(closed({"setting": TEXT, "value": ANY, "origin": TEXT, "meaning": TEXT}, optional=("origin",)))
    | answer_of("config"),
    "completion": closed({"shell": choice("bash", "zsh", "fish", "powershell"), "script": TEXT})
    | answer_of("completion"),
    "help": closed({"topic": nullable(TEXT), "text": TEXT}) | answer_of("help"),
    "version": closed({"version": TEXT}) | answer_of("version"),
    "login": closed(
        {
            "name": TEXT,
            "server": TEXT,
            "owner": TEXT,
            "admin": BOOLEAN,
            "scopes": list_of(TEXT),
            "agent": nullable(TEXT),
        }
    )
    | answer_of("login"),
    "contexts": list_of(closed({"name": TEXT, "server": TEXT, "owner": TEXT, "current": BOOLEAN}))
    | answer_of("context ls"),
    "context-used": closed({"current": nullable(TEXT)}) | answer_of("context use"),
    "forgotten": closed({"removed": TEXT})
    | answer_of(
        "context rm",
        "deliveries discard",
        "group rm",
        "messages rm",
        "notify rm",
        "plan remove",
        "station rm",
        "webhook rm",
        "view rm",
    ),
    "station": _STATION | answer_of("station allow"),
    "stations": list_of(ref("station")) | answer_of("station ls"),
    "station-key": closed({"key": TEXT, "station": nullable(TEXT)}) | answer_of("station key"),
    "station-joined": closed({"station": TEXT, "worker": TEXT}) | answer_of("station run"),
    "plan": list_of(closed(PLAN)) | answer_of("plan list"),
    "plan-message": closed(PLAN_MESSAGE)
    | answer_of("plan add", "plan close", "plan message", "plan pause", "plan reset", "plan skip"),
    "plan-import": list_of(closed(PLAN_IMPORT)) | answer_of("plan import"),
    "db-path": closed({"path": nullable(TEXT), "store": nullable(TEXT), "exists": nullable(BOOLEAN)})
    | answer_of("db path"),
    "db-backup": closed({"path": TEXT, "bytes": INTEGER, "size": TEXT, "tasks": INTEGER}) | answer_of("db backup"),
    "db-restore": closed({"path": TEXT, "backup": TEXT, "kept": nullable(TEXT)}) | answer_of("db restore"),
    "db-check": closed({"path": nullable(TEXT), "store": nullable(TEXT), "doubts": list_of(TEXT)})
    | answer_of("db check"),
    "db-upgrade": closed({"path": nullable(TEXT), "store": nullable(TEXT), "before": INTEGER, "after": INTEGER})
    | answer_of("db upgrade"),
    "problem": closed(
        {
            "type": TEXT,
            "title": TEXT,
            "status": INTEGER,
            "code": TEXT | {"pattern": "^[a-z0-9_]+$"},
            "detail": TEXT,
            "hint": TEXT,
            "position": nullable(INTEGER),
            "exit": choice(1, 2, 3, 4, 5, 6, 7, 8, 9, 130),
        }
    )
    | {"title": "What a command that failed says on standard error (RFC 9457)"},
}
