"""`horae secret` and `horae config`: secret values are read without echo and never printed."""

from __future__ import annotations

from tests.cli.operating.deployment import Deployment
from tests.cli.operating.store_contents import reveal_secret

VALUE = "s3cret-value"


def test_secret_is_read_from_a_pipe_or_a_file_and_never_shown(deployment: Deployment) -> None:
    output = deployment.ok("secret", "set", "token", "-", stdin=f"{VALUE}\n")
    deployment.write("value.txt", f"{VALUE}2\n")
    output += deployment.ok("secret", "set", "other", "--from-file", "value.txt", "--json")
    output += deployment.ok("secret", "ls") + deployment.ok("secret", "ls", "--json") + deployment.ok("export")
    assert VALUE not in output
    assert [reveal_secret(deployment, name) for name in ("token", "other")] == [VALUE, f"{VALUE}2"]
    assert VALUE.encode() not in deployment.path.read_bytes()


def test_secret_value_as_argument_is_refused_and_not_printed(deployment: Deployment) -> None:
    done = deployment.horae("secret", "set", "token", VALUE)
    assert done.returncode == 2
    assert "not given on the command line" in done.stderr
    assert VALUE not in done.stderr + done.stdout
    assert not deployment.path.exists()


def test_secret_without_a_terminal_needs_a_source(deployment: Deployment) -> None:
    assert deployment.horae("secret", "set", "token").returncode == 2
    assert deployment.horae("secret", "set", "token", "--from-file", "absent").returncode == 6
    assert deployment.horae("secret", "set", "bad name", "-", stdin="x").returncode == 6


def test_secret_list_of_a_new_deployment_is_empty(deployment: Deployment) -> None:
    assert deployment.answer("secret", "ls") == []
    assert not deployment.path.exists()


def test_remove_and_rotate(deployment: Deployment) -> None:
    deployment.ok("secret", "set", "token", "-", stdin=VALUE)
    key = (deployment.folder / "horae.key").read_bytes()
    answer = deployment.answer("secret", "rotate")
    assert answer["resealed"] == 1
    assert (deployment.folder / "horae.key").read_bytes() != key
    assert reveal_secret(deployment, "token") == VALUE
    assert deployment.horae("secret", "rm", "token").returncode == 2
    deployment.ok("secret", "rm", "token", "--yes")
    assert deployment.answer("secret", "ls") == []
    assert deployment.horae("secret", "rm", "token", "--yes").returncode == 3


def test_config_shows_every_setting_with_its_origin(deployment: Deployment) -> None:
    deployment.write("horae.toml", 'zone = "Asia/Shanghai"\n[targets.mine]\napi_token = "hush"\n')
    environment = {"HORAE_EVENT_REDIS": "redis://user:hush@host:6379/0", "HORAE_COMMAND_ALLOW": "a,b", "TZ": ""}
    done = deployment.horae("config", "--origin", environment=environment)
    assert done.returncode == 0
    assert "hush" not in done.stdout
    lines = {line.split()[0]: line for line in done.stdout.splitlines()}
    assert "redis://host:6379/… " in lines["targets.event.redis"]
    assert "horae.toml" in lines["zone"]
    assert "HORAE_STORE" in lines["store"]
    assert "a, b" in lines["targets.command.allow"]
    assert "default" in lines["wake"]
    shown = deployment.answer("config", "show")
    assert {"setting", "value", "meaning"} == set(shown[0])
    assert deployment.horae("config", "set").returncode == 2
