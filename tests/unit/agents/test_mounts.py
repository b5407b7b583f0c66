"""Mounts of groups: only below the operator's roots, by the real path at run time, never the secrets or the list itself."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from horae.agents.mounts import DEFAULT_BLOCKED_PATTERNS, MountRequest, resolve_mount, resolve_mounts
from horae.agents.refusals import CATALOGUE
from horae.agents.workspace import Workspace
from horae.errors import NotAllowed, Refusal
from horae.ports.runtime import Mount


class Place:
    """A host with a permitted folder, another one, and the list."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "projects"
        self.notes = self.root / "notes"
        self.private = folder / "private"
        for each in (self.notes, self.private):
            each.mkdir(parents=True)
        self.file = folder / "config" / "mount-allowlist.json"
        self.file.parent.mkdir()
        self.write()

    def write(self, *, read_write: bool = False, root: Path | None = None, **more: Any) -> None:
        self.file.write_text(
            json.dumps({"allowedRoots": [{"path": str(root or self.root), "allowReadWrite": read_write}], **more})
        )

    def mount(self, path: Path | str, *, is_main: bool = True, readonly: bool = True, to: str | None = None) -> Mount:
        return resolve_mount(self.file, MountRequest(str(path), to, readonly), is_main=is_main)

    def refusal(self, path: Path | str, **options: Any) -> str:
        with pytest.raises(Refusal) as refused:
            self.mount(path, **options)
        assert refused.value.hint
        return refused.value.code


@pytest.fixture
def place() -> Iterator[Place]:
    # Not pytest's folder: its name has that of the test, and patterns match any part of a path.
    with TemporaryDirectory() as folder:
        yield Place(Path(folder).resolve())


def test_directory_below_a_root_is_mounted_read_only(place: Place) -> None:
    assert place.mount(place.notes) == Mount(str(place.notes), "/workspace/extra/notes", writable=False)
    assert place.mount(place.notes, to="a/b").target == "/workspace/extra/a/b"


@pytest.mark.parametrize(
    ("asked", "root_allows", "main_only", "is_main", "writable"),
    [
        (True, True, True, True, True),
        (True, True, False, False, True),
        (True, True, True, False, False),
        (True, False, False, True, False),
        (False, True, False, True, False),
    ],
)
def test_writable_needs_the_request_the_root_and_the_group(
    place: Place, *, asked: bool, root_allows: bool, main_only: bool, is_main: bool, writable: bool
) -> None:
    place.write(read_write=root_allows, nonMainReadOnly=main_only)
    assert place.mount(place.notes, is_main=is_main, readonly=not asked).writable is writable


def test_groups_other_than_main_read_only_by_default(place: Place) -> None:
    place.write(read_write=True)
    assert not place.mount(place.notes, is_main=False, readonly=False).writable


def test_directory_outside_of_the_roots_is_refused(place: Place) -> None:
    assert place.refusal(place.private) == "mount_not_allowed"
    assert place.refusal(f"{place.root}/../private") == "mount_not_allowed"
    assert place.refusal(f"{place.root}-more") == "mount_not_found"


def test_link_that_leaves_the_root_is_refused(place: Place) -> None:
    (place.root / "link").symlink_to(place.private)
    assert place.refusal(place.root / "link") == "mount_not_allowed"


def test_link_made_later_is_refused(place: Place) -> None:
    place.mount(place.notes)
    place.notes.rmdir()
    place.notes.symlink_to(place.private)
    assert place.refusal(place.notes) == "mount_not_allowed"


def test_link_inside_of_the_root_is_mounted_by_its_real_path(place: Place) -> None:
    (place.root / "link").symlink_to(place.notes)
    assert place.mount(place.root / "link") == Mount(str(place.notes), "/workspace/extra/link", writable=False)


@pytest.mark.parametrize("pattern", DEFAULT_BLOCKED_PATTERNS)
def test_secret_paths_are_refused(place: Place, pattern: str) -> None:
    (place.root / f"x{pattern}").mkdir()
    assert place.refusal(place.root / f"x{pattern}") == "mount_blocked"


def test_link_to_a_secret_path_and_link_with_a_harmless_target_are_refused(place: Place) -> None:
    (place.root / ".ssh").mkdir()
    (place.root / "keys").symlink_to(place.root / ".ssh")
    (place.root / "id_rsa").symlink_to(place.notes)
    assert place.refusal(place.root / "keys") == "mount_blocked"
    assert place.refusal(place.root / "id_rsa") == "mount_blocked"


def test_pattern_of_the_file_is_refused(place: Place) -> None:
    place.write(blockedPatterns=["note"])
    assert place.refusal(place.notes) == "mount_blocked"


def test_refusals_of_paths_are_of_rights(place: Place) -> None:
    with pytest.raises(NotAllowed):
        place.mount(place.private)


def test_directory_with_the_list_is_refused(place: Place) -> None:
    place.write(root=place.file.parent.parent)
    assert place.refusal(place.file.parent) == "mount_of_list"
    assert place.refusal(place.file) == "mount_of_list"
    assert place.refusal(place.file.parent.parent) == "mount_of_list"
    assert place.mount(place.notes).source == str(place.notes)


