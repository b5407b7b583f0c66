-- Find plans that another program has written, moved, edited or removed in the documented layout. It writes nothing.
-- KEYS: plan_rows, plan_tasks, quarantined_plans, plan:time:set. ARGV: highest score that is looked at as a whole, begin of
-- the window of the queue, cursor of the noted rows, size of a window.
-- Returns {next begin (0: the end), next cursor, tasks of changed plans, {member, state, score, message (missing: false)}…},
-- states and messages as `read_plans.lua` does. Bytes of a member that are not printable are shown as ?.
local rows, tasks, quarantined, queue = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local start, size = tonumber(ARGV[2]), tonumber(ARGV[4])

local function value_of(...)
  local value = redis.pcall(...)
  return type(value) == 'string' and value or false
end

local function readable(message)
  if not message or not string.find(message, '[\128-\255]') then
    return message and 's' .. message
  end
  return 'x' .. string.gsub(message, '.', function(byte) return string.format('%02x', string.byte(byte)) end)
end

local function members_of(...)
  local members = redis.pcall(...)
  return members.err and {} or members
end

local function state_of(score, message)
  return (score or '') .. ' ' .. (message and redis.sha1hex(message) or '')
end

local changed, is_changed = {}, {}
local function compare(task, row)
  local member, state = string.match(row, '^([^\n]*)\n([^\n]*)\n')
  local found = state_of(value_of('ZSCORE', queue, member), value_of('GET', member))
  if found ~= state and not is_changed[task] then
    is_changed[task] = true
    changed[#changed + 1] = task
  end
end

local window = members_of('ZRANGE', queue, start, start + size - 1)
local answer = {#window < size and 0 or start + size, '0', changed}
local is_seen = {}
for _, members in ipairs({members_of('ZRANGEBYSCORE', queue, '-inf', ARGV[1], 'LIMIT', 0, 2 * size), window}) do
  for _, member in ipairs(members) do
    if not is_seen[member] then
      is_seen[member] = true
      local task = redis.call('HGET', tasks, member)
      local row = task and redis.call('HGET', rows, task)
      if row then
        compare(task, row)
      else
        local score, message = value_of('ZSCORE', queue, member), value_of('GET', member)
        local shown = string.gsub(member, '[^\32-\126]', '?')
        local known = redis.call('HGET', quarantined, shown)
        if not known or string.match(known, '^[^\n]*') ~= state_of(score, message) then
          answer[#answer + 1] = {shown, state_of(score, message), score, readable(message)}
        end
      end
    end
  end
end

local scanned = redis.call('HSCAN', rows, ARGV[3], 'COUNT', size)
answer[2] = scanned[1]
for place = 1, #scanned[2], 2 do
  compare(scanned[2][place], scanned[2][place + 1])
end
return answer
