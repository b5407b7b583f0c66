-- Read plans: what the documented layout has of plans, and what this store has noted of them, at one moment.
-- KEYS: plan_rows, plan_names, plan_tasks, plan:time:set. ARGV: tag, characters before the id in a member of runs, number of newest runs,
-- then pairs of a task and the member of its plan.
-- Returns {microseconds of the clock, {task that has the member, noted row, member, state, score, message, runs…}…} (missing:
-- false). The state is that of the condition PLAN; a message with other bytes than ASCII is in hexadecimal digits after an x. A key of another type
-- counts as missing.
local rows, names, tasks, queue = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local tag, rank, most = ARGV[1], tonumber(ARGV[2]) + 1, tonumber(ARGV[3])

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

local time = redis.call('TIME')
local found = {string.format('%.0f', time[1] * 1000000 + time[2])}
for place = 4, #ARGV, 2 do
  local task, member = ARGV[place], ARGV[place + 1]
  member = redis.call('HGET', names, member) or member
  local score, message = value_of('ZSCORE', queue, member), value_of('GET', member)
  local state = (score or '') .. ' ' .. (message and redis.sha1hex(message) or '')
  local row = {
    redis.call('HGET', tasks, member), redis.call('HGET', rows, task), member, state, score, readable(message)
  }
  for _, run in ipairs(redis.call('ZREVRANGE', tag .. 'task_runs:' .. task, 0, most - 1)) do
    row[#row + 1] = redis.call('GET', tag .. 'run:' .. string.sub(run, rank))
  end
  found[#found + 1] = row
end
return found
