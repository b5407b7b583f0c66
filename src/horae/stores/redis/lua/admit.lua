-- Admit: finds entries that are parked for a node with one of these routes, and the queues of routes.
-- KEYS: parked_lanes, queues. ARGV: tag, most entries, routes.
-- Returns {members, {queue, its first member}…}.
local tag, most = ARGV[1], tonumber(ARGV[2])
local members = {}
if redis.call('EXISTS', KEYS[1]) == 1 then
  for place = 3, #ARGV do
    for _, owner in ipairs(redis.call('ZRANGE', tag .. 'lane_owners:' .. ARGV[place], 0, -1)) do
      local left = most - #members
      if left > 0 then
        local parked = redis.call('ZRANGE', tag .. 'parked:' .. ARGV[place] .. '\0' .. owner, 0, left - 1)
        for _, member in ipairs(parked) do
          members[#members + 1] = member
        end
      end
    end
  end
end
local answer = {members}
for _, name in ipairs(redis.call('ZRANGE', KEYS[2], 0, -1)) do
  local first = redis.call('ZRANGE', tag .. 'queue:' .. name, 0, 0)
  if first[1] then
    answer[#answer + 1] = {name, first[1]}
  end
end
return answer
