"""`horae secret` and `horae config`: values go in unseen, and nothing secret is ever shown."""

from __future__ import annotations

from tests.cli.operating.deployment import Deployment

VALUE = "s3cret-value"


def revealed(deployment: Deployment, name: str) -> str | None:
    return deployment.call_library(lambda app: app.service.secrets.reveal("local", name))


def test_a_secret_comes_from_a_pipe_or_a_file_and_is_never_shown(deployment: Deployment) -> None:
    said = deployment.ok("secret", "set", "token", "-", stdin=f"{VALUE}\n")
    deployment.write("value.txt", f"{VALUE}2\n")
    said += deployment.ok("secret", "set", "other", "--from-file", "value.txt", "--json")
    said += deployment.ok("secret", "ls") + deployment.ok("secret", "ls", "--json") + deployment.ok("export")
    assert VALUE not in said
    assert [revealed(deployment, name) for name in ("token", "other")] == [VALUE, f"{VALUE}2"]
    assert VALUE.encode() not in deployment.path.read_bytes()


def test_a_value_on_the_command_line_is_refused_and_not_repeated(deployment: Deployment) -> None:
    done = deployment.horae("secret", "set", "token", VALUE)
    assert done.returncode == 2
    assert "not given on the command line" in done.stderr
    assert VALUE not in done.stderr + done.stdout
    assert not deployment.path.exists()


def test_nobody_there_to_ask(deployment: Deployment) -> None:
    assert deployment.horae("secret", "set", "token").returncode == 2
    assert deployment.horae("secret", "set", "token", "--from-file", "absent").returncode == 6
    assert deployment.horae("secret", "set", "bad name", "-", stdin="x").returncode == 6


def test_where_nothing_is_yet_there_are_no_secrets(deployment: Deployment) -> None:
    assert deployment.answer("secret", "ls") == []
    assert not deployment.path.exists()


def test_remove_and_rotate(deployment: Deployment) -> None:
    deployment.ok("secret", "set", "token", "-", stdin=VALUE)
    key = (deployment.folder / "horae.key").read_bytes()
    told = deployment.answer("secret", "rotate")
    assert told["resealed"] == 1
    assert (deployment.folder / "horae.key").read_bytes() != key
    assert revealed(deployment, "token") == VALUE
    assert deployment.horae("secret", "rm", "token").returncode == 2
    deployment.ok("secret", "rm", "token", "--yes")
    assert deployment.answer("secret", "ls") == []
    assert deployment.horae("secret", "rm", "token", "--yes").returncode == 3


def test_config_says_every_setting_and_where_it_is_from(deployment: Deployment) -> None:
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
