"""The peers, each installed into its own folder, because their dependencies conflict."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import venv
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

from bench.postgres.contender import HOME, Contender

_HERE: Final = Path(__file__).resolve().parent
_MODULE_PATH: Final = os.pathsep.join((str(HOME), str(HOME / "src")))
_COMMON: Final = ("uvloop", "tzdata")


class Found(NamedTuple):
    """Those that could be installed, and a sentence for each that could not."""

    peers: tuple[Contender, ...]
    missing: tuple[str, ...]


def install(recipes: Mapping[str, Callable[[str], Contender]] | None = None) -> Found:
    """Install the peers of the recipes; by default those on PostgreSQL."""
    peers, missing = [], []
    for name, make in (_RECIPES if recipes is None else recipes).items():
        try:
            peers.append(make(name))
        except (OSError, subprocess.CalledProcessError) as problem:
            missing.append(f"{name} could not be installed, and is left out: {problem}.")
    return Found(tuple(peers), tuple(missing))


def python_peer(
    name: str, module: str, packages: tuple[str, ...], *, slow: bool = False, hurried: bool = True
) -> Contender:
    """Install packages, and run the functions of a module of the benchmark with them."""
    folder = _folder(module.rpartition(".")[2], packages)
    interpreter = str(folder / "bin" / "python")
    if not _is_ready(folder):
        print(f"installing {name}", file=sys.stderr, flush=True)
        venv.create(folder, with_pip=True, clear=True)
        _run(interpreter, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *packages, *_COMMON)
        _make_ready(folder)
    package = packages[0].partition(">")[0]
    version = _run(interpreter, "-c", f"import importlib.metadata as m; print(m.version({package!r}))")
    command = (interpreter, "-m", "bench.engine.child", module)
    return Contender(name, command, {"PYTHONPATH": _MODULE_PATH}, slow, version, hurried=hurried)


def node_peer(name: str, script: Path, packages: tuple[str, ...]) -> Contender:
    """Install packages, and run a script with them."""
    folder = _folder(script.name, packages)
    if not _is_ready(folder):
        print(f"installing {name}", file=sys.stderr, flush=True)
        _run(_program("npm"), "install", "--silent", "--no-fund", "--no-audit", "--prefix", str(folder), *packages)
        _make_ready(folder)
    modules = folder / "node_modules"
    version = json.loads((modules / packages[0] / "package.json").read_text(encoding="utf-8"))["version"]
    command = (_program("node"), str(script))
    return Contender(name, command, {"NODE_PATH": str(modules)}, version=version, hurried=True)


_RECIPES: Final[Mapping[str, Callable[[str], Contender]]] = {
    "Graphile Worker": partial(node_peer, script=_HERE / "graphile.cjs", packages=("graphile-worker",)),
    "PgQueuer": partial(python_peer, module="bench.postgres.peer_pgqueuer", packages=("pgqueuer", "asyncpg")),
    "Procrastinate": partial(
        python_peer,
        module="bench.postgres.peer_procrastinate",
        packages=("procrastinate", "psycopg[binary,pool]"),
        slow=True,
    ),
    "APScheduler 4": partial(
        python_peer,
        module="bench.postgres.peer_apscheduler4",
        packages=("apscheduler>=4.0.0a6,<5", "asyncpg", "sqlalchemy[asyncio]", "sniffio"),
        slow=True,
        hurried=False,
    ),
}


def _program(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        raise FileNotFoundError(f"there is no program called {name}")
    return found


def _run(*command: str) -> str:
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


def _folder(name: str, packages: tuple[str, ...]) -> Path:
    """In the temporary folder, so that the next run finds it; not writable by other users."""
    root = Path(tempfile.gettempdir()) / f"horae-bench-{os.getuid()}"
    root.mkdir(mode=0o700, exist_ok=True)
    if root.is_symlink() or root.stat().st_uid != os.getuid():
        raise PermissionError(f"{root} belongs to another user")
    mark = hashlib.sha256(repr((sys.version_info[:3], packages, _COMMON)).encode()).hexdigest()[:12]
    return root / f"{name.partition('.')[0]}-{mark}"


def _is_ready(folder: Path) -> bool:
    return (folder / "ready").exists()


def _make_ready(folder: Path) -> None:
    (folder / "ready").touch()
