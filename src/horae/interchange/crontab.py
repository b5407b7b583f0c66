"""Crontab importer: turns each line of a user's crontab, or of /etc/crontab with its user column, into a task request."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import partial
from hashlib import blake2b
from shlex import quote
from types import MappingProxyType
from typing import Final, NamedTuple, TypeAlias

from ..model.accounts.protected_variables import is_reserved
from ..model.policy import MAX_TIMEOUT
from ..schedule import Cron
from ..schedule.compat import Note
from ..schedule.zones import find_zone
from ..service.tasks.task_request import Options, TaskRequest
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
from .refusals import refuse
from .shell import SHELLS, split_comment, split_input, split_plain_command

MAX_LINES: Final = 10_000
MAX_VARIABLES: Final = 100
MAX_VARIABLE_CHARACTERS: Final = 32_768
Variables: TypeAlias = Mapping[str, str]

_VARIABLE: Final = re.compile(r"""("[^"]*"|'[^']*'|[^\s="']+)[ \t]*=[ \t]*(.*)""")
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_BLANKS: Final = re.compile(r"[ \t]+")
# Comments that are no title: a line that is commented out, a heading of the columns, a ruler.
_COMMENTED_OUT: Final = re.compile(r"@[a-z]+\s|(?:[-\d*/,~]+\s+){2}", re.IGNORECASE)
_COLUMN_HEADING: Final = re.compile(r"\bdom\b|\bdow\b", re.IGNORECASE)


class CrontabLine(NamedTuple):
    """A schedule with a command; `variables` are those set above it, `title` is the comment directly above."""

    number: int
    text: str
    expression: str
    user: str
    has_user: bool
    command: str
    title: str | None
    variables: Variables

    @property
    def source(self) -> str:
        return f"line {self.number}"


def parse_lines(text: str, user: str | None) -> Iterator[CrontabLine | RejectedItem]:
    """Yield the schedule lines of a crontab, and the lines that cannot be parsed.

    `user` is the owner of the crontab; None where each line names its user in a column. Raises a refusal above the limits.
    """
    lines = text.split("\n")
    if len(lines) > MAX_LINES:
        raise refuse("import_too_many", most=MAX_LINES, things="lines")
    variables: Variables = MappingProxyType({})
    above: str | None = None
    for number, raw in enumerate(lines, start=1):
        line = raw.strip()
        comment, above = above, _comment_title(line)
        setting = _VARIABLE.fullmatch(line)
        if not line or line.startswith("#"):
            continue
        if setting is None:
            yield _parse_line(number, line, user, comment, variables)
        elif (name := _unquote(setting[1])) and _NAME.fullmatch(name):
            variables = _add_variable(variables, name, _unquote(setting[2]))
        else:
            yield RejectedItem(
                f"line {number}", make_excerpt(line), note("cron_bad_variable", name=_unquote(setting[1]))
            )


def _parse_line(
    number: int, line: str, user: str | None, title: str | None, variables: Variables
) -> CrontabLine | RejectedItem:
    schedule_fields = 1 if line.startswith("@") else 5
    fields = schedule_fields + (user is None)
    parts = _BLANKS.split(line, fields)
    if len(parts) < fields:
        names = "min hour day month weekday" + (" user" if user is None else "")
        return RejectedItem(f"line {number}", make_excerpt(line), note("cron_not_a_line", wanted=names))
    command = parts[fields] if len(parts) > fields else ""
    line_user = parts[schedule_fields] if user is None else user
    return CrontabLine(
        number, line, " ".join(parts[:schedule_fields]), line_user, user is None, command, title, variables
    )


def _add_variable(variables: Variables, name: str, value: str) -> Variables:
    """Add a variable; refuses too many, since every task stores all of them."""
    merged = MappingProxyType({**variables, name: value})
    if len(merged) > MAX_VARIABLES or sum(map(len, merged.values())) > MAX_VARIABLE_CHARACTERS:
        raise refuse("import_too_many", most=MAX_VARIABLES, things="variables")
    return merged


def _comment_title(line: str) -> str | None:
    """The title that a comment gives to the line below it; None if the line is no such comment."""
    if not line.startswith("#"):
        return None
    text = line.strip("#-=*~ \t")
    has_letters = any(letter.isalnum() for letter in text)
    return (
        text
        if has_letters and not _COMMENTED_OUT.match(line.lstrip("# \t")) and not _COLUMN_HEADING.search(text)
        else None
    )


def _unquote(text: str) -> str:
    is_quoted = len(text) > 1 and text[0] == text[-1] and text[0] in "'\""
    return text[1:-1] if is_quoted else text


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
