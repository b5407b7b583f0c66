"""Field names of the JSON output of each command, for checking `--fields` before the command takes effect."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from .messages.refusals import refuse

_FIELDS_BY_SCHEMA: Final[dict[str, str]] = {
    "agent": "agent tasks stopped",
    "agent-limits": "name owner quotas chosen stopped revoked",
    "apply": "dry_run applied new changed same gone tasks lanes warnings",
    "audit-verify": "ok rows open_rows broken head",
    "backfill": "task count dry_run",
    "bulk": "matched done refused undo",
    "completion": "shell script",
    "config": "setting value origin meaning",
    "context-used": "current",
    "contexts": "name server owner current",
    "db-backup": "path bytes size tasks",
    "db-check": "path store doubts",
    "db-path": "path store exists",
    "db-restore": "path backup kept",
    "db-upgrade": "path store before after",
    "destination": (
        "id name owner url service zone quiet reminders language failing_since blocked last created version"
    ),
    "plan": (
        "plan_id request_id station caller description plan_type plan_value plan_repet real_repet no_keep last_state "
        "plan_time skip_set skip_num exec_time name plan_state state counter sentence task_id owner"
    ),
    "plan-import": "name task_id code error hint",
    "plan-message": (
        "plan_id request_id station caller description plan_type plan_value plan_repet real_repet no_keep last_state "
        "plan_time skip_set skip_num exec_time name plan_state state counter sentence task_id owner messages frames results "
        "participants"
    ),
    "notice": ("id destination owner on task_id task run_id text at state created next_attempt attempts"),
    "chat-delivery": (
        "id owner chat text state origin created next_attempt ended retried attempts parts repeated_parts uncertain problem"
    ),
    "delivery": "id webhook owner message type task_id state created next_attempt attempts",
    "doctor": "errors warnings checks server_checks",
    "edited": "task changed removed added dry_run warnings",
    "exported": "path tasks runs",
    "failure-group": "key pattern count newest task_ids run_ids",
    "fires": "text means schedule zone after due_at_creation fires warnings",
    "budget": "folder limits used reserved left day until zone",
    "forgotten": "removed",
    "group": (
        "folder owner chat name trigger requires_trigger main zone node timeout idle max_run memory_megabytes "
        "processes processors mounts stopped created version"
    ),
    "group-status": (
        "folder owner chat name trigger requires_trigger main zone node timeout idle max_run memory_megabytes "
        "processes processors mounts stopped created version messages waiting live last_turn warnings"
    ),
    "help": "topic text",
    "import": "dry_run new changed same tasks unclear notes over groups chats runs",
    "lane": "name limit taken rate next_start_at",
    "lane-detail": "name limit taken rate next_start_at waiting oldest idle runs others queue more",
    "lane-status": "name limit taken rate next_start_at waiting oldest idle",
    "login": "name server owner admin scopes agent",
    "cursor": "reader number moved run_id",
    "messages": "stream owner after last messages gaps next_after",
    "sent": "stream numbers",
    "stream": "name owner first last stored bytes keep keep_for_seconds oldest created",
    "stream-state": "name owner first last stored bytes keep keep_for_seconds oldest created cursors gaps",
    "move": "from to owner dry_run resumed moved_before given_up map_line parts key_file key_file_wanted",
    "nodes": (
        "id home version host joined renewed load capacity clock_offset_ms draining labels renewed_ago_ms state "
        "clock_step functions"
    ),
    "nodes-drain": "id host draining",
    "overview": "at tasks last_24h outage settlement_delay waiting running next needs_you needs_you_counts lanes nodes alive clock_steps",
    "owner": "name role zone language quotas chosen note created revoked exhausted storage_full version",
    "planned-run": "task_id task owner due due_local zone planned origin attempt estimate",
    "queued": "run_id task_id task",
    "receipt": "task fires warnings dry_run change removed added declared",
    "retry-report": "retried refused left dry_run",
    "run": (
        "id task_id task owner state reason because origin root parents planned planned_local zone due attempt started "
        "ended lateness_ms duration_ms first last count node trace_id lanes asked_to_end input result error idle usage "
        "handled"
    ),
    "run-chain": "root links cut",
    "secret": "name owner updated agents",
    "session": "id owner scopes token client created used expires",
    "sign-in-link": "url expires opened",
    "secret-rotated": "resealed key_file",
    "show": "task fires fires_if_resumed runs tree",
    "simulate": (
        "start end until complete zone capacity runs skipped most_at_once busiest_minute busiest_second tasks "
        "lanes first_starts days findings"
    ),
    "status": "ok node_up store version problems overview",
    "task": (
        "id name when zone target payload key lane labels policies owner state means version successors created next "
        "next_local counted failures skips_left pause reason ended last_result running waiting_for last "
        "missed_24h"
    ),
    "token": "id owner name scopes agent created expires revoked version",
    "token-made": "id owner name scopes agent created expires revoked version text file",
    "unregistered-chat": "chat name last_activity direct folder command",
    "route": "type url deployments owners",
    "up": (
        "type version ready_ms restarts node store path server loop zone tasks scheduler outage task text "
        "lateness_ms at task_id run_id detail error attempt number pid code lived pause url docs token_file "
        "first_start console sign_in_link socket because"
    ),
    "station": "name owner kind keys nodes created version",
    "station-joined": "station worker",
    "station-key": "key station",
    "version": "version",
    "view": "name list query owner",
    "webhook": (
        "id owner url types note enabled disabled disabled_at failing_since blocked both_until after created version"
    ),
    "webhook-made": (
        "id owner url types note enabled disabled disabled_at failing_since blocked both_until after created "
        "version secret"
    ),
    "why": "task at verdict sentence reason outage lane runs fixes",
    "audit-row": "number at action subject owner by actor via request agent detail hash",
    "line": "number run_id at level text",
    "event": "number type at owner task_id run_id detail",
    "removed": "id name removed",
    "service-install": "unit variables changed next",
    "service-uninstall": "removed variables",
    "service-status": "unit active status",
}
"""Top-level field names by schema: each name is a file in `docs/schemas`, except those of `service`."""

_SCHEMA_BY_COMMAND: Final[dict[str, str]] = {
    "add": "receipt",
    "agent ls": "agent-limits",
    "agent restart": "agent",
    "agent set": "agent-limits",
    "agent show": "agent-limits",
    "agent stop": "agent",
    "apply": "apply",
    "approve": "task",
    "audit ls": "audit-row",
    "audit verify": "audit-verify",
    "backfill": "backfill",
    "cancel": "task",
    "completion": "completion",
    "config": "config",
    "context ls": "contexts",
    "context rm": "forgotten",
    "context use": "context-used",
    "db backup": "db-backup",
    "db check": "db-check",
    "db path": "db-path",
    "db restore": "db-restore",
    "db upgrade": "db-upgrade",
    "deliveries discard": "forgotten",
    "deliveries ls": "chat-delivery",
    "deliveries retry": "chat-delivery",
    "deliveries show": "chat-delivery",
    "doctor": "doctor",
    "edit": "edited",
    "events": "event",
    "explain": "fires",
    "export": "exported",
    "failures": "failure-group",
    "help": "help",
    "import": "import",
    "lane": "lane",
    "lanes": "lane-status",
    "login": "login",
    "logs": "line",
    "ls": "task",
    "move": "move",
    "plan add": "plan-message",
    "plan close": "plan-message",
    "plan import": "plan-import",
    "plan list": "plan",
    "plan message": "plan-message",
    "plan pause": "plan-message",
    "plan remove": "forgotten",
    "plan reset": "plan-message",
    "plan skip": "plan-message",
    "next": "fires",
    "nodes": "nodes",
    "messages ls": "stream",
    "messages read": "messages",
    "messages reader": "cursor",
    "messages rm": "forgotten",
    "messages send": "sent",
    "messages set": "stream",
    "messages show": "stream-state",
    "group add": "group-status",
    "group budget": "budget",
    "group ls": "group",
    "group rm": "forgotten",
    "group set": "group-status",
    "group show": "group-status",
    "group start": "group",
    "group stop": "group",
    "group unregistered": "unregistered-chat",
    "notify add": "destination",
    "notify ls": "destination",
    "notify notices": "notice",
    "notify rm": "forgotten",
    "notify set": "destination",
    "notify test": "notice",
    "open": "sign-in-link",
    "overview": "overview",
    "owner add": "owner",
    "owner ls": "owner",
    "owner restore": "owner",
    "owner revoke": "owner",
    "owner set": "owner",
    "owner show": "owner",
    "pause": "task",
    "reject": "task",
    "resume": "task",
    "retry": "queued",
    "rm": "removed",
    "run": "queued",
    "runs": "run",
    "secret grant": "secret",
    "secret ls": "secret",
    "secret revoke": "secret",
    "secret rm": "forgotten",
    "secret rotate": "secret-rotated",
    "secret set": "secret",
    "service install": "service-install",
    "service status": "service-status",
    "service uninstall": "service-uninstall",
    "session ls": "session",
    "session rm": "session",
    "show": "show",
    "simulate": "simulate",
    "skip": "task",
    "status": "status",
    "stop": "run",
    "token ls": "token",
    "station allow": "station",
    "station key": "station-key",
    "station ls": "station",
    "station rm": "forgotten",
    "station run": "station-joined",
    "token make": "token-made",
    "token revoke": "token",
    "undo": "bulk",
    "route": "route",
    "up": "up",
    "version": "version",
    "view add": "view",
    "view ls": "view",
    "view rm": "forgotten",
    "watch": "event",
    "webhook add": "webhook-made",
    "webhook deliveries": "delivery",
    "webhook ls": "webhook",
    "webhook redeliver": "delivery",
    "webhook rm": "forgotten",
    "webhook rotate": "webhook-made",
    "webhook show": "webhook",
    "webhook test": "delivery",
    "why": "why",
    "worker": "up",
}
"""Schema of the output by command words. `mcp` is missing: it speaks its own protocol."""


def check_fields(command: str, fields: tuple[str, ...], options: Mapping[str, Any]) -> None:
    """Refuse a name in `--fields` that the output of this command with these options does not have."""
    allowed = answer_fields(command, options)
    for name in fields if allowed else ():
        if name not in allowed:
            raise refuse("unknown_output_field", name=name, allowed=", ".join(allowed))


def answer_fields(command: str, options: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the field names of the output; empty where the output is not JSON with fields."""
    if command == "export" and options["path"] is None:
        return ()
    names: dict[str, None] = {}
    for schema in _schemas(command, options):
        names |= dict.fromkeys(_FIELDS_BY_SCHEMA[schema].split())
    if command == "config" and not options["origin"]:
        del names["origin"]
    return tuple(names)


def _schemas(command: str, options: Mapping[str, Any]) -> tuple[str, ...]:
    """Usually one; several for a stream of different lines."""
    if command in ("run", "pause", "resume", "cancel", "rm") and options["task"] is None:
        return ("bulk",)
    if command == "undo" and not options["name"].startswith("opn_"):
        return ("task",)
    if command == "run" and options["follow"]:
        return ("line", "run")
    if command == "run" and options["wait"]:
        return ("run",)
    if command == "show" and options["task"].startswith("run_"):
        return ("run-chain",) if options["tree"] else ("run",)
    if command == "next" and options["everything"]:
        return ("planned-run",)
    if command == "failures" and options["retry"] is not None:
        return ("retry-report",)
    if command == "lane" and options["limit"] is None:
        return ("lane-detail",)
    if command == "nodes" and options["action"] == "drain":
        return ("nodes-drain",)
    return (_SCHEMA_BY_COMMAND[command],) if command in _SCHEMA_BY_COMMAND else ()
