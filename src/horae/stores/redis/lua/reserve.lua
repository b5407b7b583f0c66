-- Reserve: takes due entries out of the agenda for a short time, under a new fencing token, with their task documents.
-- KEYS: timed, ready, ready_owners, reserved, tokens, owners, prioritised, wakeups, limits, node.
-- ARGV: tag, now, slice size, entries to reserve, last owner, microseconds of a reservation, whether lanes have been woken,
-- most entries that are left on the agenda, then the queues of routes to take from; none: the agenda of all nodes.
-- Few due entries, with none behind them, are left on the agenda, because another write would cost more than a decision that a
-- rival overtakes: the commit checks that no other claim has used the next token.
-- Returns {'gone'}: there is no such node; {'wake'}: lanes have to be woken first; {'idle', heads…}; or, for entries that are
-- reserved or left on the agenda, {'reserved' or 'seen', epoch, counter, node, limits, members, documents}.
local timed, ready, ready_owners, reserved = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local tag, now, slice, most = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
local most_seen, first_queue = tonumber(ARGV[8]), 9
local max_turn = 16
local move = 500

local node = redis.call('GET', KEYS[10])
if not node then
  return {'gone'}
end

local function due_of(member)
  local due = tonumber(string.sub(member, 7, 21), 16)
  if string.sub(member, 6, 6) == '0' then
    due = due - 1152921504606846976
  end
  return due
end

local function due_text(member)
  return string.format('%.0f', due_of(member))
end

local function owner_of(member)
  return string.match(member, '^[^%z]*%z([^%z]*)%z')
end

-- Entries whose reservation has ended return to the agenda.
local time = redis.call('TIME')
local clock = time[1] * 1000000 + time[2]
local ended = redis.call('ZRANGEBYSCORE', reserved, '-inf', string.format('%.0f', clock), 'LIMIT', 0, 1000)
for _, member in ipairs(ended) do
  redis.call('ZREM', reserved, member)
  local queue = string.match(member, '%z[^%z]*%z[^%z]*%z[^%z]*%z([^%z]*)$')
  if queue then
    redis.call('ZADD', tag .. 'queues', 0, queue)
  end
  redis.call('ZADD', queue and tag .. 'queue:' .. queue or timed, due_text(member), member)
end

if #ARGV < first_queue and ARGV[7] == '0' then
  local wake = redis.call('ZRANGE', KEYS[8], 0, 0, 'WITHSCORES')
  if wake[2] and tonumber(wake[2]) <= tonumber(now) then
    return {'wake'}
  end
end

