"""Prints where `horae up` serves the HTTP API, where its token is, and a first request to try."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Final

from ...node.api_server import ListenAddress, WhyNoApi
from ...node.reports import ApiReady
from ..messages import operating_messages as words
from .command_hints import store_option
from .line_breaks import is_narrow
from .printer import START_LABEL, Printer, shell_lines
from .startup_lines import print_labelled
from .styled_text import StyledText, pad, terminal_width

_LOOPBACK: Final = ("127.0.0.1", "localhost", "::1")


def show_no_api(out: Printer, address: ListenAddress, why: WhyNoApi) -> None:
    if why == "not_installed":
        because = out.translate(words.NOT_INSTALLED)
    else:
        because = out.translate(words.PORT_TAKEN, port=address.port)
    if out.json:
        out.each({"type": "api.off", "because": because})
    else:
        print_labelled(out, words.API, out.translate(words.NO_API, because=because))


def show_metrics_url(out: Printer, url: str) -> None:
    if out.json:
        out.each({"type": "metrics.ready", "url": url})
    else:
        print_labelled(out, words.METRICS, url)


def show_api(out: Printer, api: ApiReady, program: str) -> None:
    has_file = api.token_path.exists()
    if out.json:
        out.each(
            {
                "type": "api.ready",
                "url": api.url,
                "docs": f"{api.url}/docs",
                "token_file": str(api.token_path) if has_file else None,
                "first_start": api.first_token is not None,
            }
        )
        return
    print_labelled(out, words.API, out.translate(words.API_AT, url=api.url))
    if api.first_token is not None and sys.stdout.isatty():
        print_labelled(out, words.TOKEN, out.translate(words.FIRST_TOKEN, path=api.token_path))
        out.line(f"  {api.first_token}", flush=True)
    elif has_file:
        print_labelled(out, words.TOKEN, out.translate(words.TOKEN_FILE, path=api.token_path))
    else:
        command = f"{program}{store_option(out, api.store)} token make laptop"
        print_labelled(out, words.TOKEN, out.translate(words.TOKENS_THERE, command=command))
    if has_file:
        _show_request(out, api.token_path, api.url)
    host = api.url.split("://")[1].rsplit(":", 1)[0].strip("[]")
    if host not in _LOOPBACK:
        print_labelled(out, words.API, out.translate(words.NO_TLS, host=host))


def _show_request(out: Printer, path: Path, url: str) -> None:
    """Print a request to try: on one line, or on a terminal broken to its width."""
    # The token is not an argument of curl: every user of the machine can read those.
    parts = [
        "sed 's/^/Authorization: Bearer /'",
        shlex.quote(str(path)),
        "| curl -sH @-",
        "-H 'Content-Type: application/json'",
        """-d '{"name": "hello", "when": "every 10s", "say": "hello"}'""",
        f"{url}/v1/tasks",
    ]
    if not out.on_terminal:
        print_labelled(out, words.TRY, " ".join(parts))
        return
    narrow = is_narrow(terminal_width())
    indent = 2 if narrow else START_LABEL + 3
    if narrow:
        out.line(("  ", StyledText(out.translate(words.TRY), "dim")), flush=True)
    for number, line in enumerate(shell_lines(parts, terminal_width(), indent)):
        label = "" if number or narrow else f"  {pad(out.translate(words.TRY), START_LABEL)} "
        out.line((StyledText(pad(label, indent), "dim"), line), flush=True, whole=True)
