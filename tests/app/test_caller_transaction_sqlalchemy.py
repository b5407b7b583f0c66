"""`schedule(…, using=…)` with connections and sessions of SQLAlchemy, as FastAPI users have them."""

from __future__ import annotations

import asyncio
import importlib
import json
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, create_engine, text
from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession, async_sessionmaker, create_async_engine
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column, scoped_session, sessionmaker

from horae import Conflict, Horae, Refusal
from horae.stores.sqlite.shared_transactions import shares_library
from tests.app import apsw_dbapi
from tests.docs.pages import sections
from tests.servers.postgres import PostgresServer

TIMEOUT_SECONDS = 120


class Base(DeclarativeBase):
    pass


class Order(Base):
    __tablename__ = "orders"
    number: Mapped[int] = mapped_column(primary_key=True)


def shop_app(url: str) -> Horae:
    app = Horae(url, zone="UTC", engine=False)

    @app.task(name="ship")
    async def ship(order: int) -> str:
        return f"shipped {order}"

    return app


async def names(app: Horae) -> list[str]:
    return sorted(task.name for task in await app.tasks())


# --- PostgreSQL, asyncpg underneath ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    with PostgresServer() as server:
        yield server


@asynccontextmanager
async def shop_on(server: PostgresServer) -> AsyncIterator[tuple[Horae, AsyncEngine]]:
    url = server.new_database()
    engine = create_async_engine(url.replace("postgresql://", "postgresql+asyncpg://"))
    try:
        async with engine.begin() as connection:
            await connection.run_sync(Base.metadata.create_all)
        async with shop_app(url) as app:
            yield app, engine
    finally:
        await engine.dispose()


async def _check_session(server: PostgresServer) -> None:
    async with shop_on(server) as (app, engine):
        sessions = async_sessionmaker(engine)
        async with sessions() as session:
            session.add(Order(number=7))
            await app.schedule("ship", "in 1h", {"order": 7}, name="seven", using=session)
            assert await names(app) == []
            await session.commit()
        async with sessions() as session, session.begin():
            # The session has executed nothing yet: the task begins the transaction.
            await app.schedule("ship", "in 1h", {"order": 8}, name="eight", using=session)
            session.add(Order(number=8))
        async with sessions() as session:
            session.add(Order(number=9))
            await app.schedule("ship", "in 1h", {"order": 9}, name="nine", using=session)
            await session.rollback()
        assert await names(app) == ["eight", "seven"]
        async with engine.connect() as connection:
            assert list(await connection.scalars(text("SELECT number FROM orders ORDER BY 1"))) == [7, 8]


async def test_task_and_rows_of_an_async_session_are_one_transaction(server: PostgresServer) -> None:
    await asyncio.wait_for(_check_session(server), TIMEOUT_SECONDS)


async def _check_connection_and_savepoint(server: PostgresServer) -> None:
    async with shop_on(server) as (app, engine):
        async with engine.connect() as connection:
            await app.schedule("ship", "in 1h", {"order": 1}, key="one", name="one", using=connection)
            async with connection.begin_nested() as savepoint:
                await app.schedule("ship", "in 1h", {"order": 2}, name="two", using=connection)
                await savepoint.rollback()
            with pytest.raises(Conflict) as refusal:
                await app.schedule("ship", "in 1h", {"order": 1}, key="one", using=connection)
            assert refusal.value.code == "key_taken"
            await connection.commit()
        assert await names(app) == ["one"]


async def test_async_connection_takes_part_with_its_savepoints(server: PostgresServer) -> None:
    await asyncio.wait_for(_check_connection_and_savepoint(server), TIMEOUT_SECONDS)


async def _refusals(server: PostgresServer) -> dict[str, tuple[str, str]]:
    found: dict[str, tuple[str, str]] = {}

    async def note(case: str, using: object) -> None:
        with pytest.raises(Refusal) as refusal:
            await app.schedule("ship", "in 1h", {"order": 1}, using=using)
        found[case] = refusal.value.code, str(refusal.value)

    async with shop_on(server) as (app, engine):
        await note("engine", engine)
        async with engine.connect() as connection:
            await connection.execution_options(isolation_level="AUTOCOMMIT")
            await note("autocommit", connection)
        await note("closed", connection)
        async with AsyncSession(engine) as session:
            await note("sync", session.sync_session)
            with pytest.raises(Exception, match="nothing"):
                await session.execute(text("SELECT * FROM nothing"))
            await note("failed", session)
        with Session(create_engine("sqlite://")) as other:
            await note("driver", other)
        assert await names(app) == []
    return found


