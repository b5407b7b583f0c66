"""Crontabs: what a user edits with `crontab -e`, and with a column for the user what stands in /etc/crontab."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import partial
from hashlib import blake2b
from shlex import quote
from typing import Final, NamedTuple

from ..model.accounts.protected_variables import is_reserved
from ..model.policy import LONGEST_TIMEOUT
from ..schedule import Cron
from ..schedule.compat import Note
from ..schedule.zones import find_zone
from ..service.tasks.task_request import Options, Wish
from .crontab_lines import Line, Variables, lines_of
from .files import as_text
from .import_result import Found, Harvest, Reading, Unclear, attempt, excerpt, gathered, target, title
from .notes import note
from .shell import SHELLS, plain_words, split_comment, split_input

SYSTEM: Final = "crontab"
_DEFAULT_SHELL: Final = "/bin/sh"
_NEVER: Final = 1_000_000
# cron starts what is due, whatever became of the last one, and looks neither back nor after it.
_OPTIONS: Final = Options(missed="skip", overlap="parallel", retries=0, give_up_after=_NEVER, timeout=LONGEST_TIMEOUT)
_NOT_FOR_THE_COMMAND: Final = frozenset({"MAILTO", "MAILFROM", "CRON_TZ"})
_TELLING: Final = re.compile(r"PASS|SECRET|TOKEN|CREDENTIAL|API_?KEY|PRIVATE_?KEY", re.IGNORECASE)


class _Work(NamedTuple):
    """A command, taken apart. `shell` is the one that its text is given to; `lost` names what no target lets through."""

    argv: list[str]
    command: str
    comment: str | None
    stdin: str | None
    shell: str | None
    lost: tuple[str, ...] = ()


def read(data: bytes | str, *, zone: str, user: str, system: bool = False, owner: str | None = None) -> Harvest:
    """`zone` is the machine's, `user` whose crontab it is; with `system` each line has a column that says so itself."""
    find_zone(zone)
    lines = lines_of(as_text(data), user=None if system else user)
    harvest = gathered(_readings(lines, zone, owner))
    return harvest._replace(notes=(note("cron_manners"), note("cron_surroundings")) if harvest.found else ())


def _readings(lines: Iterator[Line | Unclear], zone: str, owner: str | None) -> Iterator[Reading]:
    seen: Counter[str] = Counter()
    for line in lines:
        if isinstance(line, Unclear):
            yield line
        else:
            yield attempt(line.source, line.text, partial(_task, line, zone, owner, seen))


def _task(line: Line, zone: str, owner: str | None, seen: Counter[str]) -> Reading:
    if line.expression.lower() == "@reboot":
        return Unclear(line.source, excerpt(line.text), note("cron_reboot"))
    work = _work(line.command, line.variables)
    if not work.command:
        return Unclear(line.source, excerpt(line.text), note("cron_no_command"))
    there = line.variables.get("CRON_TZ") or zone
    schedule = Cron(line.expression, zone=there)
    wish = Wish(
        name=title(work.comment or line.title or work.command, SYSTEM),
        when=schedule,
        target=target("command", argv=work.argv, stdin=work.stdin or None, environment=_environment(line.variables)),
        owner=owner,
        key=_key(line.user, work, seen),
        labels={"source": SYSTEM, "user": line.user},
        options=_OPTIONS,
    )
    return Found(wish, source=line.source, notes=tuple(_notes(line, work, there)))


def _work(text: str, variables: Variables) -> _Work:
    shell = variables.get("SHELL") or _DEFAULT_SHELL
    usual = shell.rsplit("/", 1)[-1] in SHELLS
    command, stdin = split_input(text)
    command, comment = split_comment(command) if usual else (command.rstrip(), None)
    words = plain_words(command) if usual else None
    if words is not None and _found_anywhere(words[0], variables):
        return _Work(words, command, comment, stdin, None, _reserved(variables))
    said = _prelude(variables) + command if usual else command
    return _Work([shell, "-c", said], command, comment, stdin, shell, () if usual else _reserved(variables))


def _found_anywhere(program: str, variables: Variables) -> bool:
    """Without the crontab's own PATH and directory, which only its shell would search."""
    return program.startswith("/") or ("/" not in program and "PATH" not in variables)


def _prelude(variables: Variables) -> str:
    """What cron itself would do first, as shell text: a command target has no say in these."""
    home = variables.get("HOME")
    lines = [f"cd {quote(home)} || exit"] if home else []
    lines += [f"export {name}={quote(variables[name])}" for name in variables if is_reserved(name)]
    return "".join(f"{line}\n" for line in lines)


def _reserved(variables: Variables) -> tuple[str, ...]:
    return tuple(name for name in variables if is_reserved(name))


def _environment(variables: Variables) -> dict[str, str] | None:
    left_out = (name for name in variables if name in _NOT_FOR_THE_COMMAND or is_reserved(name))
    return {name: variables[name] for name in variables.keys() - set(left_out)} or None


def _key(user: str, work: _Work, seen: Counter[str]) -> str:
    """By what is done, not by when or where it stands: a line that moves, or gets another time, is the same task."""
    digest = blake2b(f"{work.command}\0{work.stdin or ''}".encode(), digest_size=8).hexdigest()
    key = f"{SYSTEM}:{user}:{digest}"
    seen[key] += 1
    return key if seen[key] == 1 else f"{key}:{seen[key]}"


def _notes(line: Line, work: _Work, zone: str) -> Iterator[Note]:
    variables = line.variables
    if work.shell is not None:
        yield note("cron_shell", shell=work.shell)
    if work.lost:
        yield note("cron_reserved", names=", ".join(work.lost))
    if line.has_user:
        yield note("cron_user", user=line.user)
    if variables.get("MAILTO"):
        yield note("cron_mailto", address=variables["MAILTO"])
    if variables.get("TZ") and "CRON_TZ" not in variables:
        yield note("cron_tz", value=variables["TZ"], zone=zone)
    telling = [name for name in variables if _TELLING.search(name)]
    if telling:
        yield note("cron_secret", names=", ".join(telling))
