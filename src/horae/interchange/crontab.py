"""Crontab importer: turns each line of a user's crontab, or of /etc/crontab (with its user column), into a task request."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import partial
from hashlib import blake2b
from shlex import quote
from typing import Final, NamedTuple

from ..model.accounts.protected_variables import is_reserved
from ..model.policy import MAX_TIMEOUT
from ..schedule import Cron
from ..schedule.compat import Note
from ..schedule.zones import find_zone
from ..service.tasks.task_request import Options, TaskRequest
from .crontab_lines import CrontabLine, Variables, parse_lines
from .files import decode_text
from .import_result import (
    ImportedTask,
    ImportOutcome,
    ImportResult,
    RejectedItem,
    collect_outcomes,
    make_excerpt,
    make_title,
    read_item,
    target,
)
from .notes import note
from .shell import SHELLS, split_comment, split_input, split_plain_command

SYSTEM: Final = "crontab"
_DEFAULT_SHELL: Final = "/bin/sh"
_NO_GIVE_UP: Final = 1_000_000
# cron's own policy: overlapping runs, no catch-up of missed runs, no retries.
_OPTIONS: Final = Options(missed="skip", overlap="parallel", retries=0, give_up_after=_NO_GIVE_UP, timeout=MAX_TIMEOUT)
_CRON_ONLY_VARIABLES: Final = frozenset({"MAILTO", "MAILFROM", "CRON_TZ"})
_SECRET_NAME: Final = re.compile(r"PASS|SECRET|TOKEN|CREDENTIAL|API_?KEY|PRIVATE_?KEY", re.IGNORECASE)


class _ParsedCommand(NamedTuple):
    """A crontab command in parts: `shell` runs its text (None: no shell needed); `lost` names reserved variables it loses."""

    argv: list[str]
    command: str
    comment: str | None
    stdin: str | None
    shell: str | None
    lost: tuple[str, ...] = ()


def read(data: bytes | str, *, zone: str, user: str, system: bool = False, owner: str | None = None) -> ImportResult:
    """Parse a crontab; `zone` is the machine's zone and `user` the crontab's owner (with `system`, each line names its user)."""
    find_zone(zone)
    lines = parse_lines(decode_text(data), user=None if system else user)
    harvest = collect_outcomes(_read_lines(lines, zone, owner))
    return harvest._replace(notes=(note("cron_manners"), note("cron_surroundings")) if harvest.tasks else ())


def _read_lines(lines: Iterator[CrontabLine | RejectedItem], zone: str, owner: str | None) -> Iterator[ImportOutcome]:
    seen: Counter[str] = Counter()
    for line in lines:
        if isinstance(line, RejectedItem):
            yield line
        else:
            yield read_item(line.source, line.text, partial(_read_line, line, zone, owner, seen))


def _read_line(line: CrontabLine, zone: str, owner: str | None, seen: Counter[str]) -> ImportOutcome:
    if line.expression.lower() == "@reboot":
        return RejectedItem(line.source, make_excerpt(line.text), note("cron_reboot"))
    parsed = _parse_command(line.command, line.variables)
    if not parsed.command:
        return RejectedItem(line.source, make_excerpt(line.text), note("cron_no_command"))
    line_zone = line.variables.get("CRON_TZ") or zone
    schedule = Cron(line.expression, zone=line_zone)
    wish = TaskRequest(
        name=make_title(parsed.comment or line.title or parsed.command, SYSTEM),
        when=schedule,
        target=target(
            "command", argv=parsed.argv, stdin=parsed.stdin or None, environment=_command_environment(line.variables)
        ),
        owner=owner,
        key=_task_key(line.user, parsed, seen),
        labels={"source": SYSTEM, "user": line.user},
        options=_OPTIONS,
    )
    return ImportedTask(wish, source=line.source, notes=tuple(_line_notes(line, parsed, line_zone)))


def _parse_command(text: str, variables: Variables) -> _ParsedCommand:
    shell = variables.get("SHELL") or _DEFAULT_SHELL
    is_known_shell = shell.rsplit("/", 1)[-1] in SHELLS
    command, stdin = split_input(text)
    command, comment = split_comment(command) if is_known_shell else (command.rstrip(), None)
    words = split_plain_command(command) if is_known_shell else None
    if words is not None and _needs_no_search_path(words[0], variables):
        return _ParsedCommand(words, command, comment, stdin, None, _reserved_names(variables))
    script = _shell_prelude(variables) + command if is_known_shell else command
    return _ParsedCommand(
        [shell, "-c", script], command, comment, stdin, shell, () if is_known_shell else _reserved_names(variables)
    )


def _needs_no_search_path(program: str, variables: Variables) -> bool:
    """Whether the program is found without the crontab's own PATH and directory, which only its shell would search."""
    return program.startswith("/") or ("/" not in program and "PATH" not in variables)


def _shell_prelude(variables: Variables) -> str:
    """Shell lines that do what cron does first (directory, reserved variables): a command target cannot set these."""
    home = variables.get("HOME")
    lines = [f"cd {quote(home)} || exit"] if home else []
    lines += [f"export {name}={quote(variables[name])}" for name in variables if is_reserved(name)]
    return "".join(f"{line}\n" for line in lines)


def _reserved_names(variables: Variables) -> tuple[str, ...]:
    return tuple(name for name in variables if is_reserved(name))


def _command_environment(variables: Variables) -> dict[str, str] | None:
    excluded = (name for name in variables if name in _CRON_ONLY_VARIABLES or is_reserved(name))
    return {name: variables[name] for name in variables.keys() - set(excluded)} or None


def _task_key(user: str, parsed: _ParsedCommand, seen: Counter[str]) -> str:
    """Stable key from the command and its input, not its time or line: a line that moves or is rescheduled is the same task."""
    digest = blake2b(f"{parsed.command}\0{parsed.stdin or ''}".encode(), digest_size=8).hexdigest()
    key = f"{SYSTEM}:{user}:{digest}"
    seen[key] += 1
    return key if seen[key] == 1 else f"{key}:{seen[key]}"


def _line_notes(line: CrontabLine, parsed: _ParsedCommand, zone: str) -> Iterator[Note]:
    variables = line.variables
    if parsed.shell is not None:
        yield note("cron_shell", shell=parsed.shell)
    if parsed.lost:
        yield note("cron_reserved", names=", ".join(parsed.lost))
    if line.has_user:
        yield note("cron_user", user=line.user)
    if variables.get("MAILTO"):
        yield note("cron_mailto", address=variables["MAILTO"])
    if variables.get("TZ") and "CRON_TZ" not in variables:
        yield note("cron_tz", value=variables["TZ"], zone=zone)
    secrets = [name for name in variables if _SECRET_NAME.search(name)]
    if secrets:
        yield note("cron_secret", names=", ".join(secrets))