async def test_connection_that_cannot_share_the_transaction_is_refused(server: PostgresServer) -> None:
    found = await asyncio.wait_for(_refusals(server), TIMEOUT_SECONDS)
    codes = {case: code for case, (code, _) in found.items()}
    assert codes == {
        "engine": "wrong_connection",
        "autocommit": "no_transaction",
        "closed": "wrong_connection",
        "sync": "wrong_connection",
        "failed": "failed_transaction",
        "driver": "wrong_connection",
    }
    assert "A SQLAlchemy Session over pysqlite" in found["driver"][1]
    assert "over asyncpg" in found["driver"][1]
    assert "AsyncSession itself" in found["sync"][1]


async def _check_documented_app(module: Any) -> None:
    async with module.engine.begin() as connection:
        await connection.run_sync(module.Base.metadata.create_all)
    async with module.web.router.lifespan_context(module.web):
        answer = await module.take_order("tea")
        (task,) = await module.horae.tasks()
        assert json.loads((await task.facts()).task.payload) == answer
    await module.engine.dispose()


async def test_documented_fastapi_app_schedules_in_its_own_transaction(
    server: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (shown,) = [section for section in sections("python.md") if "orders_api.py" in section.files]
    (tmp_path / "orders_api.py").write_text(shown.files["orders_api.py"], encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("DATABASE", server.new_database())
    await asyncio.wait_for(_check_documented_app(importlib.import_module("orders_api")), TIMEOUT_SECONDS)


# --- SQLite, apsw underneath -------------------------------------------------------------------------------------------------


@contextmanager
def shop_file(folder: Path) -> Iterator[tuple[str, Engine]]:
    place = f"{folder}/shop.db"
    engine = create_engine(f"sqlite:///{place}", module=apsw_dbapi)
    try:
        yield f"sqlite:///{place}", engine
    finally:
        engine.dispose()


async def _check_session_over_apsw(url: str, engine: Engine) -> None:
    async with shop_app(url) as app:
        Base.metadata.create_all(engine)
        with Session(engine) as session:
            session.add(Order(number=7))
            session.flush()
            await app.schedule("ship", "in 1h", {"order": 7}, name="seven", using=session)
            session.commit()
        with engine.connect() as connection:
            # The session has executed nothing yet: the task begins the transaction.
            await app.schedule("ship", "in 1h", {"order": 8}, name="eight", using=connection)
            connection.rollback()
        scoped = scoped_session(sessionmaker(engine))
        await app.schedule("ship", "in 1h", {"order": 9}, name="nine", using=scoped)
        scoped.commit()
        scoped.remove()
        assert await names(app) == ["nine", "seven"]
        with Session(engine) as session:
            assert [order.number for order in session.query(Order)] == [7]


async def test_task_and_rows_of_a_session_over_apsw_are_one_transaction(tmp_path: Path) -> None:
    with shop_file(tmp_path) as (url, engine):
        await asyncio.wait_for(_check_session_over_apsw(url, engine), TIMEOUT_SECONDS)


async def _refusal_over_sqlite3(url: str) -> str:
    engine = create_engine(url)
    try:
        async with shop_app(url) as app:
            with Session(engine) as session, pytest.raises(Refusal) as refusal:
                await app.schedule("ship", "in 1h", {"order": 7}, using=session)
            return refusal.value.code
    finally:
        engine.dispose()


@pytest.mark.skipif(shares_library(), reason="sqlite3 and apsw share one SQLite here, so the session is accepted")
async def test_session_over_another_copy_of_sqlite_is_refused(tmp_path: Path) -> None:
    assert (await _refusal_over_sqlite3(f"sqlite:///{tmp_path}/shop.db")) == "another_library"
    assert sqlite3.sqlite_version


def test_sqlalchemy_is_not_imported_by_horae(tmp_path: Path) -> None:
    code = f"""
import asyncio, sys
import apsw
from horae import Horae
app = Horae("sqlite:///{tmp_path}/shop.db", zone="UTC", engine=False)
app.task(name="ship")(print)
async def main():
    async with app:
        shop = apsw.Connection("{tmp_path}/shop.db")
        shop.execute("BEGIN IMMEDIATE")
        await app.schedule("ship", "in 1h", using=shop)
        shop.execute("COMMIT")
asyncio.run(main())
assert "sqlalchemy" not in sys.modules
"""
    done: Any = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
