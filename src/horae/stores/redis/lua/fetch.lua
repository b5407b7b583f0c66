-- Fetch: reads an index, and the documents of its members, at one moment.
-- KEYS: the index. ARGV: prefix of the documents, then the command that reads the index, as its words.
-- Returns {member, document, …}; a member without a document is left out.
local members = redis.call(unpack(ARGV, 2, #ARGV))
local found = {}
for first = 1, #members, 500 do
  local names = {}
  for n = first, math.min(first + 499, #members) do
    names[#names + 1] = ARGV[1] .. members[n]
  end
  for n, text in ipairs(redis.call('MGET', unpack(names))) do
    if text then
      found[#found + 1] = members[first + n - 1]
      found[#found + 1] = text
    end
  end
end
return found
