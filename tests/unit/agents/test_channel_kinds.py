"""Registry of chat channels: built-in kinds, entry points, and the tables of the settings."""

from __future__ import annotations

from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from horae.agents.channels.channel_settings import ChannelSettings
from horae.clock import SystemClock
from horae.errors import Refusal
from horae.ports.channel import Channel, ChannelTools
from horae.runtime.agents import channel_kinds
from horae.runtime.agents.channel_kinds import channel_kind_names, find_channel_kind, open_channels
from horae.settings import Settings, read_settings
from horae.testing.contracts.channels import KnownSecrets


def settings_of(folder: Path, text: str) -> Settings:
    file = folder / "horae.toml"
    file.write_text(text, encoding="utf-8")
    return read_settings({}, (file,))


def open_all(folder: Path, text: str) -> dict[str, Channel]:
    return open_channels(settings_of(folder, text), SystemClock(), KnownSecrets({}))


class PostCard:
    """A kind of another package: its channels are the tools that it was given."""

    kind = "post_card"

    def open(self, tools: ChannelTools) -> Channel:
        return tools  # type: ignore[return-value]


def test_every_built_in_kind_has_its_name() -> None:
    assert [find_channel_kind(name).kind for name in channel_kind_names()] == list(channel_kind_names())


def test_channels_of_the_settings_are_opened_by_name(tmp_path: Path) -> None:
    text = '[channels.telegram]\ntoken = "bot"\n[channels.second]\nkind = "telegram"\ntoken_file = "~/token"\n'
    channels = open_all(tmp_path, text)
    assert sorted(channels) == ["second", "telegram", "web"]


def test_web_channel_needs_no_table(tmp_path: Path) -> None:
    assert list(open_all(tmp_path, 'zone = "UTC"\n')) == ["web"]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('[channels.telegramm]\ntoken = "x"\n', "'telegramm' is not a kind of chat channel"),
        ("[channels.telegram]\n", ""),
        ('[channels.telegram]\ntokn = "x"\n', "it has no setting 'tokn'; did you mean token?"),
        ('[channels.telegram]\nbase_url = "https://x"\n', "token_file or token is missing"),
        ('[channels.telegram]\ntoken = ""\n', "token must be a text"),
        ('[channels.telegram]\ntoken = "x"\nbase_url = 5.5\n', "base_url must be a text"),
        ('[channels.telegram]\ntoken = "x"\nbase_url = "http://10.0.0.1"\n', "10.0.0.1"),
        ('[channels.xmpp]\npassword = "x"\n', "jid is missing"),
        ('[channels.xmpp]\npassword = "x"\njid = "a@b"\nrooms = [5]\n', "rooms must be a list of texts"),
        ('[channels.xmpp]\npassword = "x"\njid = "a@b"\nhost = "h"\nport = 0\n', "port must be a whole number"),
    ],
)
def test_settings_that_could_never_work_are_refused(tmp_path: Path, text: str, problem: str) -> None:
    if not problem:
        assert list(open_all(tmp_path, text)) == ["web"]  # an empty table has no values
        return
    with pytest.raises(Refusal) as refused:
        open_all(tmp_path, text)
    assert problem in refused.value.message


def test_private_network_is_allowed_by_the_operator(tmp_path: Path) -> None:
    text = 'outgoing_networks = ["10.0.0.0/8"]\n[channels.telegram]\ntoken = "x"\nbase_url = "http://10.0.0.1"\n'
    assert sorted(open_all(tmp_path, text)) == ["telegram", "web"]


def test_channel_of_another_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = EntryPoint("post_card", f"{__name__}:PostCard", channel_kinds.ENTRY_POINTS)
    monkeypatch.setattr(EntryPoint, "load", lambda _: PostCard)
    monkeypatch.setattr(channel_kinds, "entry_points", lambda group: (found,) if group == "horae.channels" else ())
    assert "post_card" in channel_kind_names()
    tools = open_all(tmp_path, '[channels.cards]\nkind = "post_card"\ncolour = "blue"\n')["cards"]
    assert isinstance(tools, ChannelTools)
    assert tools.settings == {"kind": "post_card", "colour": "blue", "name": "cards"}


async def test_secret_is_read_from_its_file_at_each_use(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("one\n")
    secret = ChannelSettings("x", {"token_file": str(file)}, (), ("token",)).secret("token", KnownSecrets({}))
    assert await secret.read() == "one"
    file.write_text("two\n")
    assert await secret.read() == "two"
    assert "two" not in repr(secret)


async def test_secret_of_the_local_owner_is_read_by_name() -> None:
    table = {"token": "bot"}
    secret = ChannelSettings("x", table, (), ("token",)).secret("token", KnownSecrets({"bot": "three"}))
    assert await secret.read() == "three"


@pytest.mark.parametrize("content", ["", "alpha\nbeta", None])
async def test_secret_that_cannot_be_read_is_refused(tmp_path: Path, content: str | None) -> None:
    file = tmp_path / "token"
    if content is not None:
        file.write_text(content)
    secret = ChannelSettings("x", {"token_file": str(file)}, (), ("token",)).secret("token", KnownSecrets({}))
    with pytest.raises(Refusal) as refused:
        await secret.read()
    assert "alpha" not in refused.value.message


async def test_secret_that_the_owner_does_not_have_is_refused() -> None:
    secret = ChannelSettings("x", {"token": "bot"}, (), ("token",)).secret("token", KnownSecrets({}))
    with pytest.raises(Refusal, match="the owner local has no secret 'bot'"):
        await secret.read()
