"""OpenClaw condition triggers: the script of a job becomes a gate, which runs it in Node.js with the functions it expects."""

from __future__ import annotations

import json
import re
from typing import Any, Final

from ..model.gate import GATE_STATE_BYTES, Gate
from ..schedule.compat import Note
from .fields import Fields, read_flag, read_optional_mapping, read_required_text, refuse_field
from .import_result import target
from .notes import note

PROGRAM: Final = "node"
_STATE_VARIABLE: Final = "TRIGGER_STATE"
_KNOWN_KEYS: Final = frozenset({"script", "once"})
_OTHER_TOOLS: Final = re.compile(
    r"""\btools\s*(?:\.(?!\s*call\s*\(\s*["'`]exec["'`])|\[)|\btrigger\s*\.\s*streamBatch\b"""
)
"""Calls of tools of OpenClaw's agent other than `exec`, and the batch of a stream."""

# `node -e PROGRAM -- SCRIPT [once]`. The script is the body of an async function, and answers with `json(…)` or `return`.
# With `once`, a run that succeeded leaves a mark in the state, which keeps the gate closed.
_RUNNER: Final = """
const { execFile } = require("node:child_process");
const [, script, once] = process.argv;
const { HORAE_GATE_STATE: stored = "null", TRIGGER_STATE: initial = "null", ...env } = process.env;
const freeze = (value) => {
  if (value && typeof value === "object") Object.values(Object.freeze(value)).forEach(freeze);
  return value;
};
const state = freeze(JSON.parse(stored === "null" ? initial : stored));
const print = (verdict) => console.log(JSON.stringify(verdict));
const exec = ({ command, workdir: cwd }) => new Promise((resolve) => {
  const options = { cwd, env, maxBuffer: 1048576 };
  execFile("/bin/sh", ["-c", command], options, (error, stdout, stderr) => {
    const exitCode = error ? (Number.isInteger(error.code) ? error.code : null) : 0;
    resolve({ status: error ? "failed" : "completed", exitCode, aggregated: stdout + stderr });
  });
});
const tools = { call: async (name, args) => {
  if (name !== "exec") throw new Error(`no tool '${name}' outside of OpenClaw`);
  return { result: { details: await exec(args) } };
} };
if (once && state?.fired_once === true) print({ run: false, reason: "it has fired once" });
else {
  let answer;
  const json = (value) => { answer = value; };
  const AsyncFunction = (async () => {}).constructor;
  new AsyncFunction("trigger", "json", "exec", "tools", script)({ state }, json, exec, tools).then((returned) => {
    const { fire, message, state: next } = returned ?? answer ?? {};
    print({
      run: fire, data: message === undefined ? undefined : { message }, reason: message,
      state: once && fire ? { fired_once: true } : next,
    });
  });
}
""".strip()


def read_trigger(job: Fields) -> tuple[Gate | None, tuple[Note, ...]]:
    """The gate of a job with a condition trigger, and what differs here; no gate for a job without one."""
    if job.get("trigger") is None:
        return None, ()
    trigger = read_optional_mapping(job, "trigger")
    script = read_required_text(trigger, "script")
    if "\0" in script:
        raise refuse_field("trigger.script", script, "a text without NUL")
    is_once = read_flag(trigger, "once", default=False)
    initial = _read_state(job)
    spec = target(
        "command",
        argv=[PROGRAM, "-e", _RUNNER, "--", script, *(["once"] if is_once else ())],
        environment=None if initial is None else {_STATE_VARIABLE: initial},
    ).spec
    notes = [note("openclaw_trigger", program=PROGRAM)]
    if is_once:
        notes.append(note("openclaw_trigger_once"))
    ignored = sorted(f"trigger.{key}" for key in set(trigger) - _KNOWN_KEYS)
    if ignored:
        notes.append(note("openclaw_ignored", keys=", ".join(ignored)))
    return Gate("command", spec), tuple(notes)


def unsupported_trigger(job: Fields) -> Note | None:
    """The reason why the script of a trigger cannot run outside of OpenClaw; None if it can."""
    trigger = job.get("trigger")
    script = trigger.get("script") if isinstance(trigger, dict) else None
    found = _OTHER_TOOLS.search(script) if isinstance(script, str) else None
    return None if found is None else note("openclaw_trigger_tools", tool=_excerpt(script, found.start()))


def _read_state(job: Fields) -> str | None:
    """The state that the script returned last, as JSON; None without one. An unreadable one does not reject the job."""
    state = job.get("state")
    saved: Any = state.get("triggerState") if isinstance(state, dict) else None
    text = None if saved is None else json.dumps(saved, ensure_ascii=False, separators=(",", ":"))
    return text if text is not None and len(text.encode()) <= GATE_STATE_BYTES else None


def _excerpt(script: Any, start: int) -> str:
    return str(script)[start : start + 30].split("(")[0].split(";")[0].strip()
