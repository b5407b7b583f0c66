-- Fetch runs: reads indexes of runs, and the document of each run, at one moment. A live run is in the document of its task.
-- KEYS: live. ARGV: prefix of run documents, prefix of task documents, characters before the id in a member, then commands
-- that read indexes, each as its length and its words.
-- Returns {run id, task id (empty: the run has ended), document, …}; a run that is gone is left out.
local found = {}
local skipped = tonumber(ARGV[3]) + 1
local place = 4
while place <= #ARGV do
  local words = tonumber(ARGV[place])
  local members = redis.call(unpack(ARGV, place + 1, place + words))
  if type(members) == 'string' then
    members = {members}
  end
  for _, member in ipairs(members) do
    local run = string.sub(member, skipped)
    local task = redis.call('HGET', KEYS[1], run)
    local text
    if task then
      text = redis.call('GET', ARGV[2] .. task)
    else
      text = redis.call('GET', ARGV[1] .. run)
    end
    if text then
      found[#found + 1] = run
      found[#found + 1] = task or ''
      found[#found + 1] = text
    end
  end
  place = place + words + 1
end
return found
