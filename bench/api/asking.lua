-- What wrk sends: `wrk … -s asking.lua URL -- KIND FOLDER ROUND`. The token and the ids come from files, not as arguments.

local kind, folder, round, token, ids, sent, head

local function lines(name)
  local found = {}
  for line in io.lines(folder .. "/" .. name) do
    found[#found + 1] = line
  end
  return found
end

function init(arguments)
  kind, folder, round, sent = arguments[1], arguments[2], arguments[3], 0
  head = { ["Authorization"] = "Bearer " .. lines("member")[1] }
  ids = lines("ids")
  math.randomseed(tonumber(round))
end

local function create()
  sent = sent + 1
  local headers = { ["Authorization"] = head["Authorization"], ["Content-Type"] = "application/json" }
  if sent % 2 == 0 then
    headers["Idempotency-Key"] = "bench-" .. round .. "-" .. sent
  end
  local body = string.format(
    '{"name": "report %s-%d", "when": "%d %d * * 1-5", "zone": "Europe/Berlin", "http": "https://hooks.example.org/%d", "payload": {"number": %d}}',
    round, sent, sent % 60, sent % 24, sent, sent)
  return wrk.format("POST", "/v1/tasks", headers, body)
end

function request()
  if kind == "create" then
    return create()
  elseif kind == "get" then
    return wrk.format("GET", "/v1/tasks/" .. ids[math.random(#ids)], head)
  end
  return wrk.format("GET", "/v1/tasks?limit=50", head)
end

function done(summary, latency, requests)
  local errors = summary.errors
  io.write(string.format(
    '{"requests": %d, "seconds": %.6f, "p50": %.6f, "p99": %.6f, "refused": %d, "broken": %d}\n',
    summary.requests, summary.duration / 1e6, latency:percentile(50) / 1e6, latency:percentile(99) / 1e6,
    errors.status, errors.connect + errors.read + errors.write + errors.timeout))
end
