"""One headless Chromium per test process; tests connect to it over its debugging port and open contexts of their own."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from tempfile import TemporaryDirectory
from typing import Final

from tests.servers.programs import program

_ARGUMENTS: Final = (
    "--headless=new",
    "--no-sandbox",
    "--remote-debugging-port=0",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-dev-shm-usage",
    "--disable-gpu",
    "--disable-sync",
    "--force-color-profile=srgb",
    "--font-render-hinting=none",
    "--no-default-browser-check",
    "--no-first-run",
    "--no-proxy-server",
)
_ADDRESS: Final = re.compile(r"DevTools listening on (ws://\S+)")


@contextmanager
def started_chromium(*more: str) -> Iterator[str]:
    """Start the browser, with more arguments where given; yields the address of its debugging port."""
    path = program("chromium", package="chromium")
    program("fc-list", package="fontconfig")
    with TemporaryDirectory(prefix="horae-chromium-", ignore_cleanup_errors=True) as profile:
        command = [path, *_ARGUMENTS, *more, f"--user-data-dir={profile}", "about:blank"]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
            try:
                yield _read_address(process)
            finally:
                process.terminate()
                process.communicate(timeout=30)


def _read_address(process: subprocess.Popen[str]) -> str:
    assert process.stderr is not None
    seen = []
    for line in process.stderr:
        seen.append(line)
        match = _ADDRESS.search(line)
        if match is not None:
            return match[1]
    raise RuntimeError(f"Chromium did not start: {''.join(seen)}")
