-- Events of an owner: KEYS: events, owner_events. ARGV: the number after which they begin, how many.
-- Returns {number, event, …} of one moment.
local found = {}
local numbers = redis.call('ZRANGEBYSCORE', KEYS[2], '(' .. ARGV[1], '+inf', 'LIMIT', 0, ARGV[2])
for _, number in ipairs(numbers) do
  local entry = redis.call('XRANGE', KEYS[1], number .. '-0', number .. '-0')[1]
  if entry then
    found[#found + 1] = number
    found[#found + 1] = entry[2][4]
  end
end
return found
