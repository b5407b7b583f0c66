"""Tools of the temporary servers: programs, reserved ports, process trees, templates."""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path

import pytest

from tests.servers import ports, process_tree, programs
from tests.servers.ports import ReservedPort, with_port
from tests.servers.programs import ProgramMissing, program
from tests.servers.templates import lay_out

APT = """#!/bin/sh
echo "$DEBIAN_FRONTEND $*" >> {folder}/apt_calls
case "$*" in
    *update*) touch {folder}/lists ;;
    *) [ -e {folder}/lists ] && [ -x {policy} ] && cp {folder}/apt-get {folder}/wanted ;;
esac
"""


def executable(path: Path, text: str = "#!/bin/sh\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Simulate a machine with root rights and only the programs that the test puts there."""
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(programs, "_POLICY", tmp_path / "policy")
    monkeypatch.setattr(programs, "_DEBIAN_POSTGRES", tmp_path / "postgresql")
    return tmp_path


def test_newest_program_version_is_preferred_to_the_wrapper(bare: Path) -> None:
    for folder in ("postgresql/9.6/bin", "postgresql/15/bin", "."):
        executable(bare / folder / "initdb")
    assert program("initdb", package="postgresql") == str(bare / "postgresql/15/bin/initdb")


def test_missing_program_is_installed_without_starting_its_service(bare: Path) -> None:
    executable(bare / "apt-get", APT.format(folder=bare, policy=bare / "policy"))
    for _ in range(2):
        assert program("wanted", package="some-package") == str(bare / "wanted")
    install, update, again = (bare / "apt_calls").read_text().splitlines()
    assert install == again
    assert install.startswith("noninteractive")
    assert install.endswith("install --no-install-recommends some-package")
    assert update.endswith("update")
    assert not (bare / "policy").exists()


def test_program_that_cannot_be_installed_is_named(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    executable(bare / "apt-get", "#!/bin/sh\nexit 100\n")
    with pytest.raises(ProgramMissing, match=r"wanted \(Debian has it in the package some-package\)"):
        program("wanted", package="some-package")
    (bare / "apt-get").write_text(f"#!/bin/sh\ntouch {bare}/called\n")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(ProgramMissing):
        program("wanted", package="some-package")
    assert not (bare / "called").exists()


def test_reserved_port_is_exclusive_until_released(monkeypatch: pytest.MonkeyPatch) -> None:
    port = ReservedPort()
    monkeypatch.setattr(ports, "_RANGE", range(port.number, port.number + 1))
    with pytest.raises(AssertionError, match="no free port"):
        ReservedPort()
    port.release()
    again = ReservedPort()
    assert again.number == port.number
    again.release()


@pytest.mark.parametrize(
    ("url", "moved"),
    [
        ("postgresql://postgres@127.0.0.1:1/name", "postgresql://postgres@127.0.0.1:2/name"),
        ("mysql://root:p%40%3A@127.0.0.1:1/name?ssl=no", "mysql://root:p%40%3A@127.0.0.1:2/name?ssl=no"),
        ("redis://127.0.0.1:1/0", "redis://127.0.0.1:2/0"),
    ],
)
def test_with_port_changes_only_the_port(url: str, moved: str) -> None:
    assert with_port(url, 2) == moved


def test_process_tree_is_killed_even_when_frozen() -> None:
    command = ("sh", "-c", "sleep 1000 & sleep 1000 & echo; wait")
    with subprocess.Popen(command, stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        parent.stdout.readline()
        children = process_tree.children(parent.pid)
        assert len(children) == 2
        process_tree.freeze(parent.pid)
        process_tree.kill(parent.pid)
    assert process_tree.children(parent.pid) == []
    assert not any(is_running(child) for child in children)


def test_template_is_built_once_per_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    built: list[Path] = []

    def laid_out(name: str, *options: str) -> str:
        folder = tmp_path / name
        folder.mkdir()

        def build() -> None:
            built.append(folder)
            (folder / "data").write_text(name)

        lay_out("thing", ("/bin/sh", *options), folder, build)
        return (folder / "data").read_text()

    assert [laid_out("one"), laid_out("two"), laid_out("three", "--other")] == ["one", "one", "three"]
    assert built == [tmp_path / "one", tmp_path / "three"]


def is_running(pid: int) -> bool:
    """Return whether a process runs; a zombie does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
