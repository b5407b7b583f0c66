-- Renew: renews the lease of a node, and returns all that a renewal reports.
-- KEYS: node, node_state, nodes, node_cancels, timed, ready, wakeups, reserved, record_keys of requests to yield, and, where
-- plans are shown in the documented layout, plan:time:set and plan_rows.
-- ARGV: tag, renewed, load, offset, first and end of the keys of the node's requests to yield, kind of these records.
-- Returns {} if there is no such node; else {draining, cancel requests, other nodes, heads of the agenda, clock, requests,
-- number of these two keys that exist}.
local tag = ARGV[1]
if redis.call('EXISTS', KEYS[1]) == 0 then
  return {}
end
redis.call('HINCRBY', KEYS[2], 'renewals', 1)
redis.call('HSET', KEYS[2], 'renewed', ARGV[2], 'load', ARGV[3], 'offset', ARGV[4])

local others = {}
for _, name in ipairs(redis.call('ZRANGE', KEYS[3], 0, -1)) do
  local key = tag .. 'node:' .. name
  if key ~= KEYS[1] then
    local document = redis.call('GET', key)
    if document then
      others[#others + 1] = {document, redis.call('HGETALL', tag .. 'node_state:' .. name)}
    end
  end
end

local heads = {}
for place = 5, 8 do
  heads[#heads + 1] = redis.call('ZRANGE', KEYS[place], 0, 0, 'WITHSCORES')
end

local requests = {}
for _, name in ipairs(redis.call('ZRANGEBYLEX', KEYS[9], '[' .. ARGV[5], '(' .. ARGV[6])) do
  requests[#requests + 1] = redis.call('GET', tag .. 'record:' .. ARGV[7] .. '\0' .. name)
end
local plans = KEYS[10] and redis.call('EXISTS', KEYS[10], KEYS[11]) or 0
local draining = redis.call('HGET', KEYS[2], 'draining')
return {draining, redis.call('ZRANGE', KEYS[4], 0, -1), others, heads, redis.call('TIME'), requests, plans}
