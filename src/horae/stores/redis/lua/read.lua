-- Read: runs commands that only read, at one moment. KEYS: any key. ARGV: commands, each as its length and its words.
-- Returns their answers.
local answers = {}
local place = 1
while place <= #ARGV do
  local words = tonumber(ARGV[place])
  answers[#answers + 1] = redis.call(unpack(ARGV, place + 1, place + words))
  place = place + words + 1
end
return answers
