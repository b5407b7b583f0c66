"""Settings of agents, and the runtime and program that follow from them."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from horae.agents.runtime_factory import install_name, make_program, make_runtime
from horae.agents.runtimes.bubblewrap import BubblewrapRuntime
from horae.agents.runtimes.container import ContainerRuntime
from horae.agents.runtimes.process import ProcessRuntime
from horae.agents.settings import AgentSettings, read_settings
from horae.agents.target.target import AGENT
from horae.clock import SystemClock
from horae.errors import Refusal
from horae.ports.runtime import ForwardedSocket
from horae.runtime.agents.runtime import with_agent_defaults
from horae.runtime.service_factory import make_service, open_targets
from horae.runtime.target_kinds import TargetKinds
from horae.runtime.unused_settings import find_unused_settings
from horae.settings import read_settings as read_all
from horae.stores.memory import MemoryStore
from horae.targets.setting_names import SETTING_NAMES


def refused(**settings: Any) -> Refusal:
    with pytest.raises(Refusal) as raised:
        read_settings(settings)
    return raised.value


def test_defaults_are_bubblewrap_and_the_runner_of_this_package() -> None:
    settings = read_settings({"directory": "/srv/agents", "limit": None})
    assert (settings.enabled, settings.runtime, settings.program) == (False, "bubblewrap", ("horae-agent",))
    assert settings.workspace.root == Path("/srv/agents")
    assert settings.mount_list == Path("/srv/agents/mount-allowlist.json")
    assert settings.sender_list == Path("/srv/agents/sender-allowlist.json")


def test_values_of_variables_are_texts() -> None:
    settings = read_settings(
        {"enabled": "yes", "limit": "7", "secrets": "A_KEY, B_KEY", "program": "horae-agent --mind echo"}
    )
    assert settings.enabled
    assert (settings.limit, settings.secrets) == (7, ("A_KEY", "B_KEY"))
    assert settings.program == ("horae-agent", "--mind", "echo")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("enabled", "perhaps"),
        ("enabled", 2),
        ("directory", "agents"),
        ("directory", 7),
        ("runtime", "vm"),
        ("image", ""),
        ("program", []),
        ("program", ["", "x"]),
        ("program", ["a\0b"]),
        ("secrets", ["a b"]),
        ("secrets", 7),
        ("assistant", "x" * 65),
        ("assistant", "a\nb"),
        ("limit", 0),
        ("limit", True),
        ("limit", "many"),
        ("lmit", 3),
    ],
)
def test_bad_values_are_refused_by_name(name: str, value: Any) -> None:
    refusal = refused(**{name: value})
    assert refusal.code == "agent_setting"
    assert f"'{name}'" in str(refusal)


def test_containers_need_an_image_or_a_root() -> None:
    assert refused(runtime="docker").code == "agent_setting"
    assert refused(runtime="podman").code == "agent_setting"
    assert refused(runtime="podman", image="a", root="/b").code == "agent_setting"
    assert read_settings({"runtime": "podman", "root": "/b"}).root == "/b"


def test_the_names_of_the_settings_are_known() -> None:
    known = set(AgentSettings._fields)
    assert set(SETTING_NAMES["agent"]) == known
    settings = read_all({}, flags={"targets.agent.limt": 3})
    (unused,) = find_unused_settings(settings, {})
    assert unused.nearest == "targets.agent.limit"


def test_a_directory_is_needed() -> None:
    with pytest.raises(Refusal) as raised:
        _ = AgentSettings().workspace
    assert raised.value.code == "agent_directory_missing"


def test_the_default_directory_is_beside_the_sqlite_file(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/horae.db"
    assert with_agent_defaults({}, url) == {"directory": str(tmp_path / "agents")}
    assert with_agent_defaults({"directory": "/x"}, url) == {"directory": "/x"}
    for other in ("memory://", "postgresql://db/horae"):
        assert with_agent_defaults({"limit": 2}, other) == {"limit": 2}


# --- runtimes ------------------------------------------------------------------------------------------------------


def test_each_runtime_is_made() -> None:
    install = install_name("/srv/agents")
    assert install == install_name("/srv/agents")
    assert install != install_name("/srv/others")
    kinds: dict[type, dict[str, Any]] = {
        BubblewrapRuntime: {},
        ProcessRuntime: {"runtime": "process", "allow_process": True},
        ContainerRuntime: {"runtime": "podman", "image": "horae-agent"},
    }
    for kind, settings in kinds.items():
        assert isinstance(make_runtime(read_settings(settings), install), kind)


def test_an_image_has_the_runner_and_other_programs_stay_as_they_are() -> None:
    settings = read_settings({"runtime": "podman", "image": "agent", "program": ["horae-agent", "--mind", "claude"]})
    assert make_program(settings).words == ["horae-agent", "--mind", "claude"]
    assert make_program(settings).mounts == []
    own = make_program(read_settings({"program": ["/usr/bin/my-agent", "-x"]}))
    assert (own.words, own.mounts) == (["/usr/bin/my-agent", "-x"], [])


def test_a_root_has_its_own_interpreter() -> None:
    made = make_program(read_settings({"root": "/srv/root"}))
    assert made.words[:3] == ["python3", "-m", "horae.agents.runner.main"]
    assert [mount.target for mount in made.mounts] == ["/opt/horae/package/horae"]


def test_a_plain_process_has_the_interpreter_of_the_host() -> None:
    made = make_program(read_settings({"runtime": "process", "allow_process": True}))
    assert (made.words[0], made.mounts) == (sys.executable, [])


def test_the_socket_of_the_model_is_forwarded(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "model.sock")
    made = make_program(read_settings({"model_socket": str(tmp_path / "link")}))
    target = "/run/horae/model.sock"
    assert list(made.sockets) == [ForwardedSocket(os.path.realpath(tmp_path / "model.sock"), target)]


# --- a node --------------------------------------------------------------------------------------------------------


async def open_agent(tmp_path: Path, **settings: Any) -> Any:
    flags = {f"targets.agent.{name}": value for name, value in settings.items()}
    kinds = TargetKinds(read_all({}, flags=flags))
    store = MemoryStore()
    url = f"sqlite:///{tmp_path}/horae.db"

    clock = SystemClock()
    service = make_service(url, store, clock, "UTC", kinds)
    return (await open_targets(service, clock, kinds, lambda *_: None, url))[AGENT.kind]


async def test_a_node_runs_agents_only_where_they_are_enabled(tmp_path: Path) -> None:
    off = await open_agent(tmp_path)
    assert off.code == "agents_disabled"
    forbidden = await open_agent(tmp_path, enabled=True, runtime="process")
    assert forbidden.code == "runtime_not_isolated"
    missing = await open_agent(tmp_path, enabled=True, root="/nonexistent")
    assert missing.code == "mount_source"
