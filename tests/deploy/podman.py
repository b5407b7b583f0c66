"""Podman without systemd, with its own images, containers and volumes."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import Final

from tests.servers.programs import package_file, program

PATIENCE: Final = 300
SETTINGS: Final = """\
[containers]
default_ulimits = ["nofile=4096:4096", "nproc=4096:4096"]
log_driver = "k8s-file"
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
[network]
network_backend = "netavark"
"""
NEEDED: Final = {
    "podman": "podman",
    "runc": "runc",
    "iptables": "iptables",
    "fuse-overlayfs": "fuse-overlayfs",
    "newuidmap": "uidmap",
    "catatonit": "catatonit",
}


class Podman:
    """`podman("run", …)` runs a command and returns its standard output."""

    def __init__(self, inside: Sequence[str] = ()) -> None:
        """`inside`: words before each command, which enter a namespace."""
        # Podman refuses long paths.
        folder = self._folder = Path(mkdtemp(prefix="horae-"))
        self._settings = folder / "containers.conf"
        self._settings.write_text(SETTINGS)
        for name, package in NEEDED.items():
            program(name, package=package)
        # Debian brings these only as recommendations, and outside of PATH.
        for name in ("netavark", "aardvark-dns"):
            package_file(Path("/usr/lib/podman", name), package=name)
        self._inside = tuple(inside)
        self._command = ("podman", "--root", str(folder / "root"), "--runroot", str(folder / "run"))

    @property
    def options(self) -> Sequence[str]:
        """Options before the command, by which other programs use the same images and containers."""
        return self._command[1:]

    @property
    def settings(self) -> Path:
        """Goes into the variable CONTAINERS_CONF."""
        return self._settings

    def __call__(self, *words: str, check: bool = True) -> str:
        done = subprocess.run(
            [*self._inside, *self._command, *words],
            env=os.environ | {"CONTAINERS_CONF": str(self._settings)},
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        assert done.returncode == 0 or not check, f"{words}: {done.stderr}{done.stdout}"
        return done.stdout.strip()

    def build(self, name: str, file: Path, context: Path, **arguments: str) -> None:
        given = [each for key, value in arguments.items() for each in ("--build-arg", f"{key}={value}")]
        self("build", "-q", "--isolation", "chroot", "--layers=false", "--format", "docker", "-t", name, "-f", str(file), *given, str(context))  # fmt: skip

    def clean(self) -> None:
        """Remove every container, volume, image and mount."""
        self("rm", "-f", "-t", "0", "--all", check=False)
        self("volume", "rm", "-f", "--all", check=False)
        self("rmi", "-f", "--all", check=False)
        rmtree(self._folder)