def test_list_behind_a_link_is_refused_where_it_really_is(place: Place) -> None:
    real = place.notes / "list.json"
    real.write_text(place.file.read_text())
    place.file.unlink()
    place.file.symlink_to(real)
    assert place.refusal(place.notes) == "mount_of_list"


def test_missing_list_permits_nothing_until_it_exists(place: Place) -> None:
    text = place.file.read_text()
    place.file.unlink()
    assert place.refusal(place.notes) == "mount_list_missing"
    place.file.write_text(text)
    assert place.mount(place.notes)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        "nonsense",
        '{"allowedRoots": {}}',
        '{"allowedRoots": ["/"]}',
        '{"allowedRoots": [{"path": "relative"}]}',
        '{"allowedRoots": [{"path": 5}]}',
        '{"allowedRoots": [{"path": "/", "allowReadWrite": "yes"}]}',
        '{"allowedRoots": [], "blockedPatterns": [5]}',
        '{"allowedRoots": [], "blockedPatterns": [""]}',
        '{"allowedRoots": [], "nonMainReadOnly": 1}',
        "[" * 100_000,
    ],
)
def test_malformed_list_permits_nothing(place: Place, text: str) -> None:
    place.file.write_text(text)
    assert place.refusal(place.notes) == "mount_list_invalid"


def test_list_that_others_can_write_permits_nothing(place: Place) -> None:
    place.file.chmod(0o666)
    assert place.refusal(place.notes) == "mount_list_invalid"


def test_list_that_is_no_regular_file_permits_nothing_and_blocks_nothing(place: Place) -> None:
    place.file.unlink()
    os.mkfifo(place.file)
    assert place.refusal(place.notes) == "mount_list_invalid"
    place.file.unlink()
    place.file.mkdir()
    assert place.refusal(place.notes) == "mount_list_invalid"


def test_root_that_does_not_exist_permits_nothing(place: Place) -> None:
    place.write(root=place.root / "absent")
    assert place.refusal(place.notes) == "mount_not_allowed"


def test_the_deepest_root_decides(place: Place) -> None:
    roots = [
        {"path": str(place.root), "allowReadWrite": True},
        {"path": str(place.notes), "allowReadWrite": False},
    ]
    place.file.write_text(json.dumps({"allowedRoots": roots, "nonMainReadOnly": False}))
    assert place.mount(place.root, readonly=False).writable
    assert not place.mount(place.notes, readonly=False).writable


@pytest.mark.parametrize("target", ["", " ", "/etc", "..", "a/../..", "a:b", "a,b", "a\nb", "."])
def test_bad_place_in_the_container_is_refused(place: Place, target: str) -> None:
    assert place.refusal(place.notes, to=target) == "mount_target"


@pytest.mark.parametrize("path", ["", "notes", "\0"])
def test_path_that_is_none_is_refused(place: Place, path: str) -> None:
    assert place.refusal(path) in {"mount_source", "mount_not_found", "mount_target"}


def test_socket_and_fifo_are_refused(place: Place) -> None:
    os.mkfifo(place.root / "fifo")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(place.root / "s"))
        assert place.refusal(place.root / "s") == "mount_source"
    assert place.refusal(place.root / "fifo") == "mount_source"


def test_refused_mounts_do_not_hinder_the_others(place: Place) -> None:
    requests = [
        MountRequest(str(place.private)),
        MountRequest(str(place.notes)),
        MountRequest(str(place.root), "notes/x"),
    ]
    mounts, refusals = resolve_mounts(place.file, requests, is_main=True)
    assert [mount.source for mount in mounts] == [str(place.notes)]
    assert [refusal.code for refusal in refusals] == ["mount_not_allowed", "mount_target_twice"]


@pytest.mark.parametrize("code", sorted(CATALOGUE))
def test_refusals_have_both_languages(code: str) -> None:
    entry = CATALOGUE[code]
    assert all((entry.message, entry.hint, entry.message_zh, entry.hint_zh))


@pytest.mark.parametrize("name", ["", "agents", "agents/data/ipc/main", "agents/host", "agents/groups/other", "link"])
def test_files_of_other_agents_are_never_mounted(place: Place, name: str) -> None:
    # Whoever writes a request to the directory of the main group acts as the main group.
    workspace = Workspace(place.root / "agents")
    for each in (workspace.group_ipc("main"), workspace.claimed, workspace.group("other"), workspace.root / "shared"):
        each.mkdir(parents=True)
    (place.root / "link").symlink_to(workspace.group_ipc("main"))
    requests = [MountRequest(str(place.root / name), "a", readonly=False)]
    mounts, refusals = resolve_mounts(place.file, requests, is_main=True, reserved=workspace.reserved)
    assert (mounts, [each.code for each in refusals]) == ([], ["mount_of_agents"])
    shared = [MountRequest(str(workspace.root / "shared"), "a")]
    assert resolve_mounts(place.file, shared, is_main=True, reserved=workspace.reserved).mounts
