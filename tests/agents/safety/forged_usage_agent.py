"""Agent that reports a tool call, and the usage that its prompt gives as raw JSON, whatever it is."""

from __future__ import annotations

import json
import sys

given = json.loads(sys.stdin.buffer.read().split(b"\n", 1)[0] or b"{}")
usage = given["prompt"].rpartition("USAGE ")[2]
sys.stderr.write('[tool call] schedule_task {"prompt": "weather"}\n')
sys.stderr.flush()
sys.stdout.write(
    f'\n---NANOCLAW_OUTPUT_START---\n{{"status":"success","result":"done","usage":{usage}}}\n---NANOCLAW_OUTPUT_END---\n'
)
sys.stdout.flush()
