"""Root file system with Python, for sandboxes."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import pytest

from tests.deploy.base_image import lay_out

_IMPORTED: Final = "argparse, asyncio, ctypes, dataclasses, json, shutil, signal, socket, subprocess, urllib.request"


@pytest.fixture(scope="session")
def python_root() -> Iterator[Path]:
    """A root that every user may read, for all tests of a process."""
    with TemporaryDirectory(prefix="horae-") as name:
        folder = Path(name).resolve()
        folder.chmod(0o755)
        root = folder / "root"
        lay_out(root, [])
        if os.geteuid() == 0:
            # Compile the modules once: the sandboxes cannot write them.
            command = ["chroot", str(root), "/usr/local/bin/python3", "-I", "-c", f"import {_IMPORTED}"]
            subprocess.run(command, env={"PATH": os.defpath + ":/usr/sbin"}, check=True)
        yield root
