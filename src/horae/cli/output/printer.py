"""Output of a command, as text or JSON: data on standard output, notes, warnings and questions on standard error."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal, TextIO, TypeAlias

from ...choices import Language
from ...message import Message
from ...model.ids import TIMESTAMP_DIGITS, short_ids
from ...model.text.invisible_characters import escape_hidden
from ...plural import apply_number_agreement
from ...settings import Settings
from ..messages import messages
from ..messages.refusals import refuse
from ..session.command_settings import CommandSettings
from .line_breaks import NARROW_HANG, find_indent, is_narrow, wrap_cell
from .styled_text import Cell, StyledText, cell_text, cell_width, display_width, pad, render_cell, terminal_width
from .table import Fit, render_table, render_tabs

if TYPE_CHECKING:
    from .progress import ProgressBar

Colour: TypeAlias = Literal["auto", "always", "never"]
_LABEL: Final = 6
_COMMANDS: Final = "horae "
_OPEN: Final = "\ue001"
_CLOSE: Final = "\ue002"
"""Stand for the braces of a template while options are inserted; private-use characters, which no text contains."""
START_LABEL: Final = 10
"""Width of the labels of `horae up`."""


@dataclass(frozen=True, slots=True)
class Printer:
    """Output options of one command, and the methods that print with them.

    `store`, `server` and `owner` are the values of `--store`, `--server` and `--owner`; `family` is the first word of the
    command, `named_owner` the owner that it names, with `--owner` or as its argument. `yes` confirms questions in advance, `silent` forbids them. `program` begins printed commands; None: this process
    as it was called. `left_out`: store URLs that printed commands name without their password.
    """

    language: Language = "en"
    store: str | None = None
    server: str | None = None
    owner: str | None = None
    named_owner: str | None = None
    family: str = ""
    json: bool = False
    plain: bool = False
    quiet: bool = False
    fields: tuple[str, ...] = ()
    colour: Colour = "auto"
    yes: bool = False
    silent: bool = False
    program: str | None = None
    left_out: set[str] = field(default_factory=set, repr=False, compare=False)
    command_settings: CommandSettings = field(default_factory=CommandSettings, repr=False, compare=False)

    @property
    def settings(self) -> Settings:
        """Settings of this command, its `--store` included; raises a refusal if they are invalid."""
        return self.command_settings.with_store(self.store)

    # --- for programs ----------------------------------------------------------------------------------------------

    def data(self, value: Any) -> None:
        """Print one JSON document: an object, or a list of objects."""
        write(sys.stdout, json_text(self._selected(value), indent=2))

    def each(self, value: Mapping[str, Any]) -> None:
        """Print one line of a JSON stream, and flush it."""
        write(sys.stdout, json_text(self._selected(value)), flush=True)

    def _selected(self, value: Any) -> Any:
        if not self.fields:
            return value
        if isinstance(value, list):
            return [self._selected(each) for each in value]
        # The names were checked before the command took effect. A line of a stream may lack some of the fields.
        return {name: value[name] for name in self.fields if name in value}

    # --- for people ------------------------------------------------------------------------------------------------

    def translate(self, message: Message, /, **facts: object) -> str:
        """Return the sentence in this language; a `horae COMMAND` in it gets the program as it was called, and the store,
        server and owner of this command."""
        facts = {name: self.translate(fact) if isinstance(fact, Message) else fact for name, fact in facts.items()}
        template = apply_number_agreement(message.en, facts) if self.language == "en" else message.zh
        if _COMMANDS not in template:
            return template.format(**facts)
        from .command_hints import complete_commands  # noqa: PLC0415 - it imports this module

        # Options may contain braces, which must not become placeholders of the template.
        quoted = complete_commands(self, template.replace("{", _OPEN).replace("}", _CLOSE))
        escaped = quoted.replace("{", "{{").replace("}", "}}")
        return escaped.replace(_OPEN, "{").replace(_CLOSE, "}").format(**facts)

    def line(self, cell: Cell = "", *, flush: bool = False, hang: int | None = None, whole: bool = False) -> None:
        """Print a line, wrapped between words on a terminal unless it is `whole`; lines after the first are indented by
        `hang` columns."""
        self._write(sys.stdout, cell, hang, flush=flush, fits=not (self.plain or whole))

    def row(self, label: str, cell: Cell, *, width: int = _LABEL, flush: bool = False) -> None:
        """Print a label and its value: `  When   every weekday at 09:00`."""
        rest: Sequence[str | StyledText] = (cell,) if isinstance(cell, str | StyledText) else cell
        room = terminal_width()
        if not label and self.on_terminal and is_narrow(room) and width + 3 + cell_width(rest) > room:
            self.line((" " * NARROW_HANG, *rest), flush=flush, hang=NARROW_HANG)
        else:
            self.line(("  ", StyledText(pad(label, width), "dim"), " ", *rest), flush=flush, hang=width + 3)

    @property
    def row_room(self) -> int:
        """Return the columns of the terminal that are left behind the label of a row."""
        return terminal_width() - _LABEL - 3

    @property
    def on_terminal(self) -> bool:
        """Whether tables go to a terminal: then ids are short and dates are not repeated."""
        return not self.plain and sys.stdout.isatty()

    def short_ids(self, ids: Iterable[str], digits: int = TIMESTAMP_DIGITS) -> dict[str, str]:
        """Return ids as a table shows them: unique prefixes on a terminal, whole elsewhere."""
        return short_ids(ids, digits) if self.on_terminal else {each: each for each in ids}

    def table(self, titles: Sequence[str], rows: Sequence[Sequence[Cell]], fits: Sequence[Fit] | None = None) -> None:
        """Print a table: tab-separated with `--plain`, fitted to the width on a terminal, else unlimited."""
        if self.plain:
            lines = render_tabs(rows)
        else:
            room = terminal_width() if self.on_terminal else None
            lines = render_table(titles, rows, room=room, colour=self.has_colour(sys.stdout), fits=fits)
        for each in lines:
            write(sys.stdout, each)

    def tabs(self, cells: Sequence[Cell]) -> None:
        """Print one tab-separated line of a stream, and flush it."""
        for line in render_tabs([cells]):
            write(sys.stdout, line, flush=True)

    def ids(self, names: Sequence[str]) -> None:
        for name in names:
            write(sys.stdout, name)

    # --- standard error -------------------------------------------------------------------------------------------

    def note(self, message: Message, /, **facts: object) -> None:
        self.aside(self.translate(message, **facts))

    def note_password(self) -> None:
        """Print once per command how to give the password that the printed commands lack."""
        if self.left_out:
            self.note(messages.PASSWORD_LEFT_OUT)
            self.left_out.clear()

    def warn(self, text: str) -> None:
        """Print a warning behind an exclamation mark."""
        if _COMMANDS in text:
            from .command_hints import complete_commands  # noqa: PLC0415 - it imports this module

            text = complete_commands(self, text)
        self.aside(f"  {pad('!', _LABEL)} {text}", hang=_LABEL + 3)

    def aside(self, cell: Cell, *, hang: int | None = None) -> None:
        """Print a hint, warning or footer on standard error, unless `--quiet`."""
        if not self.quiet:
            self._write(sys.stderr, cell, hang, flush=True)

    def _write(self, stream: TextIO, cell: Cell, hang: int | None, *, flush: bool = False, fits: bool = True) -> None:
        lines = [cell]
        if fits and stream.isatty():
            lines = wrap_cell(cell, terminal_width(), find_indent(cell) if hang is None else hang)
        for line in lines:
            write(stream, render_cell(line, colour=self.has_colour(stream)), flush=flush)

    @contextmanager
    def progress(self, title: Message, total: int) -> Iterator[ProgressBar]:
        """Show progress while the block runs: a bar on a terminal, a line for every tenth elsewhere."""
        from .progress import ProgressBar  # noqa: PLC0415 - few commands take long

        with ProgressBar(self.translate(title), total, shown=not (self.quiet or self.json)) as bar:
            yield bar

    def has_colour(self, stream: TextIO) -> bool:
        if self.colour != "auto":
            return self.colour == "always"
        return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"

    # --- questions -------------------------------------------------------------------------------------------------

    @property
    def asks(self) -> bool:
        """Whether questions can be asked: on a terminal, and not forbidden."""
        return not self.silent and sys.stdin.isatty() and sys.stderr.isatty()

    def confirm(self, deed: Message, /, **facts: object) -> None:
        """Return if the user has confirmed, by `--yes` or now; raises a refusal otherwise, also without a terminal."""
        if self.yes:
            return
        if not self.asks:
            raise refuse("needs_yes", deed=deed.in_language("en", **facts), deed_zh=deed.in_language("zh", **facts))
        if ask(self.translate(messages.YES_OR_NO, deed=self.translate(deed, **facts))).lower() not in (
            "y",
            "yes",
            "是",
            "好",
        ):
            raise refuse("declined")

    def choose(self, question: Cell, choices: Sequence[tuple[str, str]], default: str, option: str) -> str:
        """Return the chosen name of the (name, meaning) choices; the default for an empty answer, or without a terminal.
        `option` is the option that gives the answer on the command line."""
        if not self.asks:
            return default
        self.aside(question)
        widest = max(display_width(name) for name, _ in choices)
        for number, (name, meaning) in enumerate(choices, 1):
            sign = StyledText("❯ " if name == default else "  ", "good")
            start = f"{number}  {pad(name, widest)}  "
            self.aside((sign, start, StyledText(meaning, "dim")), hang=2 + display_width(start))
        names = [name for name, _ in choices]
        answer = ask(self.translate(messages.CHOICE, default=default)).lower()
        if answer.isdigit() and 1 <= int(answer) <= len(names):
            return names[int(answer) - 1]
        if answer and answer not in names:
            raise refuse("no_such_choice", answer=answer, most=len(names), names=", ".join(names), option=option)
        return answer or default


def shell_lines(parts: Sequence[str], room: int, indent: int) -> list[str]:
    """Return a shell command in lines that end with a backslash, so that they can be copied and run at once; it is broken
    between the parts only."""
    lines = [parts[0]]
    for part in parts[1:]:
        longer = f"{lines[-1]} {part}"
        if display_width(longer) + indent + 2 <= room:
            lines[-1] = longer
        else:
            lines.append(f"  {part}")
    return [*(f"{line} \\" for line in lines[:-1]), lines[-1]]


def ask(question: str) -> str:
    lines = wrap_cell(question.rstrip(" "), terminal_width() - 1) if sys.stderr.isatty() else [question.rstrip(" ")]
    write(sys.stderr, "\n".join(map(cell_text, lines)), end=" ", flush=True)
    return sys.stdin.readline().strip()


def json_text(value: Any, indent: int | None = None) -> str:
    """Return JSON with Chinese unescaped, and with control and invisible characters escaped."""
    text = json.dumps(value, ensure_ascii=False, indent=indent)
    # Line breaks between the lines of the document are the only control characters that JSON itself leaves.
    return "\n".join(escape_hidden(line) for line in text.split("\n"))


def write(stream: TextIO, text: str, *, end: str = "\n", flush: bool = False) -> None:
    stream.write(text + end)
    if flush:
        stream.flush()
