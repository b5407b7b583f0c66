"""Control groups: found in both kinds of hierarchy, limited, and left alone where this process may not create them."""

from __future__ import annotations

from pathlib import Path

import pytest

from horae.agents.runtimes.cgroup import Cgroup, existing_groups, find_hierarchies
from horae.ports.runtime import MIB, Limits

LIMITS = Limits(memory=64 * MIB, processes=20, cpus=0.5)


def mount(place: Path, kind: str, options: str, root: str = "/") -> str:
    return f"30 24 0:26 {root} {place} rw,nosuid shared:9 - {kind} cgroup rw,{options}"


@pytest.fixture
def first_version(tmp_path: Path) -> tuple[str, str]:
    for name in ("memory/host", "pids", "cpu"):
        (tmp_path / name).mkdir(parents=True)
    mounts = "\n".join(mount(tmp_path / name, "cgroup", name) for name in ("memory", "pids", "cpu"))
    return mounts, "4:memory:/host\n3:pids:/\n2:cpu,cpuacct:/\n0::/"


@pytest.fixture
def second_version(tmp_path: Path) -> tuple[str, str]:
    (tmp_path / "horae.service" / "host").mkdir(parents=True)
    (tmp_path / "horae.service" / "cgroup.subtree_control").write_text("cpu memory pids\n")
    return mount(tmp_path, "cgroup2", "nsdelegate"), "0::/horae.service/host"


def test_limits_of_the_first_version(first_version: tuple[str, str], tmp_path: Path) -> None:
    hierarchies = find_hierarchies(*first_version)
    group = Cgroup.create(hierarchies, "horae.a.run1", LIMITS)
    assert sorted(str(folder.relative_to(tmp_path)) for folder in group.folders) == [
        "cpu/horae.a.run1",
        "memory/host/horae.a.run1",
        "pids/horae.a.run1",
    ]
    assert (tmp_path / "memory/host/horae.a.run1/memory.limit_in_bytes").read_text() == str(64 * MIB)
    assert (tmp_path / "pids/horae.a.run1/pids.max").read_text() == "20"
    assert (tmp_path / "cpu/horae.a.run1/cpu.cfs_quota_us").read_text() == "50000"


def test_limits_of_the_second_version_are_beside_the_group_of_the_host(
    second_version: tuple[str, str], tmp_path: Path
) -> None:
    hierarchies = find_hierarchies(*second_version)
    (folder,) = Cgroup.create(hierarchies, "horae.a.run1", LIMITS).folders
    assert folder == tmp_path / "horae.service" / "horae.a.run1"
    written = {path.name: path.read_text() for path in folder.iterdir()}
    assert written == {
        "memory.max": str(64 * MIB),
        "memory.swap.max": "0",
        "pids.max": "20",
        "cpu.max": "50000 100000",
    }


def test_hierarchy_without_the_controllers_is_not_used(second_version: tuple[str, str], tmp_path: Path) -> None:
    (tmp_path / "horae.service" / "cgroup.subtree_control").write_text("memory\n")
    assert find_hierarchies(*second_version) == ()


def test_machine_without_control_groups_has_none() -> None:
    assert find_hierarchies("22 1 0:20 / / rw - ext4 /dev/sda rw\n", "") == ()


def test_memory_kill_is_seen_in_both_versions(first_version: tuple[str, str], tmp_path: Path) -> None:
    group = Cgroup(find_hierarchies(*first_version), "horae.a.run1")
    for folder in group.folders:
        folder.mkdir()
    assert not group.has_exceeded_memory()
    file = tmp_path / "memory/host/horae.a.run1/memory.oom_control"
    file.write_text("oom_kill_disable 0\nunder_oom 0\noom_kill 0\n")
    assert not group.has_exceeded_memory()
    file.write_text("oom_kill_disable 0\nunder_oom 0\noom_kill 2\n")
    assert group.has_exceeded_memory()
    file.unlink()
    file.with_name("memory.events").write_text("oom 1\noom_kill 1\n")
    assert group.has_exceeded_memory()


def test_refused_process_is_seen(first_version: tuple[str, str], tmp_path: Path) -> None:
    group = Cgroup(find_hierarchies(*first_version), "horae.a.run1")
    for folder in group.folders:
        folder.mkdir()
    assert not group.has_reached_processes()
    file = tmp_path / "pids/horae.a.run1/pids.events"
    file.write_text("max 0\n")
    assert not group.has_reached_processes()
    file.write_text("max 7\n")
    assert group.has_reached_processes()


async def test_groups_are_listed_by_installation_and_removed(first_version: tuple[str, str]) -> None:
    hierarchies = find_hierarchies(*first_version)
    for name in ("horae.a.run1", "horae.a-b.run2"):
        for folder in Cgroup(hierarchies, name).folders:
            folder.mkdir()
    assert existing_groups(hierarchies, "horae.a.") == ["horae.a.run1"]
    await Cgroup(hierarchies, "horae.a.run1").remove()
    assert existing_groups(hierarchies, "horae.a.") == []
    assert existing_groups(hierarchies, "horae.a-b.") == ["horae.a-b.run2"]


def test_group_whose_limit_cannot_be_set_is_removed(first_version: tuple[str, str], tmp_path: Path) -> None:
    hierarchies = find_hierarchies(*first_version)
    (tmp_path / "pids" / "horae.a.run1").write_text("a file where the directory would be")
    with pytest.raises(OSError, match=r"horae\.a\.run1"):
        Cgroup.create(hierarchies, "horae.a.run1", LIMITS)
    (tmp_path / "pids" / "horae.a.run1").unlink()
