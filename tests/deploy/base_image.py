"""Base image without a registry: the interpreter of the tests, its shared libraries, and the dependencies of Horae."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Collection, Iterable, Iterator
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import Final

from packaging.requirements import Requirement

_NAME: Final = f"python{sys.version_info.major}.{sys.version_info.minor}"
_LEFT_OUT: Final = (
    "test",
    "tests",
    "idlelib",
    "tkinter",
    "turtledemo",
    "lib2to3",
    "site-packages",
    "__pycache__",
    "*.a",
)
_PROGRAMS: Final = ("sh", "chown", "chmod")


def lay_out(root: Path, wanted: Collection[str]) -> None:
    """Create a small root file system with Python in /usr/local and these requirements installed."""
    for each in wanted:
        # Indirect dependencies may be for other systems; the direct ones must be installed.
        distribution(Requirement(each).name)
    for folder in ("usr/local/bin", "usr/local/lib", "usr/bin", "etc", "tmp", "root"):
        (root / folder).mkdir(parents=True)
    (root / "tmp").chmod(0o1777)
    (root / "bin").symlink_to("usr/bin")
    for number in ("", "64"):
        (root / f"lib{number}").symlink_to(f"usr/lib{number}")
        (root / f"usr/lib{number}").mkdir(exist_ok=True)
    library = root / "usr/local/lib" / _NAME
    shutil.copytree(sysconfig.get_path("stdlib"), library, ignore=shutil.ignore_patterns(*_LEFT_OUT), symlinks=True)
    shutil.copy(Path(sys.base_prefix) / "bin" / _NAME, root / "usr/local/bin" / _NAME)
    (root / "usr/local/bin/python3").symlink_to(_NAME)
    for name in _PROGRAMS:
        shutil.copy(str(shutil.which(name)), root / "usr/bin" / name)
    _copy_packages(library / "site-packages", wanted)
    _copy_linked(root)


def _copy_packages(place: Path, wanted: Iterable[str]) -> None:
    for each in {found.metadata["Name"]: found for found in _needed(wanted)}.values():
        files = [Path(file) for file in each.files or () if ".." not in file.parts and "__pycache__" not in file.parts]
        for file in files:
            there = place / file
            there.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(str(each.locate_file(str(file))), there)


def _needed(wanted: Iterable[str], known: set[str] | None = None) -> Iterator[Distribution]:
    """Yield each requirement with its dependencies; packages for other systems are not installed, and skipped."""
    known = set() if known is None else known
    for text in wanted:
        requirement = Requirement(text)
        if str(requirement) in known:
            continue
        known.add(str(requirement))
        try:
            found = distribution(requirement.name)
        except PackageNotFoundError:
            continue
        if requirement.name != "horae":
            yield found
        extras = ["", *requirement.extras]
        inner = [Requirement(each) for each in found.requires or ()]
        fits = [
            each for each in inner if each.marker is None or any(each.marker.evaluate({"extra": it}) for it in extras)
        ]
        yield from _needed([f"{each.name}[{','.join(each.extras)}]" for each in fits], known)


def _copy_linked(root: Path) -> None:
    """Copy the libraries that the programs in `root` are linked to."""
    binary = [*(root / "usr/bin").iterdir(), root / "usr/local/bin" / _NAME, *root.rglob("*.so")]
    shown = subprocess.run(["ldd", *map(str, binary)], capture_output=True, text=True, check=False).stdout
    # `libc.so.6 => /lib/…/libc.so.6 (0x…)`, and the loader alone as `/lib64/ld-linux-x86-64.so.2 (0x…)`.
    linked = set(re.findall(r"(?:=>|^)\s+(/\S+) \(0x", shown, re.MULTILINE))
    # The end of a thread loads this library, without which the C library aborts the process.
    unwinders = {str(Path(name).with_name("libgcc_s.so.1")) for name in linked if Path(name).name == "libc.so.6"}
    for name in sorted(linked | {each for each in unwinders if Path(each).exists()}):
        if not name.startswith(str(root)):
            there = root / _place(name).lstrip("/")
            there.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(name, there)


def _place(name: str) -> str:
    """Return the path on the default search path of the loader for a library that is elsewhere on this machine."""
    if name.startswith("/usr/lib"):
        return name
    return f"/usr{name}" if name.startswith("/lib") else f"/usr/lib/{Path(name).name}"
