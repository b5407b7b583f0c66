"""Secrets are encrypted, listed by name only, and revealed to runs of their owner."""

from __future__ import annotations

import asyncio
import json
import os
import pickle
import stat
import subprocess
import sys
from base64 import b64decode, b64encode
from collections.abc import Awaitable, Callable, Sequence
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from horae.encryption import Key, KeyFile, make_cipher
from horae.encryption.key_file import load_key, make_key
from horae.encryption.refusals import CATALOGUE
from horae.errors import Conflict, InvalidTask, NotFound, Refusal
from horae.model.accounts.principal import Principal
from horae.model.refusals import CATALOGUE as MODEL_CATALOGUE
from horae.ports.records import Record, Records, RecordWrite
from horae.service.accounts import secrets
from horae.service.accounts.secrets import KIND, VALUE_BYTES, SecretName, SecretVault, rotate_key
from horae.stores.memory import MemoryStore
from horae.stores.sqlite import SQLiteStore
from horae.testing.factories import HOUR, NOON
from horae.virtual_time import VirtualClock

ADA = Principal("ada")
BOB = Principal("bob")
ROOT = Principal("root", admin=True)

names = st.from_regex(r"[A-Za-z0-9_.-]{1,100}", fullmatch=True)
values = st.text(min_size=1, max_size=200)


class SecretSetup:
    def __init__(self, records: Records | None = None, key: Key | KeyFile | None = None) -> None:
        self.records = MemoryStore() if records is None else records
        self.clock = VirtualClock(NOON)
        self.key = Key.random() if key is None else key
        self.box = SecretVault(self.records, self.key, self.clock)

    async def all_records(self) -> tuple[Record, ...]:
        return (await self.records.records(KIND)).items


def _files(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir())


def code_of(error: pytest.ExceptionInfo[Refusal]) -> str:
    return error.value.code


# --- sealing -------------------------------------------------------------------------------------------------------


@given(st.binary(max_size=300), st.binary(max_size=60))
@example(b"", b"")
def test_sealed_value_decrypts(value: bytes, about: bytes) -> None:
    key = Key.random()
    sealed = key.seal(value, about)
    assert key.open(sealed, about) == value
    assert len(value) < 8 or value not in sealed


