"""Agent that does what its prompt says, one instruction for each message or line: `say X`, `crash`, `error X`, `hang`, …"""

from __future__ import annotations

import json
import os
import re
import select
import signal
import sys
from pathlib import Path
from typing import Any

INBOX = Path(sys.argv[1])
IPC = INBOX.parent
MARK = "---NANOCLAW_OUTPUT_{}---"


def emit(result: str | None = None, status: str = "success", **fields: Any) -> None:
    body = json.dumps({"status": status, "result": result, **fields})
    sys.stdout.write(f"\n{MARK.format('START')}\n{body}\n{MARK.format('END')}\n")
    sys.stdout.flush()


def pause() -> None:
    """Wait for a moment without the clock of Horae: this program runs inside of a sandbox."""
    select.select([], [], [], 0.01)


def take() -> str | None:
    """Wait for a message or the request to close; return the text, or None."""
    while True:
        names = sorted(path for path in INBOX.iterdir() if path.suffix == ".json")
        if names:
            text: str = json.loads(names[0].read_bytes())["text"]
            names[0].unlink()
            return text
        close = INBOX / "_close"
        if close.exists():
            close.unlink()
            return None
        pause()


def instructions(prompt: str) -> list[str]:
    found = re.findall(r"<message [^>]*>([^<]*)</message>", prompt)
    return found or [line for line in prompt.splitlines() if line]


def schedule(name: str) -> str:
    """Ask the host by file for a task that says the name soon, and wait for its answer.

    The name of the file is always the same: a turn that is repeated asks for nothing new.
    """
    request, answer = IPC / "tasks" / f"1-{name}.json", IPC / "answers" / f"1-{name}.json"
    if not answer.exists():
        document = {"type": "schedule_task", "prompt": f"say task {name}", "when": "in 1 second"}
        draft = request.with_suffix(".tmp")
        draft.write_text(json.dumps(document))
        draft.rename(request)
    while not answer.exists():
        pause()
    return f"{json.loads(answer.read_bytes())['status']} {name}"


def answer(line: str) -> str:
    """Return the answer to `say X` or `schedule X`; with `together` all answers to a prompt are one result."""
    verb, _, rest = line.partition(" ")
    return schedule(rest) if verb == "schedule" else rest


def ask(text: str) -> None:
    """Send a message to the chat by a request, and wait for the answer."""
    name = f"{os.getpid()}-{text.split(maxsplit=1)[0]}.json"
    place = INBOX.with_name("messages") / name
    place.with_suffix(".tmp").write_text(json.dumps({"type": "message", "text": text}), encoding="utf-8")
    place.with_suffix(".tmp").rename(place)
    while not (INBOX.with_name("answers") / name).exists():
        pause()


def once(word: str) -> bool:
    """Return whether this is the first time; the group's directory keeps it."""
    marker = Path(f"once-{word}")
    if marker.exists():
        return False
    marker.touch()
    return True


def act(line: str, given: dict[str, Any]) -> None:  # noqa: C901, PLR0912 - one case for each instruction
    verb, _, rest = line.partition(" ")
    match verb:
        case "say":
            emit(rest, newSessionId=given.get("sessionId") or "s1", usage={"inputTokens": 10, "outputTokens": 5})
        case "session":
            emit(f"session {given.get('sessionId')}", newSessionId=rest or None)
        case "input":
            emit(json.dumps({name: value for name, value in given.items() if name != "prompt"}))
        case "stale" if given.get("sessionId"):
            emit(None, "error", error="No conversation found with session ID")
            sys.exit(1)
        case "error":
            emit(None, "error", error=rest)
            sys.exit(1)
        case "stderr":
            # In two parts: a secret may be cut in the middle.
            for part in (rest[:-4], rest[-4:] + "\n"):
                sys.stderr.write(part)
                sys.stderr.flush()
        case "crash":
            sys.stderr.write("boom\n")
            sys.stderr.flush()
            os._exit(3)
        case "crash-once" if once("crash"):
            os._exit(3)
        case "hang":
            Path("hanging").touch()
            signal.pause()
        case "request":
            ask(rest)
        case "wait":
            Path("waiting").touch()
            while not Path("go").exists():
                pause()
        case "link" if once("link"):
            INBOX.rename(INBOX.with_name("elsewhere"))
            Path("trap").mkdir()
            INBOX.symlink_to(Path("trap").resolve())
        case "chatter":
            while True:
                emit("<internal>still at work</internal>")
                pause()
        case "silent":
            sys.exit(0)
        case _:
            pass


def main() -> None:
    given = json.load(sys.stdin)
    prompt: str | None = given["prompt"]
    with Path("journal").open("a", encoding="utf-8") as journal:
        journal.write(f"start {'task' if given.get('isScheduledTask') else 'messages'}\n")
    try:
        while prompt is not None:
            if sys.argv[2:] == ["together"]:
                emit("\n".join(map(answer, instructions(prompt))))
            else:
                for line in instructions(prompt):
                    act(line, given)
            emit(None)
            prompt = take()
    finally:
        with Path("journal").open("a", encoding="utf-8") as journal:
            journal.write("end\n")


if __name__ == "__main__":
    main()
