-- Log lines: appends lines to the logs of runs; a run that is gone gets none, and a full log one last line.
-- KEYS: live, logged_runs. ARGV: prefix of run documents, prefix of logs, most lines, then (run id, line, last line)…
local most = tonumber(ARGV[3])
for place = 4, #ARGV, 3 do
  local run = ARGV[place]
  if redis.call('HEXISTS', KEYS[1], run) == 1 or redis.call('EXISTS', ARGV[1] .. run) == 1 then
    local size = redis.call('LLEN', ARGV[2] .. run)
    if size < most then
      redis.call('RPUSH', ARGV[2] .. run, ARGV[place + 1])
    elseif size == most then
      redis.call('RPUSH', ARGV[2] .. run, ARGV[place + 2])
    end
    if size == 0 then
      redis.call('ZADD', KEYS[2], 0, run)
    end
  end
end
return 0