@settings(max_examples=15)
@given(st.binary(max_size=24))
def test_every_flipped_bit_is_refused(value: bytes) -> None:
    key = Key(bytes(range(32)))
    sealed = key.seal(value, b"about")
    for place in range(len(sealed) * 8):
        changed = bytearray(sealed)
        changed[place // 8] ^= 1 << place % 8
        assert key.open(bytes(changed), b"about") is None


@given(st.binary(max_size=40), st.integers(0, 70))
def test_truncated_or_extended_value_is_refused(value: bytes, length: int) -> None:
    key = Key.random()
    sealed = key.seal(value, b"")
    assert key.open(sealed[:length], b"") == (value if length >= len(sealed) else None)
    assert key.open(sealed + b"\0", b"") is None


@given(st.binary(max_size=40), st.binary(max_size=40))
def test_other_context_or_key_does_not_decrypt(about: bytes, other: bytes) -> None:
    key = Key.random()
    sealed = key.seal(b"value", about)
    assert key.open(sealed, other) == (b"value" if about == other else None)
    assert Key.random().open(sealed, about) is None


def test_nonces_are_unique() -> None:
    key = Key.random()
    sealed = [key.seal(b"the same", b"place") for _ in range(5_000)]
    assert len({each[1:13] for each in sealed}) == len(sealed)


def test_key_is_not_shown_in_repr() -> None:
    secret = b"0123456789abcdefghijklmnopqrstuv"
    key = Key(secret, "a test")
    assert secret.decode() not in f"{key!r} {key}"
    with pytest.raises(TypeError):
        pickle.dumps(key)


def test_without_the_library_the_refusal_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    sealed = Key(bytes(32)).seal(b"value", b"")
    for module in [name for name in sys.modules if name.partition(".")[0] == "cryptography"]:
        monkeypatch.setitem(sys.modules, module, None)
    for attempt in (Key.seal, Key.open):
        with pytest.raises(Conflict, match=r"pip install 'horae\[secrets\]'") as error:
            attempt(Key(bytes(32)), sealed, b"")
        assert code_of(error) == "secrets_library_missing"


def test_the_library_is_loaded_only_when_something_is_sealed() -> None:
    script = (
        "import sys, horae.service.accounts.secrets; from horae.encryption import Key; key = Key.random();"
        "assert not [name for name in sys.modules if name.startswith('cryptography')];"
        "key.seal(b'', b''); assert 'cryptography' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)


# --- the key file --------------------------------------------------------------------------------------------------


def test_the_first_use_makes_a_key_that_only_its_owner_may_read(tmp_path: Path) -> None:
    path = tmp_path / "horae.key"
    file = KeyFile(path)
    assert not path.exists()
    sealed = file.seal(b"value", b"")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert path.stat().st_size == 32
    assert _files(tmp_path) == ["horae.key"], "no draft is left behind"
    assert KeyFile(path).open(sealed, b"") == b"value"


def test_a_wide_umask_does_not_open_the_key(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        make_key(tmp_path / "horae.key")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "horae.key").stat().st_mode) == 0o600


def test_decrypting_creates_no_key(tmp_path: Path) -> None:
    assert KeyFile(tmp_path / "horae.key").open(Key.random().seal(b"value", b""), b"") is None
    assert _files(tmp_path) == []


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o610, 0o777])
def test_a_key_that_others_may_read_is_refused_with_the_command_that_closes_it(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "a key"
    make_key(path)
    path.chmod(mode)
    with pytest.raises(Conflict) as error:
        KeyFile(path).seal(b"value", b"")
    assert code_of(error) == "key_file_exposed"
    assert error.value.facts["quoted"] == f"'{path}'"
    assert error.value.hint.startswith("Close it with: chmod 600 '")
    path.chmod(0o600)
    KeyFile(path).seal(b"value", b"")


@pytest.mark.parametrize("size", [0, 31, 33, 4096])
def test_a_key_of_another_length_is_refused_and_not_replaced(tmp_path: Path, size: int) -> None:
    path = tmp_path / "horae.key"
    path.write_bytes(bytes(size))
    path.chmod(0o600)
    with pytest.raises(Conflict) as error:
        KeyFile(path).seal(b"value", b"")
    assert code_of(error) == "key_length"
    assert path.stat().st_size == size


def test_key_path_that_is_no_file_is_refused_without_blocking(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe", 0o600)
    (tmp_path / "folder").mkdir()
    for name in ("pipe", "folder"):
        with pytest.raises(Conflict) as error:
            load_key(tmp_path / name)
        assert code_of(error) == "key_file_unusable"


def test_key_in_an_absent_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Conflict, match="HORAE_KEY_FILE") as error:
        KeyFile(tmp_path / "nowhere" / "horae.key").seal(b"value", b"")
    assert code_of(error) == "key_file_unusable"


def test_concurrent_processes_create_one_key(tmp_path: Path) -> None:
    script = (
        "import sys; from pathlib import Path; from horae.encryption import KeyFile\n"
        "file = KeyFile(Path(sys.argv[1])); print('ready', flush=True); sys.stdin.readline()\n"
        "print(file.seal(b'value', b'about').hex(), flush=True)"
    )
    path = tmp_path / "horae.key"
    command = [sys.executable, "-c", script, str(path)]
    processes = [subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    sealed = _released_together(processes)
    key = load_key(path)
    assert key is not None
    assert [key.open(bytes.fromhex(each), b"about") for each in sealed] == [b"value"] * len(processes)
    assert _files(tmp_path) == ["horae.key"]


def _released_together(processes: list[subprocess.Popen[str]]) -> list[str]:
    try:
        for each in processes:
            assert each.stdout is not None
            assert each.stdout.readline() == "ready\n"
        for each in processes:
            assert each.stdin is not None
            each.stdin.write("go\n")
            each.stdin.flush()
        return [each.communicate(timeout=60)[0].strip() for each in processes]
    finally:
        for each in processes:
            each.kill()
            each.wait()


def test_key_file_of_a_deployment(tmp_path: Path) -> None:
    database = tmp_path / "data" / "horae.db"
    database.parent.mkdir()
    (tmp_path / "link.db").symlink_to(database)
    assert make_cipher(None, None).origin == "memory"
    assert make_cipher(str(database), None).origin == str(tmp_path / "data" / "horae.key")
    assert make_cipher(str(tmp_path / "link.db"), None).origin == str(tmp_path / "data" / "horae.key")
    assert make_cipher(str(database), "/run/keys/horae").origin == "/run/keys/horae"
    assert make_cipher(str(database), " ").origin == str(tmp_path / "data" / "horae.key")


# --- the box -------------------------------------------------------------------------------------------------------


@settings(max_examples=40)
@given(st.text(st.characters(categories=["L", "N", "P"]), min_size=1, max_size=40), names, values)
@example("group:a/b", "..", "x" * VALUE_BYTES)
async def test_value_is_revealed_to_its_owner_and_stored_encrypted(owner: str, name: str, value: str) -> None:
    desk = SecretSetup()
    await desk.box.set(Principal(owner), name, value)
    assert await desk.box.reveal(owner, name) == value
    assert await desk.box.reveal(owner + "x", name) is None
    (record,) = await desk.all_records()
    assert record.owner == owner
    assert len(value) < 8 or value not in record.body
    assert json.loads(record.body).keys() == {"sealed", "updated"}


async def test_record_keys_of_owner_and_name_do_not_collide() -> None:
    desk = SecretSetup()
    for owner, name in (("a", "b"), ("a/b", "c"), ("a/b/c", "d"), ("a", "b.c")):
        await desk.box.set(Principal(owner), name, f"{owner} {name}")
    for owner, name in (("a", "b"), ("a/b", "c"), ("a/b/c", "d"), ("a", "b.c")):
        assert await desk.box.reveal(owner, name) == f"{owner} {name}"
    assert await desk.box.reveal("a", "b/c") is None
    assert await desk.box.reveal("a/b", "d") is None


async def test_secret_names_are_listed_to_their_owner_only() -> None:
    desk = SecretSetup()
    await desk.box.set(ADA, "token", "hunter22")
    desk.clock.advance(3600)
    await desk.box.set(ADA, "pin", "90210")
    await desk.box.set(ROOT, "token", "swordfish", owner="bob")
    mine = [SecretName("pin", "ada", NOON + HOUR), SecretName("token", "ada", NOON)]
    assert list((await desk.box.names(ADA)).items) == mine
    assert [each.name for each in (await desk.box.names(BOB)).items] == ["token"]
    assert [each.owner for each in (await desk.box.names(ROOT)).items] == ["ada", "ada", "bob"]
    assert [each.owner for each in (await desk.box.names(ROOT, "bob")).items] == ["bob"]
    assert "hunter22" not in repr((await desk.box.names(ADA), desk.box))
    first = await desk.box.names(ROOT, limit=2)
    assert [each.owner for each in (await desk.box.names(ROOT, after=first.after)).items] == ["bob"]
    with pytest.raises(NotFound):
        await desk.box.names(BOB, "ada")


async def test_setting_a_secret_replaces_its_value() -> None:
    desk = SecretSetup()
    await desk.box.set(ADA, "token", "before")
    desk.clock.advance(60)
    assert (await desk.box.set(ADA, "token", "after")).updated == NOON + timedelta(minutes=1)
    assert await desk.box.reveal("ada", "token") == "after"
    assert len(await desk.all_records()) == 1


async def test_absent_and_foreign_secrets_answer_alike() -> None:
    desk = SecretSetup()
    await desk.box.set(ADA, "token", "hunter22")
    answers = []
    for who, name, owner in (
        (BOB, "token", None),
        (BOB, "token", "ada"),
        (BOB, "token", "eve"),
        (ROOT, "token", "eve"),
    ):
        with pytest.raises(NotFound) as error:
            await desk.box.remove(who, name, owner)
        answers.append((error.value.code, str(error.value), error.value.facts))
    assert all(answer == answers[0] for answer in answers)
    with pytest.raises(NotFound) as foreign:
        await desk.box.set(BOB, "token", "mine now", owner="ada")
    assert code_of(foreign) == "foreign_owner"
    assert await desk.box.reveal("ada", "token") == "hunter22"
    await desk.box.remove(ROOT, "token", "ada")
    assert await desk.box.reveal("ada", "token") is None


@pytest.mark.parametrize("name", ["", "a b", "a/b", "a" * 101, "naïve", "a\n", "$(id)", None, 7])
async def test_other_names_are_refused(name: str) -> None:
    desk = SecretSetup()
    with pytest.raises(InvalidTask) as error:
        await desk.box.set(ADA, name, "value")
    assert code_of(error) == "bad_secret_name"
    with pytest.raises(InvalidTask):
        await desk.box.remove(ADA, name)
    assert await desk.all_records() == ()


@pytest.mark.parametrize("value", ["", "é" * (VALUE_BYTES // 2) + "x", "hunter22\ud800", b"hunter22", None])
async def test_invalid_secret_values_are_refused_without_being_shown(value: str) -> None:
    desk = SecretSetup()
    with pytest.raises(InvalidTask) as error:
        await desk.box.set(ADA, "token", value)
    assert code_of(error) == "bad_secret_value"
    assert "hunter22" not in str(error.value)
    assert await desk.all_records() == ()


@pytest.mark.parametrize("owner", ["", "a\nb", "a" * 201])
async def test_admin_cannot_set_a_secret_of_an_invalid_owner(owner: str) -> None:
    desk = SecretSetup()
    with pytest.raises(InvalidTask) as error:
        await desk.box.set(ROOT, "token", "value", owner)
    assert code_of(error) == "bad_text"


async def test_number_of_secrets_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(secrets, "MAX_SECRETS", 3)

    desk = SecretSetup()
    for number in range(3):
        await desk.box.set(ADA, f"s{number}", "value")
    with pytest.raises(Conflict) as error:
        await desk.box.set(ADA, "s3", "value")
    assert code_of(error) == "too_many_secrets"
    await desk.box.set(ADA, "s2", "another value")
    await desk.box.set(BOB, "s3", "value")


async def test_sealed_value_under_another_name_does_not_decrypt() -> None:
    desk = SecretSetup()
    await desk.box.set(ADA, "token", "hunter22")
    (record,) = await desk.all_records()
    for owner, name in (("bob", "token"), ("ada", "other")):
        moved = Record(KIND, f"{owner}/{name}", owner, record.body)
        assert await desk.records.put_record(moved, replacing=None)
        with pytest.raises(Conflict) as error:
            await desk.box.reveal(owner, name)
        assert code_of(error) == "secret_sealed_otherwise"


@pytest.mark.parametrize("body", ['{"sealed": "x"}', "{}", "[]", "nonsense", '{"sealed": 1}', '{"sealed": ""}'])
async def test_damaged_secret_is_refused_and_can_be_set_again(body: str) -> None:
    desk = SecretSetup()
    assert await desk.records.put_record(Record(KIND, "ada/token", "ada", body), replacing=None)
    with pytest.raises(Conflict) as error:
        await desk.box.reveal("ada", "token")
    assert code_of(error) == "secret_sealed_otherwise"
    await desk.box.set(ADA, "token", "again")
    assert await desk.box.reveal("ada", "token") == "again"


async def test_wrong_key_is_reported_with_its_file(tmp_path: Path) -> None:
    path = tmp_path / "horae.key"

    desk = SecretSetup(key=KeyFile(path))
    await desk.box.set(ADA, "token", "hunter22")
    path.unlink()
    others = SecretVault(desk.records, KeyFile(path), desk.clock)
    for _ in range(2):
        with pytest.raises(Conflict) as error:
            await others.reveal("ada", "token")
        assert code_of(error) == "secret_sealed_otherwise"
        assert error.value.facts["origin"] == str(path)
        # The second time round there is a key again, and it is not the one.
        await others.set(BOB, "token", "new")
    await others.set(ADA, "token", "hunter23")
    assert await others.reveal("ada", "token") == "hunter23"


# --- races ---------------------------------------------------------------------------------------------------------


class ContestedStore(MemoryStore):
    """Another writer wins the race, `times` times."""

    def __init__(self, times: int) -> None:
        super().__init__()
        self.times = times

    async def write_records(self, writings: Sequence[RecordWrite]) -> bool:
        self._overtake(writings[0].record)
        return await super().write_records(writings)

    def _overtake(self, record: Record) -> None:
        if self.times > 0:
            self.times -= 1
            known = self._data.records.get((record.kind, record.key))
            version = 1 if known is None else known.version + 1
            with self._data.transaction():
                self._data.records.write((record.kind, record.key), record._replace(version=version))


async def test_lost_write_races_are_retried() -> None:
    desk = SecretSetup(ContestedStore(4))
    await desk.box.set(ADA, "token", "mine")
    assert await desk.box.reveal("ada", "token") == "mine"
    store = desk.records
    assert isinstance(store, ContestedStore)
    assert store.times == 0
    store.times = 4
    await desk.box.remove(ADA, "token")
    assert await desk.all_records() == ()


async def test_permanent_write_conflicts_are_refused() -> None:
    desk = SecretSetup(ContestedStore(10000))
    with pytest.raises(Conflict) as error:
        await desk.box.set(ADA, "token", "mine")
    assert code_of(error) == "secret_contested"
    with pytest.raises(Conflict):
        await desk.box.remove(ADA, "token")


async def test_concurrent_writers_on_sqlite_leave_one_value(tmp_path: Path) -> None:
    store = SQLiteStore(str(tmp_path / "horae.db"))
    await store.open()
    try:
        desk = SecretSetup(store, KeyFile(tmp_path / "horae.key"))
        await asyncio.gather(*(desk.box.set(ADA, "token", f"value {number}") for number in range(8)))
        assert await desk.box.reveal("ada", "token") in {f"value {number}" for number in range(8)}
        (record,) = await desk.all_records()
        assert record.version == 8
    finally:
        await store.close()
    assert b"value 7" not in (tmp_path / "horae.db").read_bytes()


# --- rotation ------------------------------------------------------------------------------------------------------


async def test_a_rotation_seals_everything_with_the_new_key() -> None:
    desk = SecretSetup()
    for number in range(5):
        await desk.box.set(ADA, f"s{number}", f"value {number}")
    desk.clock.advance(60)
    new = Key.random()
    assert await desk.box.rotate(new) == 5
    again = SecretVault(desk.records, new, desk.clock)
    assert [await again.reveal("ada", f"s{number}") for number in range(5)] == [f"value {n}" for n in range(5)]
    assert {each.updated for each in (await again.names(ADA)).items} == {NOON}, "no value is newer for it"
    await desk.box.set(ADA, "late", "value")
    assert await again.reveal("ada", "late") == "value"
    with pytest.raises(Conflict):
        await SecretVault(desk.records, desk.key, desk.clock).reveal("ada", "s0")


async def test_interrupted_rotation_is_finished_by_the_next_one(tmp_path: Path) -> None:
    path = tmp_path / "horae.key"

    desk = SecretSetup(key=KeyFile(path))
    for number in range(4):
        await desk.box.set(ADA, f"s{number}", f"value {number}")
    old = path.read_bytes()
    next_key = KeyFile(path).next_key()
    half = [record for record in await desk.all_records() if record.key in ("ada/s0", "ada/s2")]
    for record in half:
        assert await _resealed(desk, record, next_key)
    # Between the two keys all processes read with both and write with the new one.
    meanwhile = SecretVault(desk.records, KeyFile(path), desk.clock)
    assert [await meanwhile.reveal("ada", f"s{number}") for number in range(4)] == [f"value {n}" for n in range(4)]
    await meanwhile.set(ADA, "s9", "value 9")
    file = KeyFile(path)
    assert await rotate_key(SecretVault(desk.records, file, desk.clock), file) == 2
    assert path.read_bytes() != old
    assert _files(tmp_path) == ["horae.key"]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    for box in (desk.box, meanwhile, SecretVault(desk.records, KeyFile(path), desk.clock)):
        assert [await box.reveal("ada", f"s{number}") for number in (0, 1, 9)] == ["value 0", "value 1", "value 9"]


async def _resealed(desk: SecretSetup, record: Record, key: Key) -> bool:
    name = record.key.rpartition("/")[2]
    about = json.dumps([KIND, record.owner, name]).encode()
    body = json.loads(record.body)
    value = desk.key.open(b64decode(body["sealed"]), about)
    assert value is not None
    body["sealed"] = b64encode(key.seal(value, about)).decode()
    return await desk.records.put_record(record._replace(body=json.dumps(body)), replacing=record.version)


async def test_rotation_with_concurrent_writers_loses_nothing() -> None:
    desk = SecretSetup(ContestedStore(0))
    for number in range(3):
        await desk.box.set(ADA, f"s{number}", "value")
    store = desk.records
    assert isinstance(store, ContestedStore)
    store.times = 2
    new = Key.random()
    await desk.box.rotate(new)
    again = SecretVault(store, new, desk.clock)
    assert [await again.reveal("ada", f"s{number}") for number in range(3)] == ["value"] * 3


class InterruptedStore(MemoryStore):
    """Something happens just before the next write, once."""

    def __init__(self) -> None:
        super().__init__()
        self.before_write: Callable[[], Awaitable[object]] | None = None

    async def put_record(self, record: Record, *, replacing: int | None) -> bool:
        before, self.before_write = self.before_write, None
        if before is not None:
            await before()
        return await super().put_record(record, replacing=replacing)

    async def write_records(self, writings: Sequence[RecordWrite]) -> bool:
        before, self.before_write = self.before_write, None
        if before is not None:
            await before()
        return await super().write_records(writings)


async def test_rotation_reencrypts_secrets_set_behind_its_cursor() -> None:
    desk = SecretSetup(InterruptedStore())
    store = desk.records
    assert isinstance(store, InterruptedStore)
    await desk.box.set(ADA, "s5", "value")
    late = SecretVault(store, desk.key, desk.clock)
    store.before_write = lambda: late.set(ADA, "s1", "set with the old key")
    new = Key.random()
    assert await desk.box.rotate(new) == 2
    assert await SecretVault(store, new, desk.clock).reveal("ada", "s1") == "set with the old key"


async def test_write_after_a_rotation_elsewhere_uses_the_new_key(tmp_path: Path) -> None:
    path = tmp_path / "horae.key"

    desk = SecretSetup(InterruptedStore(), KeyFile(path))
    store = desk.records
    assert isinstance(store, InterruptedStore)
    await desk.box.set(ADA, "other", "value")
    file = KeyFile(path)
    store.before_write = lambda: rotate_key(SecretVault(store, file, desk.clock), file)
    await desk.box.set(ADA, "late", "on its way when the key went")
    fresh = SecretVault(store, KeyFile(path), desk.clock)
    assert await fresh.reveal("ada", "late") == "on its way when the key went"
    assert await fresh.reveal("ada", "other") == "value"


async def test_secret_set_between_last_pass_and_key_switch_is_reencrypted(tmp_path: Path) -> None:
    path = tmp_path / "horae.key"

    desk = SecretSetup(InterruptedStore(), KeyFile(path))
    store = desk.records
    assert isinstance(store, InterruptedStore)
    file = KeyFile(path)
    await desk.box.set(ADA, "other", "value")
    store.before_write = lambda: SecretVault(store, file, desk.clock).rotate(file.next_key())
    await desk.box.set(ADA, "late", "sealed with the key that goes")
    file.promote()
    assert await SecretVault(store, KeyFile(path), desk.clock).reveal("ada", "late") == "sealed with the key that goes"


async def test_vault_writes_with_the_new_key_during_a_rotation() -> None:
    desk = SecretSetup(InterruptedStore())
    store = desk.records
    assert isinstance(store, InterruptedStore)
    await desk.box.set(ADA, "other", "value")
    new = Key.random()

    async def meanwhile() -> None:
        await desk.box.set(ADA, "late", "new")
        assert await desk.box.reveal("ada", "late") == "new"
        assert await desk.box.reveal("ada", "other") == "value"

    store.before_write = meanwhile
    # Only the other one was left to be sealed anew.
    assert await desk.box.rotate(new) == 1
    assert await SecretVault(store, new, desk.clock).reveal("ada", "late") == "new"


async def test_rotation_stops_at_an_undecryptable_secret_and_keeps_the_old_key(tmp_path: Path) -> None:
    path = tmp_path / "horae.key"

    desk = SecretSetup(key=KeyFile(path))
    await desk.box.set(ADA, "good", "value")
    await SecretVault(desk.records, Key.random(), desk.clock).set(ADA, "lost", "value")
    before = path.read_bytes()
    file = KeyFile(path)
    box = SecretVault(desk.records, file, desk.clock)
    with pytest.raises(Conflict) as error:
        await rotate_key(box, file)
    assert code_of(error) == "secret_sealed_otherwise"
    assert path.read_bytes() == before
    assert _files(tmp_path) == ["horae.key"]
    assert await box.reveal("ada", "good") == "value"
    await box.remove(ADA, "lost")
    await rotate_key(box, file)
    assert path.read_bytes() != before
    assert await box.reveal("ada", "good") == "value"


async def test_rotation_with_a_wrong_key_is_refused_and_the_right_key_is_used_afterwards(
    tmp_path: Path,
) -> None:
    right, wrong = tmp_path / "right.key", tmp_path / "wrong.key"

    desk = SecretSetup(key=KeyFile(right))
    await desk.box.set(ADA, "token", "value")
    make_key(wrong)
    file = KeyFile(wrong)
    with pytest.raises(Conflict) as error:
        await rotate_key(SecretVault(desk.records, file, desk.clock), file)
    assert code_of(error) == "secret_sealed_otherwise"
    wrong.write_bytes(right.read_bytes())
    await SecretVault(desk.records, KeyFile(wrong), desk.clock).set(ADA, "later", "too")
    assert await desk.box.reveal("ada", "later") == "too"
    assert await desk.box.reveal("ada", "token") == "value"


# --- refusals ------------------------------------------------------------------------------------------------------


def test_every_refusal_has_both_languages_and_a_code_of_its_own() -> None:
    assert CATALOGUE.keys().isdisjoint(MODEL_CATALOGUE)
    for entry in CATALOGUE.values():
        assert all(entry[1:])
        assert any("一" <= letter <= "鿿" for letter in entry.message_zh)
        assert not set("，：；") & set(entry.message_zh + entry.hint_zh), "half-width, as everywhere"
