"""Settings: flag, environment, project file, user file, default, and refusals of invalid values."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from horae.errors import Refusal
from horae.runtime import process_settings
from horae.runtime.process_settings import load_settings, read_clock_tolerance, read_wake_mode, store_url
from horae.settings import SETTINGS, BadSettings, SettingValue, default_zone, is_precise_wake, read_settings

USER, PROJECT = 'store = "user"\nzone = "user"\nwake = "user"\n', 'store = "project"\nzone = "project"\n'


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    """The user's own file, and the project's: from the least to the most important."""
    user, project = tmp_path / "user.toml", tmp_path / "horae.toml"
    user.write_text(USER)
    project.write_text(PROJECT)
    return user, project


def a_file(tmp_path: Path, text: str) -> tuple[Path, ...]:
    file = tmp_path / "horae.toml"
    file.write_text(text, encoding="utf-8")
    return (file,)


# --- who wins --------------------------------------------------------------------------------------------------------


def test_flag_then_environment_then_project_then_user_then_default(files: tuple[Path, Path]) -> None:
    user, project = files
    environment = {"HORAE_STORE": "environment"}
    flags = {"store": "flag"}
    found = [
        read_settings(environment, files, flags),
        read_settings(environment, files),
        read_settings({}, files),
        read_settings({}, (user,)),
        read_settings({}),
    ]
    assert [each.value("store") for each in found] == ["flag", "environment", "project", "user", None]
    assert [each.overrides["store"].origin for each in found[:4]] == ["flag", "HORAE_STORE", str(project), str(user)]


def test_missing_values_come_from_the_less_important_file(files: tuple[Path, Path]) -> None:
    settings = read_settings({}, files)
    assert (settings.value("zone"), settings.value("wake"), settings.value("output")) == ("project", "user", "text")
    assert settings.overrides["wake"] == SettingValue("user", str(files[0]))
    assert "output" not in settings.overrides


def test_absent_flag_and_empty_variable_are_ignored(files: tuple[Path, Path]) -> None:
    settings = read_settings({"HORAE_STORE": "  ", "HORAE_ZONE": ""}, files, {"store": None, "output": None})
    assert (settings.value("store"), settings.value("zone"), settings.value("output")) == ("project", "project", "text")


def test_of_several_variables_the_first_one_wins() -> None:
    both = {"HORAE_HTTP_MODE": "new", "ROUTER_MODE": "old", "SCHEDULER_ROUTER_MODE": "older"}
    assert read_settings(both).overrides["targets.http.mode"] == SettingValue("new", "HORAE_HTTP_MODE")
    del both["HORAE_HTTP_MODE"]
    assert read_settings(both).overrides["targets.http.mode"] == SettingValue("older", "SCHEDULER_ROUTER_MODE")


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: setting.path)
def test_every_variable_of_a_setting_is_read(setting: Any) -> None:
    assert setting.meaning
    assert setting.meaning_zh
    for variable in setting.variables:
        settings = read_settings({variable: " value "})
        assert settings.value(setting.path) == (("value",) if setting.kind == "list" else "value")
        assert settings.overrides[setting.path].origin == variable
    assert read_settings({}).value(setting.path) == setting.default


def test_no_two_settings_share_a_path_or_a_variable() -> None:
    paths = [setting.path for setting in SETTINGS]
    variables = [variable for setting in SETTINGS for variable in setting.variables]
    assert len(paths) == len(set(paths))
    assert len(variables) == len(set(variables))


# --- lists and targets -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["a,b", "a; b", " a ,, b ;", "a,b;"])
def test_lists_are_split_at_commas_or_semicolons(text: str) -> None:
    assert read_settings({"HORAE_COMMAND_ALLOW": text}).value("targets.command.allow") == ("a", "b")


def test_file_has_lists_and_target_tables(tmp_path: Path) -> None:
    text = '[targets.command]\nallow = ["a", "b"]\ngrace = 5\n[targets.own]\nurl = "x"\n'
    settings = read_settings({"HORAE_HTTP_MODE": "fast"}, a_file(tmp_path, text))
    assert settings.target("command") == {"allow": ["a", "b"], "grace": 5}
    assert settings.target("own") == {"url": "x"}
    assert settings.target("http") == {"mode": "fast"}
    assert settings.target("event") == {}


def test_file_accepts_toml_numbers_and_booleans(tmp_path: Path) -> None:
    file = tmp_path / "horae.toml"
    file.write_text("port = 4700\napi = false\nrate_limit = 30\n")
    settings = read_settings({}, (file,))
    assert [settings.value(name) for name in ("port", "api", "rate_limit")] == ["4700", "off", "30"]


def test_variable_overrides_a_target_setting_of_a_file(tmp_path: Path) -> None:
    files = a_file(tmp_path, '[targets.command]\nallow = ["a"]\ndirectory = "/srv"\n')
    settings = read_settings({"HORAE_COMMAND_ALLOW": "b"}, files)
    assert settings.target("command") == {"allow": ("b",), "directory": "/srv"}


# --- mistakes --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('stor = "x"\n', "'stor' is not a setting; the settings are store, zone, wake"),
        ("store = 5.5\n", "store must be a text"),
        ('zone = ["UTC"]\n', "zone must be a text"),
        ("[store]\na = 1\n", "store must be a text"),
        ("[engine]\nlease = 5\n", "'engine' is not a setting"),
        ("targets = 5\n", "'targets' is not a setting"),
        ("[targets]\ncommand = 5\n", "[targets.command] must be a table"),
        ("store = \n", "Invalid value"),
        ('store = "a"\nstore = "b"\n', "Cannot overwrite"),
    ],
)
def test_invalid_file_value_is_refused_with_the_file_name(tmp_path: Path, text: str, problem: str) -> None:
    files = a_file(tmp_path, text)
    with pytest.raises(BadSettings) as caught:
        read_settings({}, files)
    assert caught.value.file == str(files[0])
    assert problem in caught.value.problem
    assert str(caught.value).startswith(str(files[0]))


def test_unreadable_file_is_refused_and_absent_one_ignored(tmp_path: Path) -> None:
    folder, binary = tmp_path / "folder", tmp_path / "binary"
    folder.mkdir()
    binary.write_bytes(b"\xff\xfe\x00")
    for file in (folder, binary):
        with pytest.raises(BadSettings):
            read_settings({}, (file,))
    assert read_settings({}, (tmp_path / "absent.toml",)).overrides == {}


def test_unknown_setting_raises_key_error() -> None:
    with pytest.raises(KeyError):
        read_settings({}).value("no.such.setting")


# --- as a process chooses --------------------------------------------------------------------------------------------


def test_the_file_here_comes_before_the_users_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home, here = tmp_path / "home", tmp_path / "here"
    for folder, text in ((home, USER), (here, PROJECT)):
        folder.mkdir()
        (folder / "horae.toml").write_text(text)
    monkeypatch.setattr(process_settings, "user_file", lambda: home / "horae.toml")
    assert load_settings({}, here).value("store") == "project"
    assert load_settings({}, tmp_path).value("store") == "user"
    assert load_settings({"HORAE_STORE": "e"}, here, {"store": "f"}).value("store") == "f"


def test_a_bad_file_is_a_refusal_in_both_languages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process_settings, "user_file", lambda: tmp_path / "absent")
    a_file(tmp_path, "nonsense = 1\n")
    with pytest.raises(Refusal) as caught:
        load_settings({}, tmp_path)
    assert caught.value.code == "bad_settings"
    assert "nonsense" in caught.value.message
    assert "nonsense" in caught.value.in_language("zh").message


def test_store_precedence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process_settings, "data_file", lambda: Path("/home/horae.db"))
    assert store_url(read_settings({"HORAE_STORE": "memory://"}), tmp_path) == "memory://"
    assert store_url(read_settings({}), tmp_path) == "sqlite:////home/horae.db"
    (tmp_path / "horae.db").touch()
    assert store_url(read_settings({}), tmp_path).endswith("horae.db")
    assert store_url(read_settings({}), tmp_path) != "sqlite:////home/horae.db"


# --- wake and zone ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("environment", "precise"),
    [
        ({}, True),
        ({"HORAE_WAKE": "precise"}, True),
        ({"HORAE_WAKE": " POLL "}, False),
        ({"HORAE_WAKE": "sometimes"}, None),
        ({"USE_PRIORITY_QUEUE_SCHEDULER": "false"}, False),
        ({"USE_PRIORITY_QUEUE_SCHEDULER": "true"}, True),
        ({"HORAE_WAKE": "precise", "USE_PRIORITY_QUEUE_SCHEDULER": "0"}, True),
    ],
)
def test_wake_mode_by_either_variable(environment: dict[str, str], precise: bool | None) -> None:  # noqa: FBT001
    assert is_precise_wake(read_settings(environment), environment) is precise


@pytest.mark.parametrize(
    ("environment", "said", "precise"),
    [
        ({}, "poll", False),
        ({}, " Precise ", True),
        ({"HORAE_WAKE": "precise"}, "poll", True),
        ({"HORAE_WAKE": "poll"}, "sometimes", False),
        ({"USE_PRIORITY_QUEUE_SCHEDULER": "true"}, "poll", True),
        ({"USE_PRIORITY_QUEUE_SCHEDULER": "off"}, "precise", False),
    ],
)
def test_wake_mode_in_the_environment_overrides_the_file(
    tmp_path: Path,
    environment: dict[str, str],
    said: str,
    precise: bool,  # noqa: FBT001
) -> None:
    settings = read_settings(environment, a_file(tmp_path, f'wake = "{said}"\n'))
    assert read_wake_mode(settings, environment) is precise


def test_clock_tolerance_is_a_duration_or_seconds(tmp_path: Path) -> None:
    assert read_clock_tolerance(read_settings({})) is None
    for text, seconds in (("5m", 300), ("90", 90), ("0s", 0), ("1500ms", 1.5)):
        said = read_settings({"HORAE_CLOCK_TOLERANCE": text})
        assert read_clock_tolerance(said) == timedelta(seconds=seconds)
        assert read_clock_tolerance(read_settings({}, a_file(tmp_path, f'clock_tolerance = "{text}"\n'))) is not None
    for text in ("soon", "-1s", "NaN"):
        with pytest.raises(Refusal) as caught:
            read_clock_tolerance(read_settings({"HORAE_CLOCK_TOLERANCE": text}))
        assert (caught.value.code, caught.value.facts["name"]) == ("bad_duration", "HORAE_CLOCK_TOLERANCE")


def test_invalid_wake_mode_is_refused_with_its_source(tmp_path: Path) -> None:
    with pytest.raises(Refusal) as caught:
        read_wake_mode(read_settings({"HORAE_WAKE": "sometimes"}), {"HORAE_WAKE": "sometimes"})
    assert (caught.value.code, caught.value.facts["name"]) == ("bad_choice", "HORAE_WAKE")
    files = a_file(tmp_path, 'wake = "sometimes"\n')
    with pytest.raises(Refusal) as caught:
        read_wake_mode(read_settings({}, files), {})
    assert (caught.value.code, caught.value.facts["file"]) == ("bad_settings", str(files[0]))
    assert "sometimes" in caught.value.message


@pytest.mark.parametrize(
    ("flag", "environment", "name", "origin"),
    [
        ("Asia/Tokyo", {"HORAE_ZONE": "UTC"}, "Asia/Tokyo", "flag"),
        (None, {"HORAE_ZONE": "Asia/Tokyo", "TZ": "UTC"}, "Asia/Tokyo", "environment"),
        (None, {"TIMEZONE": "Asia/Tokyo", "TZ": "UTC"}, "Asia/Tokyo", "environment"),
        (None, {"TZ": ":Europe/Berlin"}, "Europe/Berlin", "environment"),
        (None, {"TZ": "/usr/share/zoneinfo/posix/Europe/Berlin"}, "Europe/Berlin", "environment"),
        (None, {"HORAE_ZONE": " "}, "UTC", "nowhere"),
    ],
)
def test_a_zone_is_never_assumed_silently(
    flag: str | None, environment: dict[str, str], name: str, origin: str, tmp_path: Path
) -> None:
    found = default_zone(flag, environment, tmp_path / "absent")
    assert (found.name, found.origin) == (name, origin)


def test_the_zone_of_the_machine_is_the_one_that_it_links_to(tmp_path: Path) -> None:
    zones = tmp_path / "zoneinfo" / "Europe"
    zones.mkdir(parents=True)
    (zones / "Berlin").touch()
    link = tmp_path / "localtime"
    link.symlink_to(zones / "Berlin")
    assert default_zone(None, {}, link).name == "Europe/Berlin"
    plain = tmp_path / "plain"
    plain.symlink_to(tmp_path / "elsewhere")
    assert default_zone(None, {}, plain).origin == "nowhere"