local chosen = {}
local tasks = {}
local function choose(member)
  local task = string.sub(member, 22, 33)
  if not tasks[task] then
    tasks[task] = true
    chosen[#chosen + 1] = member
  end
end

-- Highest priority, then due instant, then number; of one task and instant in the order given.
local function by_rank(members)
  local places = {}
  for place, member in ipairs(members) do
    places[member] = place
  end
  table.sort(members, function(a, b)
    local first, second = string.sub(a, 1, 33), string.sub(b, 1, 33)
    if first == second then
      return places[a] < places[b]
    end
    return first < second
  end)
end

local function make_ready(members)
  for _, member in ipairs(members) do
    local owner = owner_of(member)
    redis.call('ZREM', timed, member)
    redis.call('ZADD', ready, due_text(member), member)
    redis.call('ZADD', tag .. 'ready:' .. owner, 0, member)
    redis.call('ZADD', ready_owners, 0, owner)
  end
end

local function leave_ready(member)
  local owner = owner_of(member)
  local set = tag .. 'ready:' .. owner
  redis.call('ZREM', ready, member)
  redis.call('ZREM', set, member)
  if redis.call('EXISTS', set) == 0 then
    redis.call('ZREM', ready_owners, owner)
  end
end

local from_ready = false
if #ARGV >= first_queue then
  local found = {}
  for place = first_queue, #ARGV do
    for _, member in ipairs(redis.call('ZRANGEBYSCORE', tag .. 'queue:' .. ARGV[place], '-inf', now, 'LIMIT', 0, most)) do
      found[#found + 1] = member
    end
  end
  table.sort(found, function(a, b) return string.sub(a, 6, 33) < string.sub(b, 6, 33) end)
  for place = #found, most + 1, -1 do
    found[place] = nil
  end
  by_rank(found)
  -- Owners in turn, each with its own entries by rank.
  local owners, queues, longest = {}, {}, 0
  for _, member in ipairs(found) do
    local owner = owner_of(member)
    if not queues[owner] then
      queues[owner] = {}
      owners[#owners + 1] = owner
    end
    local queue = queues[owner]
    queue[#queue + 1] = member
    longest = math.max(longest, #queue)
  end
  for turn = 1, longest do
    for _, owner in ipairs(owners) do
      if queues[owner][turn] then
        choose(queues[owner][turn])
      end
    end
  end
else
  local has_backlog = redis.call('EXISTS', ready) == 1
  local found = {}
  if not has_backlog then
    found = redis.call('ZRANGEBYSCORE', timed, '-inf', now, 'LIMIT', 0, slice + 1)
  end
  local has_priorities = redis.call('EXISTS', KEYS[7]) == 1
  local rotates = has_backlog or (#found > slice and (has_priorities or redis.call('ZCARD', KEYS[6]) > 1))
  if rotates then
    from_ready = true
    make_ready(redis.call('ZRANGEBYSCORE', timed, '-inf', now, 'LIMIT', 0, move))
    make_ready(redis.call('ZREVRANGEBYSCORE', timed, now, '-inf', 'LIMIT', 0, move))
    for _, member in ipairs(redis.call('ZRANGEBYSCORE', ready, '(' .. now, '+inf', 'LIMIT', 0, 2 * move)) do
      -- A node with a faster clock has moved it.
      leave_ready(member)
      redis.call('ZADD', timed, due_text(member), member)
    end
    local owners = redis.call('ZRANGEBYLEX', ready_owners, '(' .. ARGV[5], '+', 'LIMIT', 0, slice)
    if ARGV[5] ~= '' and #owners < slice then
      local first = redis.call('ZRANGEBYLEX', ready_owners, '-', '[' .. ARGV[5], 'LIMIT', 0, slice - #owners)
      for _, owner in ipairs(first) do
        owners[#owners + 1] = owner
      end
    end
    local turn = math.max(1, math.min(max_turn, math.floor(slice / math.max(1, #owners))))
    local start, looked, has_more = 0, 0, #owners > 0
    while has_more and looked < slice do
      has_more = false
      for _, owner in ipairs(owners) do
        local size = math.min(turn, slice - looked)
        if size > 0 then
          local members = redis.call('ZRANGE', tag .. 'ready:' .. owner, start, start + size - 1)
          for _, member in ipairs(members) do
            choose(member)
          end
          looked = looked + #members
          has_more = has_more or #members == size
        end
      end
      start = start + turn
    end
  else
    if found[slice + 1] then
      found[slice + 1] = nil
    end
    if has_priorities then
      by_rank(found)
    end
    for _, member in ipairs(found) do
      choose(member)
    end
  end
end

if #chosen == 0 then
  local answer = {'idle'}
  for _, set in ipairs({timed, ready, KEYS[8], reserved}) do
    answer[#answer + 1] = redis.call('ZRANGE', set, 0, 0, 'WITHSCORES')
  end
  return answer
end

local is_backlog = from_ready or #chosen > most
for place = #chosen, most + 1, -1 do
  chosen[place] = nil
end
local documents = {}
for place, member in ipairs(chosen) do
  documents[place] = tag .. 'task:' .. string.match(member, '%z[^%z]*%z([^%z]*)%z')
end

if #chosen <= most_seen and not is_backlog then
  local known = redis.call('HMGET', KEYS[5], 'epoch', 'counter')
  if known[1] and known[2] then
    return {'seen', known[1], known[2], node, redis.call('GET', KEYS[9]), chosen, redis.call('MGET', unpack(documents))}
  end
end

-- The epoch rises with a new replication id, because the server may have lost the last tokens.
local info = redis.call('INFO', 'replication')
local replication = string.match(info, 'master_replid:(%w+)') or ''
if redis.call('HGET', KEYS[5], 'replid') ~= replication then
  redis.call('HSET', KEYS[5], 'replid', replication)
  redis.call('HINCRBY', KEYS[5], 'epoch', 1)
end
local counter = redis.call('HINCRBY', KEYS[5], 'counter', 1)
local epoch = redis.call('HGET', KEYS[5], 'epoch')

local till = string.format('%.0f', clock + tonumber(ARGV[6]))
local from_timed, reservations = {}, {}
for place, member in ipairs(chosen) do
  local queue = string.match(member, '%z[^%z]*%z[^%z]*%z[^%z]*%z?([^%z]*)$')
  if from_ready then
    leave_ready(member)
  elseif queue ~= '' then
    redis.call('ZREM', tag .. 'queue:' .. queue, member)
  else
    from_timed[#from_timed + 1] = member
  end
  reservations[2 * place - 1], reservations[2 * place] = till, member
end
if #from_timed > 0 then
  redis.call('ZREM', timed, unpack(from_timed))
end
redis.call('ZADD', reserved, unpack(reservations))
return {'reserved', epoch, counter, node, redis.call('GET', KEYS[9]), chosen, redis.call('MGET', unpack(documents))}
