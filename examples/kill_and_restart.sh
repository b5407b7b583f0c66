#!/bin/sh
# kill -9 everything, start it again, and ask what became of the time between.
set -eu
export LC_ALL=C.UTF-8  # the script waits for English words
PATH="$(cd "$(dirname "$0")/.." && pwd)/.venv/bin:$PATH"  # where `make up` puts the commands
folder=$(mktemp -d)
export HORAE_STORE="sqlite:///$folder/horae.db" HORAE_ZONE=UTC
trap 'kill $up 2>/dev/null || true; wait 2>/dev/null || true; rm -rf "$folder"' EXIT

horae up >"$folder/first.log" 2>&1 & up=$!
# Until the node runs, instants would pass that nothing could run.
while kill -0 "$up" && ! grep -qs Ends "$folder/first.log"; do sleep 0.2; done
horae add "every 2s" --say tick --name tick --quiet >/dev/null
horae run tick --wait --quiet >/dev/null
sleep 5
kill -9 $(pgrep -P "$up") "$up"
wait "$up" 2>/dev/null || true
sleep 7

horae up >"$folder/second.log" 2>&1 & up=$!
while kill -0 "$up" && ! grep -qs Outage "$folder/second.log"; do sleep 0.2; done
sleep 4
echo '$ horae up'
grep -E "Outage" "$folder/second.log"
echo '$ horae runs tick'
horae runs tick
missed=$(horae runs tick --state skipped --quiet | head -n 1)
echo "$ horae why $missed"
horae why "$missed"
