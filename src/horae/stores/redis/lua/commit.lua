-- Commit: writes documents, events and index commands, if every document that was read still has its version.
-- KEYS: commits, last_event, events, owner_events (prefix), reserved, tag.
-- ARGV: JSON array of guards (key, version), conditions (expected answer, command), documents (key, text; empty: delete), tails
-- (key, place in the document and text, written over what is there; what is behind it stays), events (owner, event), commands, and questions, which are commands too. The version of an absent document is empty.
-- These commands are of this script:
--   PRUNE set member key: removes a member from a sorted set of names if the key that it stands for is gone.
--   RAISE key number: raises a counter to a number.
--   UNREADY owner member…: removes entries from the backlog of an owner.
--   RETURN '' member…: puts entries back on the agenda that are still reserved.
--   PLAN queue member score message work seconds: writes a plan of the documented layout, or removes it (no message). Without
--   score it is not in the queue. The message '=' and empty work stay as they are; seconds: after these all is removed.
-- A condition may be PLAN queue member: its answer is the score and the digest of the message, with a space between. Or TOKEN
-- tokens: its answer is the epoch and the counter of the last fencing token, with a space between; none after a failover. Or
-- AGENDA timed now: its answer is the number of due entries; none if a claim would have to look further than at these.
-- A question may be UPCOMING timed since until count: its answer is `until`, members, and the documents of their tasks.
-- Returns {commit, first event number, answers of the questions…}, or {0, keys that differ…} with nothing written.
local guards, conditions, documents, tails, events, commands, questions = unpack(cjson.decode(ARGV[1]))
local tag = KEYS[6]

local changed = {0}
local absent = {}
for _, guard in ipairs(guards) do
  if guard[2] == '' then
    absent[#absent + 1] = guard[1]
  elseif redis.call('GETRANGE', guard[1], 0, 15) ~= guard[2] then
    changed[#changed + 1] = guard[1]
  end
end
-- Nearly always none of them is there: one command says so for many.
for first = 1, #absent, 1000 do
  local last = math.min(first + 999, #absent)
  if redis.call('EXISTS', unpack(absent, first, last)) > 0 then
    for place = first, last do
      if redis.call('EXISTS', absent[place]) == 1 then
        changed[#changed + 1] = absent[place]
      end
    end
  end
end
-- The documented keys are those of all programs: one of another type must not make this script fail in the middle.
local function value_of(...)
  local value = redis.pcall(...)
  return type(value) == 'string' and value or false
end

local function answer_of(words)
  if words[1] == 'TOKEN' then
    local replication = string.match(redis.call('INFO', 'replication'), 'master_replid:(%w+)') or ''
    local known = redis.call('HMGET', words[2], 'replid', 'epoch', 'counter')
    return known[1] == replication and known[2] .. ' ' .. known[3]
  end
  if words[1] == 'AGENDA' then
    local others = redis.call('EXISTS', tag .. 'ready', tag .. 'reserved', tag .. 'prioritised')
    if others > 0 or redis.call('ZCOUNT', tag .. 'wakeups', '-inf', words[3]) > 0 then
      return false
    end
    return redis.call('ZCOUNT', words[2], '-inf', words[3])
  end
  if words[1] ~= 'PLAN' then
    return redis.call(unpack(words))
  end
  local message = value_of('GET', words[3])
  return (value_of('ZSCORE', words[2], words[3]) or '') .. ' ' .. (message and redis.sha1hex(message) or '')
end

for _, condition in ipairs(conditions) do
  local answer = answer_of(condition[2])
  if (answer and tostring(answer) or '') ~= condition[1] then
    changed[#changed + 1] = condition[2][2]
  end
end
if #changed > 1 then
  return changed
end

local commit = redis.call('INCR', KEYS[1])
local version = string.format('%016x', commit)
for _, document in ipairs(documents) do
  if document[2] == '' then
    redis.call('DEL', document[1])
  else
    redis.call('SET', document[1], version .. document[2])
  end
end

for _, tail in ipairs(tails) do
  redis.call('SETRANGE', tail[1], 0, version)
  redis.call('SETRANGE', tail[1], tail[2][1], tail[2][2])
end

local event = 0
if #events > 0 then
  event = redis.call('INCRBY', KEYS[2], #events) - #events
  local owner, names = events[1][1], {}
  for n, each in ipairs(events) do
    local name = string.format('%.0f', event + n)
    redis.call('XADD', KEYS[3], name .. '-0', 'o', each[1], 'e', each[2])
    if each[1] ~= owner or #names == 1000 then
      redis.call('ZADD', KEYS[4] .. owner, unpack(names))
      owner, names = each[1], {}
    end
    names[#names + 1], names[#names + 2] = name, name
  end
  redis.call('ZADD', KEYS[4] .. owner, unpack(names))
end

local own = {}

function own.PRUNE(words)
  if redis.call('EXISTS', words[4]) == 0 then
    redis.call('ZREM', words[2], words[3])
  end
end

function own.RAISE(words)
  if tonumber(redis.call('GET', words[2]) or 0) < tonumber(words[3]) then
    redis.call('SET', words[2], words[3])
  end
end

function own.UNREADY(words)
  local set = tag .. 'ready:' .. words[2]
  if redis.call('EXISTS', set) == 0 then
    return
  end
  redis.call('ZREM', set, unpack(words, 3))
  redis.call('ZREM', tag .. 'ready', unpack(words, 3))
  if redis.call('EXISTS', set) == 0 then
    redis.call('ZREM', tag .. 'ready_owners', words[2])
  end
end

function own.RETURN(words)
  for n = 3, #words do
    local member = words[n]
    if redis.call('ZREM', KEYS[5], member) == 1 then
      local due = tonumber(string.sub(member, 7, 21), 16)
      if string.sub(member, 6, 6) == '0' then
        due = due - 1152921504606846976
      end
      local queue = string.match(member, '%z[^%z]*%z[^%z]*%z[^%z]*%z([^%z]*)$')
      if queue then
        redis.call('ZADD', tag .. 'queues', 0, queue)
      end
      redis.call('ZADD', tag .. (queue and 'queue:' .. queue or 'timed'), string.format('%.0f', due), member)
    end
  end
end

function own.PLAN(words)
  local _, queue, member, score, message, work, seconds = unpack(words)
  local work_key = 'plan:work:' .. string.sub(member, 10)
  if score == '' then
    redis.pcall('ZREM', queue, member)
  else
    redis.pcall('ZADD', queue, score, member)
  end
  if message == '' then
    redis.call('DEL', member, work_key)
  elseif message ~= '=' then
    redis.call('SET', member, message)
  end
  if work ~= '' then
    redis.call('SET', work_key, work)
  end
  if seconds ~= '' then
    redis.call('EXPIRE', member, seconds)
    redis.call('EXPIRE', work_key, seconds)
  end
end

for _, words in ipairs(commands) do
  local special = own[words[1]]
  if special then
    special(words)
  else
    redis.call(unpack(words))
  end
end

local function upcoming(words)
  local _, timed, since, last, count = unpack(words)
  local members = redis.call('ZRANGEBYSCORE', timed, since, last, 'LIMIT', 0, count)
  local tasks = {}
  for place, member in ipairs(members) do
    tasks[place] = tag .. 'task:' .. string.match(member, '%z[^%z]*%z([^%z]*)%z')
  end
  return {last, members, #tasks > 0 and redis.call('MGET', unpack(tasks)) or {}}
end

local answers = {commit, event + 1}
for _, words in ipairs(questions) do
  answers[#answers + 1] = words[1] == 'UPCOMING' and upcoming(words) or redis.call(unpack(words))
end
return answers
