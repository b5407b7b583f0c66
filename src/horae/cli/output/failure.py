"""Prints the error of a command as text or JSON, with position and hint, and maps it to an exit code."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from contextlib import suppress
from itertools import pairwise
from typing import Any, Final, NamedTuple

from ...choices import Language
from ...errors import HoraeError, Refusal
from ..session.command_settings import CommandSettings
from .styled_text import cell_text, display_width, replace_unprintable, terminal_width

INTERRUPTED: Final = 130
_READER_LEFT: Final = 141
"""128 + SIGPIPE, like other programs whose output pipe was closed."""
_CHINESE: Final = re.compile("[\u3400-\u9fff]")
_WIDEST: Final = 72
_SCHEDULE_COMMANDS: Final = frozenset({"add", "next", "explain"})
_MOMENT_OPTIONS: Final = frozenset({"--when", "--at", "--as-of", "--since", "--until", "--from", "--to", "--expires"})
_FLAGS: Final = frozenset({"--json", "--plain", "--quiet", "-q", "--pause", "--dry-run"})


class ErrorStyle(NamedTuple):
    """Language and format of error messages."""

    language: Language
    as_json: bool
    arguments: tuple[str, ...] = ()
    """Command line arguments: commands in hints get the same store or server."""
    settings: CommandSettings | None = None
    program: str | None = None
    """First word of printed commands; None: this process as it was called."""

    def complete(self, text: str) -> str:
        """Return the text with the `--store`, `--server` and `--owner` of this command in its commands."""
        if "horae " not in text:
            return text
        from .command_hints import complete_commands  # noqa: PLC0415
        from .printer import Printer  # noqa: PLC0415 - only for failures with a command in their hint

        options = {name: find_option(self.arguments, f"--{name}") for name in ("store", "server", "owner")}
        out = Printer(
            **options,  # type: ignore[arg-type]
            family=_family(self.arguments),
            program=self.program,
            command_settings=self.settings or CommandSettings(),
        )
        completed = complete_commands(out, text)
        if not out.left_out:
            return completed
        from ..messages.messages import PASSWORD_LEFT_OUT  # noqa: PLC0415

        return f"{completed} {PASSWORD_LEFT_OUT.in_language(self.language)}"

    def word(self, english: str, chinese: str) -> str:
        return english if self.language == "en" else chinese


class _Failure(NamedTuple):
    """A failure that is not one of our own errors, as it is printed."""

    exit: int
    status: int
    title: str
    code: str
    detail: str
    hint: str = ""


def print_failure(error: BaseException, style: ErrorStyle) -> int:
    """Print the error on standard error; returns the exit code."""
    if isinstance(error, HoraeError):
        return _print_horae_error(error, style)
    if isinstance(error, OSError) and error.filename is None:
        # Drops unwritten output; Python would try to write it again at exit.
        with suppress(OSError):
            sys.stdout.close()
        if isinstance(error, BrokenPipeError):
            return _READER_LEFT
    if type(error).__name__ == "NoArgsIsHelpError":
        _print_lines([str(error)])
        return 2
    return _print_failure(_describe_failure(error, style), style)


def _describe_failure(error: BaseException, style: ErrorStyle) -> _Failure:
    """Describe an error of the system, of usage, or an interrupt."""
    if isinstance(error, OSError):
        text = error.strerror or str(error)
        detail = text if error.filename is None else f"{error.filename}: {text}"
        return _Failure(1, 500, style.word("system error", "系统错误"), "system_error", detail)
    if hasattr(error, "format_message"):
        from .command_hints import NAME, called_program  # noqa: PLC0415 - only for mistakes of usage

        path = getattr(getattr(error, "ctx", None), "command_path", NAME)
        path = f"{called_program()}{path.removeprefix(NAME)}"
        hint = style.word(f"Try: {path} --help", f"可以查看：{path} --help")
        return _Failure(2, 400, style.word("usage", "用法错误"), "usage", _usage(error.format_message(), style), hint)
    detail = style.word("Interrupted.", "已中断。")
    return _Failure(INTERRUPTED, 500, style.word("interrupted", "已中断"), "interrupted", detail)


def _usage(text: str, style: ErrorStyle) -> str:
    """Return a usage error, without the prefix that value validation adds."""
    text = text.replace(": Value error, ", ": ", 1)
    if style.language == "en":
        return text
    from ..messages.usage_messages import usage_in_chinese  # noqa: PLC0415 - only Chinese needs the catalogue

    return usage_in_chinese(text)


def _print_failure(failure: _Failure, style: ErrorStyle) -> int:
    if style.as_json:
        _print_json({"type": "about:blank", **failure._asdict(), "position": None})
    else:
        _print_lines(
            _wrap_lines([f"✕ {replace_unprintable(failure.detail)}", *([f"  {failure.hint}"] if failure.hint else [])])
        )
    return failure.exit


def _print_horae_error(error: HoraeError, style: ErrorStyle) -> int:
    from ...wire.problems import mapping_of, problem_json, sentence_of  # noqa: PLC0415 - only failures need the table

    mapping, sentence = mapping_of(error), sentence_of(error, style.language)
    exit_code = exit_code_of(error)
    if style.as_json:
        _print_json({**problem_json(error, style.language), "hint": style.complete(sentence.hint), "exit": exit_code})
        return exit_code
    message, caret = sentence.message, _caret_lines(error) if isinstance(error, Refusal) else []
    if not isinstance(error, Refusal):
        message = (
            f"{style.word(mapping.title, mapping.title_zh)}{style.word(': ', '：')}{replace_unprintable(str(error))}"
        )
    hint = [f"  {style.complete(sentence.hint)}"] if sentence.hint else []
    _print_lines([*_wrap_lines([f"✕ {message}"]), *caret, *_wrap_lines([*hint, *_notes(error, style)])])
    return exit_code


def exit_code_of(error: HoraeError) -> int:
    from ...wire.problems import mapping_of  # noqa: PLC0415

    return int(_own_exit(error) or mapping_of(error).exit)


def _own_exit(error: HoraeError) -> int | None:
    """Return the exit code of an error that only the command line has."""
    from ...wire.problems import ExitCode  # noqa: PLC0415
    from ..messages.refusals import AwaitedRunFailed, BadUsage, WaitTimedOut  # noqa: PLC0415

    kinds = {BadUsage: ExitCode.USAGE, WaitTimedOut: ExitCode.TIMED_OUT, AwaitedRunFailed: ExitCode.RUN_FAILED}
    return next((code for kind, code in kinds.items() if isinstance(error, kind)), None)


def _wrap_lines(texts: list[str]) -> list[str]:
    """Wrap between words on a terminal."""
    if not sys.stderr.isatty():
        return texts
    from .line_breaks import wrap_cell  # noqa: PLC0415 - only failures need it

    lines = [line for text in texts for line in text.splitlines()]
    return [cell_text(part) for line in lines for part in wrap_cell(line, terminal_width(), 2)]


def _print_lines(lines: list[str]) -> None:
    with suppress(OSError):
        print("\n".join(lines), file=sys.stderr, flush=True)  # noqa: T201 - this is the output


def _print_json(value: dict[str, Any]) -> None:
    from .printer import json_text  # noqa: PLC0415 - only failures as JSON need it

    _print_lines([json_text(value)])


def _notes(error: HoraeError, style: ErrorStyle) -> list[str]:
    return [f"  {replace_unprintable(style.complete(note))}" for note in getattr(error, "__notes__", ())]


def _caret_lines(refusal: Refusal) -> list[str]:
    """Return the source text with a caret under the position, shortened to what fits."""
    if refusal.source is None or refusal.position is None or not refusal.source.strip():
        return []
    # Chinese characters take two columns, and two columns are the indent.
    room = min(_WIDEST, terminal_width() - 2) if sys.stderr.isatty() else _WIDEST
    letters = room if display_width(refusal.source) == len(refusal.source) else room // 2
    begin = max(0, min(refusal.position - letters // 2, len(refusal.source) - letters))
    shown = replace_unprintable(refusal.source[begin : begin + letters])
    return [f"  {shown}", f"  {' ' * display_width(shown[: refusal.position - begin])}^"]


def find_option(arguments: Sequence[str], name: str) -> str | None:
    """Return the last value of an option in the arguments, as `--name VALUE` or `--name=VALUE`."""
    found = None
    for flag, value in pairwise([*arguments, None]):
        if flag is None or flag == "--":
            break
        if flag == name:
            found = value
        elif flag.startswith(f"{name}="):
            found = flag.removeprefix(f"{name}=")
    return found


def _family(arguments: Sequence[str]) -> str:
    """Return the first argument that is the name of a command."""
    from ..command_table import COMMANDS  # noqa: PLC0415

    return next((each for each in arguments if each in COMMANDS), "")


def choose_language(arguments: list[str]) -> Language:
    """Return the language of `--lang`, else of the schedule, else of the environment; also for invalid arguments."""
    for flag, value in zip(arguments, [*arguments[1:], ""], strict=False):
        chosen = value if flag == "--lang" else flag.removeprefix("--lang=") if flag.startswith("--lang=") else ""
        if chosen in ("en", "zh"):
            return "zh" if chosen == "zh" else "en"
    return language_for(" ".join(schedule_words(arguments)))


def schedule_words(arguments: Sequence[str]) -> list[str]:
    """Return the arguments that are schedules and moments: other ones, such as names, do not show the user's language."""
    command = next((each for each in arguments if not each.startswith("-")), "")
    found: list[str] = []
    before = ""
    for each in arguments:
        if each == "--":
            break
        option, equals, value = each.partition("=")
        if before in _MOMENT_OPTIONS:
            found.append(each)
        elif equals and option in _MOMENT_OPTIONS:
            found.append(value)
        elif command in _SCHEDULE_COMMANDS and not each.startswith("-"):
            is_value = before.startswith("-") and before not in _FLAGS
            found += [] if is_value else [each]
        before = each
    return found


def language_for(text: str) -> Language:
    """Return Chinese for a text with Chinese characters, else the language of the environment."""
    return "zh" if _CHINESE.search(text) else environment_language()


def environment_language() -> Language:
    locale = os.environ.get("LC_ALL") or os.environ.get("LC_MESSAGES") or os.environ.get("LANG") or ""
    return "zh" if locale.startswith("zh") else "en"


def wants_json(arguments: list[str], settings: CommandSettings) -> bool:
    """Whether JSON is requested by an option (not behind `--`, where a task's command begins), the environment or a file."""
    ours = arguments[: arguments.index("--")] if "--" in arguments else arguments
    asked = any(each == "--json" or each.startswith("--fields") for each in ours)
    return asked or os.environ.get("HORAE_OUTPUT", "").strip() == "json" or _is_json_configured(settings)


def _is_json_configured(settings: CommandSettings) -> bool:
    """Whether a settings file asks for JSON; false if the settings cannot be read, which is then the error to print."""
    if os.environ.get("HORAE_OUTPUT", "").strip():
        return False
    try:
        return bool(settings.base.value("output") == "json")
    except HoraeError:
        return False
