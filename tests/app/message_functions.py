"""Functions that a child process can import: they use the messages, the records and the service of their runs."""

from __future__ import annotations

from horae import Context, Refusal

CHAT = "chat:1"


def handle(context: Context) -> list[str]:
    """Answer the new messages, count runs and schedule a task; fails once if it is told to."""
    page = context.call(context.messages.read(CHAT))
    texts = [each.message.text for each in page.messages if each.message.source != "run"]
    for message in page.messages:
        if message.message.source != "run":
            context.messages.send(CHAT, f"re: {message.message.text}", references=[{"number": message.number}])
        context.acknowledge(CHAT, message.number)
    runs = context.call(context.records.get("runs", 0))
    context.call(context.records.put("runs", runs + 1))
    if "fail" in texts:
        raise ValueError("disk full")
    context.call(context.service.schedule("later", "every 1h", key="follow-up", name="follow-up"))
    return texts


async def handle_async(context: Context) -> list[str]:
    page = await context.messages.read(CHAT)
    for message in page.messages:
        context.messages.send(CHAT, f"re: {message.message.text}")
        context.acknowledge(CHAT, message.number)
    await context.records.put("runs", 1)
    await context.commit()
    await context.records.put("runs", await context.records.get("runs") + 1)
    await context.service.schedule("later", "every 1h", key="follow-up", name="follow-up")
    return [each.message.text for each in page.messages]


def read_large(context: Context) -> int:
    """Read a page that is larger than a pipe."""
    page = context.call(context.messages.read(CHAT, limit=200))
    return sum(len(each.message.text) for each in page.messages)


async def refused(context: Context) -> list[str]:
    codes = []
    try:
        context.messages.send(CHAT, "x" * 70_000)
    except Refusal as refusal:
        codes.append(refusal.code)
    try:
        context.messages.send(CHAT, "x" * 3_000_000)
    except Refusal as refusal:
        codes.append(refusal.code)
    try:
        await context.messages.read("absent")
    except Refusal as refusal:
        codes.append(refusal.code)
    try:
        await context.service.pause("foreign")
    except Refusal as refusal:
        codes.append(refusal.code)
    try:
        await context.records.put("large", "x" * 70_000)
    except Refusal as refusal:
        codes.append(refusal.code)
    return codes


def later() -> None: ...
