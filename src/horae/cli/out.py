"""What one command prints: data on standard output, everything else on standard error; for people or for programs."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, TextIO, TypeAlias

from ..choices import Language
from ..model.ids import MOMENT_DIGITS, short_ids
from ..model.invisible import escape_hidden
from ..plural import agree
from . import words
from .pieces import Cell, Piece, painted
from .refusals import refuse
from .table import Fit, laid_out, tabbed
from .width import padded, wrapped
from .words import Words

if TYPE_CHECKING:
    from .progress import Bar

Colour: TypeAlias = Literal["auto", "always", "never"]
_LABEL: Final = 6
_COMMANDS: Final = "horae "
_OPEN: Final = "\ue001"
_CLOSE: Final = "\ue002"
"""Braces of a template while options are put into it; private characters, so that no text has them."""


@dataclass(frozen=True, slots=True)
class Out:
    """One per command. `store`, `server` and `owner` are what `--store`, `--server` and `--owner` said; `family` is the first
    word of the command; `yes` and `silent` answer questions before they are asked."""

    language: Language = "en"
    store: str | None = None
    server: str | None = None
    owner: str | None = None
    family: str = ""
    json: bool = False
    plain: bool = False
    quiet: bool = False
    fields: tuple[str, ...] = ()
    colour: Colour = "auto"
    yes: bool = False
    silent: bool = False

    # --- for programs ----------------------------------------------------------------------------------------------

    def data(self, value: Any) -> None:
        """One JSON document: an object for one thing, a list for many."""
        write(sys.stdout, json_text(self._selected(value), indent=2))

    def each(self, value: Mapping[str, Any]) -> None:
        """One line of a stream; whoever reads it has it at once."""
        write(sys.stdout, json_text(self._selected(value)), flush=True)

    def _selected(self, value: Any) -> Any:
        if not self.fields:
            return value
        if isinstance(value, list):
            return [self._selected(each) for each in value]
        for name in self.fields:
            if name not in value:
                raise refuse("unknown_output_field", name=name, allowed=", ".join(value))
        return {name: value[name] for name in self.fields}

    # --- for people ------------------------------------------------------------------------------------------------

    def told(self, said: Words, /, **facts: object) -> str:
        """The sentence in this language; a `horae COMMAND` in it gets the store, server and owner of this command."""
        facts = {name: self.told(fact) if isinstance(fact, Words) else fact for name, fact in facts.items()}
        if not (self.store or self.server or self.owner):
            return said.told(self.language, **facts)
        template = agree(said.en, facts) if self.language == "en" else said.zh
        if _COMMANDS not in template:
            return template.format(**facts)
        from .shown_store import complete_commands  # noqa: PLC0415 - it imports this module

        # The options are put in as braces are escaped: they are no places of the template.
        quoted = complete_commands(self, template.replace("{", _OPEN).replace("}", _CLOSE))
        escaped = quoted.replace("{", "{{").replace("}", "}}")
        return escaped.replace(_OPEN, "{").replace(_CLOSE, "}").format(**facts)

    def line(self, cell: Cell = "", *, flush: bool = False) -> None:
        write(sys.stdout, painted(cell, colour=self._coloured(sys.stdout)), flush=flush)

    def row(self, label: str, cell: Cell, style: Literal["dim"] = "dim") -> None:
        """`  When   every weekday at 09:00`: a short word, and what there is to say about it."""
        rest: Sequence[str | Piece] = (cell,) if isinstance(cell, str | Piece) else cell
        self.line(("  ", Piece(padded(label, _LABEL), style), " ", *rest))

    @property
    def on_terminal(self) -> bool:
        """Whether a table is for a person at a terminal: then ids are short and dates are not repeated."""
        return not self.plain and sys.stdout.isatty()

    def short_ids(self, ids: Iterable[str], digits: int = MOMENT_DIGITS) -> dict[str, str]:
        """Ids as a table shows them: unique prefixes on a terminal, whole elsewhere."""
        return short_ids(ids, digits) if self.on_terminal else {each: each for each in ids}

    def table(self, titles: Sequence[str], rows: Sequence[Sequence[Cell]], fits: Sequence[Fit] | None = None) -> None:
        """Tab separated where that was asked for; it gives way only on a terminal."""
        if self.plain:
            lines = tabbed(rows)
        else:
            room = shutil.get_terminal_size().columns if self.on_terminal else None
            lines = laid_out(titles, rows, room=room, colour=self._coloured(sys.stdout), fits=fits)
        for each in lines:
            write(sys.stdout, each)

    def tabs(self, cells: Sequence[Cell]) -> None:
        """One line of a stream for programs."""
        for line in tabbed([cells]):
            write(sys.stdout, line, flush=True)

    def ids(self, names: Sequence[str]) -> None:
        for name in names:
            write(sys.stdout, name)

    # --- beside the data -------------------------------------------------------------------------------------------

    def note(self, said: Words, /, **facts: object) -> None:
        self.aside(self.told(said, **facts))

    def warn(self, text: str) -> None:
        """`  !      what may surprise`, broken between words on a terminal."""
        if _COMMANDS in text and (self.store or self.server or self.owner):
            from .shown_store import complete_commands  # noqa: PLC0415 - it imports this module

            text = complete_commands(self, text)
        room = shutil.get_terminal_size().columns - _LABEL - 3
        lines = wrapped(text, room) if sys.stderr.isatty() else [text]
        for number, line in enumerate(lines):
            self.aside(f"  {padded('' if number else '!', _LABEL)} {line}")

    def aside(self, cell: Cell) -> None:
        """A hint, a warning, a footer: never among the data, and not for those who asked for quiet."""
        if not self.quiet:
            write(sys.stderr, painted(cell, colour=self._coloured(sys.stderr)), flush=True)

    @contextmanager
    def progress(self, said: Words, total: int) -> Iterator[Bar]:
        """How far it has come; a bar on a terminal, a line for every tenth elsewhere."""
        from .progress import Bar  # noqa: PLC0415 - few commands take long

        with Bar(self.told(said), total, shown=not (self.quiet or self.json)) as bar:
            yield bar

    def _coloured(self, stream: TextIO) -> bool:
        if self.colour != "auto":
            return self.colour == "always"
        return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"

    # --- questions -------------------------------------------------------------------------------------------------

    @property
    def asks(self) -> bool:
        """Whether somebody is there to answer."""
        return not self.silent and sys.stdin.isatty() and sys.stderr.isatty()

    def confirm(self, deed: Words, /, **facts: object) -> None:
        """Go on only with a yes: said before, or now. Nobody there to ask is no yes."""
        if self.yes:
            return
        if not self.asks:
            raise refuse("needs_yes", deed=deed.told("en", **facts), deed_zh=deed.told("zh", **facts))
        if ask(self.told(words.YES_OR_NO, deed=self.told(deed, **facts))).lower() not in ("y", "yes", "是", "好"):
            raise refuse("declined")

    def choose(self, question: Cell, choices: Sequence[tuple[str, str]], default: str) -> str:
        """One of (name, meaning); an empty answer takes the default, and only a terminal is asked."""
        if not self.asks:
            return default
        self.aside(question)
        for number, (name, meaning) in enumerate(choices, 1):
            self.aside((Piece("❯ " if name == default else "  ", "good"), f"{number}  {name}  ", Piece(meaning, "dim")))
        names = [name for name, _ in choices]
        answer = ask(self.told(words.CHOICE, default=default)).lower()
        if answer.isdigit() and 1 <= int(answer) <= len(names):
            return names[int(answer) - 1]
        if answer and answer not in names:
            raise refuse("declined")
        return answer or default


def ask(question: str) -> str:
    write(sys.stderr, question, end="", flush=True)
    return sys.stdin.readline().strip()


def json_text(value: Any, indent: int | None = None) -> str:
    """Chinese as it is; what a terminal would obey, or show nothing for, escaped."""
    text = json.dumps(value, ensure_ascii=False, indent=indent)
    # Line breaks between the lines of the document are the only control characters that JSON itself leaves.
    return "\n".join(escape_hidden(line) for line in text.split("\n"))


def write(stream: TextIO, text: str, *, end: str = "\n", flush: bool = False) -> None:
    stream.write(text + end)
    if flush:
        stream.flush()
