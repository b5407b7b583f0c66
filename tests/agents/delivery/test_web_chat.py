"""The whole path of a web chat: a message over the service, `horae up --agents` with bubblewrap and the echo mind, the answer."""

from __future__ import annotations

import asyncio
from pathlib import Path

from horae import Horae
from horae.clock import SystemClock
from horae.model.accounts.principal import LOCAL
from horae.model.events.event import EventKind
from horae.service.events.event_tail import Batch, EventFilter, EventTail
from tests.agents.host.up_process import WITHIN, chat_node


async def test_message_in_a_web_chat_is_answered_there(tmp_path: Path) -> None:
    async with chat_node(tmp_path) as node, Horae(node.store, engine=False) as app:
        service = app.service
        await service.groups.add(LOCAL, "family", "web:family")
        async with node.up() as up:
            tail = EventTail(service.store, service.event_encoder, SystemClock())
            sent_only = EventFilter(frozenset({EventKind.DELIVERY_SENT}))
            async with tail.listen(LOCAL, sent_only, None) as listener:
                await service.chats.send(LOCAL, "web:family", "@Andy hello", message_id="m-1")
                async with asyncio.timeout(WITHIN):
                    while not isinstance(await listener.next(), Batch):
                        pass
            await tail.close()
            assert "web" in up.ready["agents"]["channels"]
        question, answer = (await service.chats.transcript(LOCAL, "web:family")).messages
    assert question.message.text == "@Andy hello"
    assert answer.message.is_own
    assert "hello" in answer.message.text
    assert answer.delivery is not None
    assert answer.delivery.state == "sent"
    assert answer.run_id is not None
