-- Commit: writes documents, events and index commands, if every document that was read still has its version.
-- KEYS: commits, last_event, events, owner_events (prefix), reserved, tag.
-- ARGV: seven lists, one after the other, each with its length first:
--   documents that were read: key and version, in pairs,
--   keys of documents that must be absent,
--   conditions: expected answer, number of words, the words of the command,
--   documents to write: key and text (empty: delete), in pairs,
--   tails: key, place in the document, and text, which is written over what is there; what is behind it stays,
--   events: owner and event, in pairs,
--   commands: number of words, words.
-- What follows are questions, which are commands too.
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
local tag = KEYS[6]

local place = 0
local function read()
  place = place + 1
  return ARGV[place]
end

local function read_words()
  local first = place + 2
  place = place + 1 + ARGV[place + 1]
  return {unpack(ARGV, first, place)}
end

local changed = {0}
for _ = 1, read() do
  local key, version = ARGV[place + 1], ARGV[place + 2]
  place = place + 2
  if redis.call('GETRANGE', key, 0, 15) ~= version then
    changed[#changed + 1] = key
  end
end

-- Nearly always none of them is there: one command says so for many.
local absent = read()
for first = place + 1, place + absent, 1000 do
  local last = math.min(first + 999, place + absent)
  if redis.call('EXISTS', unpack(ARGV, first, last)) > 0 then
    for each = first, last do
      if redis.call('EXISTS', ARGV[each]) == 1 then
        changed[#changed + 1] = ARGV[each]
      end
    end
  end
end
place = place + absent

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

for _ = 1, read() do
  local expected, words = read(), read_words()
  local answer = answer_of(words)
  if (answer and tostring(answer) or '') ~= expected then
    changed[#changed + 1] = words[2]
  end
end
if #changed > 1 then
  return changed
end

local commit = redis.call('INCR', KEYS[1])
local version = string.format('%016x', commit)
for _ = 1, read() do
  local key, text = ARGV[place + 1], ARGV[place + 2]
  place = place + 2
  if text == '' then
    redis.call('DEL', key)
  else
    redis.call('SET', key, version .. text)
  end
end

for _ = 1, read() do
  local key = ARGV[place + 1]
  redis.call('SETRANGE', key, 0, version)
  redis.call('SETRANGE', key, ARGV[place + 2], ARGV[place + 3])
  place = place + 3
end

local events = tonumber(read())
local event = 0
if events > 0 then
  event = redis.call('INCRBY', KEYS[2], events) - events
  local owner, names = ARGV[place + 1], {}
  for n = 1, events do
    local name = string.format('%.0f', event + n)
    local its_owner = ARGV[place + 1]
    redis.call('XADD', KEYS[3], name .. '-0', 'o', its_owner, 'e', ARGV[place + 2])
    place = place + 2
    if its_owner ~= owner or #names == 1000 then
      redis.call('ZADD', KEYS[4] .. owner, unpack(names))
      owner, names = its_owner, {}
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

for _ = 1, read() do
  local special = own[ARGV[place + 2]]
  if special then
    special(read_words())
  else
    local first = place + 2
    place = place + 1 + ARGV[place + 1]
    redis.call(unpack(ARGV, first, place))
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
while place < #ARGV do
  local words = read_words()
  answers[#answers + 1] = words[1] == 'UPCOMING' and upcoming(words) or redis.call(unpack(words))
end
return answers
