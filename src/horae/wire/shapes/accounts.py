"""Shapes of owners, agents, tokens, browser sessions, secrets and the audit trail."""

from __future__ import annotations

from typing import Final

from ...choices import LANGUAGES
from ...model.accounts.principal import Quotas, Role, Scope
from ...service.accounts.views import LISTS
from .notation import (
    BOOLEAN,
    INSTANT,
    INTEGER,
    NULL,
    OBJECT,
    TEXT,
    Schema,
    answer_of,
    choice,
    closed,
    extend,
    list_of,
    nullable,
    page_of,
    ref,
)

_INTERVALS: Final = {"shortest_interval", "longest_life"}
_QUOTAS: Final = {
    name: nullable(TEXT) | {"description": "ISO 8601; null is without a limit."}
    if name in _INTERVALS
    else nullable(INTEGER)
    for name in Quotas._fields
}
QUOTAS: Final = closed(_QUOTAS)
CHOSEN_QUOTAS: Final = closed(_QUOTAS, required=()) | {
    "description": "Quotas that were set explicitly; the others are the defaults of the role."
}

TOKEN: Final = closed(
    {
        "id": TEXT | {"pattern": "^tok_"},
        "owner": TEXT,
        "name": TEXT,
        "scopes": list_of(choice(*Scope)),
        "agent": nullable(TEXT),
        "created": INSTANT,
        "expires": nullable(INSTANT),
        "revoked": nullable(INSTANT),
        "version": INTEGER,
    }
)

MADE_TOKEN: Final = extend(
    TOKEN,
    {
        "text": nullable(TEXT)
        | {"description": "The token itself, shown only once; null if it is repeated or was written to a file."}
    },
)

SESSION: Final = closed(
    {
        "id": TEXT | {"pattern": "^ses_"},
        "owner": TEXT,
        "scopes": list_of(choice(*Scope)),
        "token": nullable(TEXT)
        | {"description": "The token that opened it, and ends it when it is revoked; null for other ways to sign in."},
        "client": TEXT | {"description": "The browser's own description of itself."},
        "created": INSTANT,
        "used": INSTANT | {"description": "The last use, to within five minutes."},
        "expires": INSTANT
        | {"description": "When it ends unless it is used before; never later than its absolute limit."},
    }
)
LINK: Final = closed(
    {"url": TEXT | {"description": "Signs one browser in, once."}, "expires": INSTANT},
)
CALENDAR_TOKEN: Final = closed({"id": TEXT | {"pattern": "^cal_"}, "owner": TEXT, "name": TEXT, "created": INSTANT})

SECRET: Final = closed(
    {
        "name": TEXT,
        "owner": TEXT,
        "updated": INSTANT,
        "agents": list_of(TEXT) | {"description": "The agents whose tasks may reference it."},
    }
)
VIEW: Final = closed(
    {
        "name": TEXT,
        "list": choice(*LISTS) | {"description": "The list that it filters."},
        "query": TEXT,
        "owner": TEXT,
    }
)

SHAPES: Final[dict[str, Schema]] = {
    "CalendarToken": CALENDAR_TOKEN,
    "CalendarTokenList": closed({"items": list_of(ref("CalendarToken")), "next_cursor": NULL}),
    "MadeCalendarToken": extend(
        CALENDAR_TOKEN, {"text": nullable(TEXT) | {"description": "Shown only once; null if the request is repeated."}}
    ),
    "owner": closed(
        {
            "name": TEXT,
            "role": choice(*Role),
            "zone": nullable(TEXT),
            "language": choice(*LANGUAGES, None) | {"description": "Of what it reads, where a request names none."},
            "quotas": QUOTAS,
            "chosen": CHOSEN_QUOTAS,
            "note": TEXT,
            "created": INSTANT,
            "revoked": nullable(INSTANT),
            "exhausted": nullable(TEXT)
            | {"description": "The day (UTC) on which it has used up `runs_per_day`, if that is today."},
            "storage_full": nullable(closed({"since": INSTANT, "bytes": INTEGER}))
            | {"description": "Since when it has used up `stored_bytes`, and how many bytes it stored then."},
            "version": INTEGER,
        }
    )
    | answer_of("owner show", "owner set", "owner revoke", "owner restore"),
    "owners": list_of(ref("owner")) | answer_of("owner ls"),
    "agent": closed(
        {
            "agent": TEXT,
            "tasks": INTEGER | {"minimum": 0, "description": "How many were paused, or go on."},
            "stopped": BOOLEAN,
        }
    )
    | answer_of("agent stop", "agent restart"),
    "agent-limits": closed(
        {
            "name": TEXT | {"description": "* stands for all agents of the owner."},
            "owner": TEXT,
            "quotas": QUOTAS,
            "chosen": CHOSEN_QUOTAS,
            "stopped": BOOLEAN | {"description": "Its owner stopped it."},
            "revoked": BOOLEAN | {"description": "Its last token was revoked, and its tasks stopped with it."},
        }
    )
    | answer_of("agent show", "agent set"),
    "agents": list_of(ref("agent-limits")) | answer_of("agent ls"),
    "token": TOKEN | answer_of("token revoke"),
    "tokens": list_of(ref("token")) | answer_of("token ls"),
    "token-made": extend(
        MADE_TOKEN, {"file": nullable(TEXT) | {"description": "Where the token was written, with --output."}}
    )
    | answer_of("token make"),
    "session": SESSION | answer_of("session rm"),
    "sessions": list_of(ref("session")) | answer_of("session ls"),
    "sign-in-link": extend(LINK, {"opened": BOOLEAN | {"description": "Whether a browser was started with it."}})
    | answer_of("open"),
    "secret": SECRET | answer_of("secret set", "secret grant", "secret revoke"),
    "secrets": list_of(SECRET) | answer_of("secret ls"),
    "view": VIEW | answer_of("view add"),
    "views": list_of(ref("view")) | answer_of("view ls"),
    "secret-removed": closed({"removed": TEXT}) | answer_of("secret rm"),
    "secret-rotated": closed({"resealed": INTEGER, "key_file": TEXT}) | answer_of("secret rotate"),
    "audit-row": closed(
        {
            "number": INTEGER,
            "at": INSTANT,
            "action": TEXT,
            "subject": TEXT,
            "owner": TEXT,
            "by": TEXT,
            "actor": TEXT,
            "via": TEXT,
            "request": TEXT,
            "agent": nullable(TEXT),
            "detail": OBJECT,
            "hash": TEXT,
        }
    )
    | {"title": "One row of the audit trail"},
    "audit": list_of(ref("audit-row")) | answer_of("audit ls"),
    "audit-verify": closed(
        {
            "ok": BOOLEAN,
            "rows": INTEGER,
            "open_rows": INTEGER,
            "broken": nullable(INTEGER) | {"description": "The first row that is not what it was."},
            "head": TEXT,
        }
    )
    | answer_of("audit verify"),
    "Whoami": closed(
        {
            "owner": TEXT,
            "admin": BOOLEAN,
            "scopes": list_of(TEXT),
            "agent": nullable(TEXT),
            "zone": TEXT,
            "owner_zone": nullable(TEXT),
            "language": choice(*LANGUAGES, None),
            "quotas": QUOTAS,
            "token": TEXT,
            "version": TEXT,
        }
    ),
    "OwnerPage": page_of("owner"),
    "AgentPage": page_of("agent-limits"),
    "ReviewPage": page_of("Review"),
    "TokenPage": page_of("token"),
    "MadeToken": MADE_TOKEN,
    "SessionPage": page_of("session"),
    "SignInLink": LINK,
    "Stopped": closed({"agent": TEXT, "tasks": INTEGER, "dry_run": BOOLEAN}),
    "SecretPage": page_of("secret"),
    "ViewList": closed({"items": list_of(ref("view")), "next_cursor": NULL}),
    "AuditPage": page_of("audit-row"),
}
