-- Resolves an append whose outcome its gateway does not know: looks up its id, and refuses an
-- unknown id from now on. A refused id is remembered like any append id.
-- KEYS: stream, ledger, append ids by age, entry ids by append id. ARGV: append id.
-- Returns the entry's id when the append is known, 'refused' when it is refused, or nil when that
-- cannot be decided yet.

-- WAIT needs a write, see append.lua. As the first write of the script it also lets a full memory
-- accept the refusal.
redis.call('PEXPIRE', KEYS[3], 3600000)
redis.call('PERSIST', KEYS[3])
local known = redis.call('HGET', KEYS[4], ARGV[1])
if known then
  return known
end

-- Append ids are forgotten in the order of their age. So the ids of all entries are known, except
-- of the entries that are at least as old as the oldest id. Usually there are none; few are read.
local oldest = redis.call('ZRANGE', KEYS[3], 0, 0, 'WITHSCORES')[2] or '+'
local from, entries, bytes = '-', 0, 0
while true do
  local entry = redis.call('XRANGE', KEYS[1], from, oldest, 'COUNT', 1)[1]
  if not entry then
    break
  end
  entries = entries + 1
  if entries > 100 or bytes > 4194304 then
    return false
  end
  for i = 1, #entry[2], 2 do
    local value = entry[2][i + 1]
    bytes = bytes + #value
    if entry[2][i] == 'e' and value:sub(10, 25) == ARGV[1] then
      return entry[1]
    end
  end
  from = '(' .. entry[1]
end

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local last = redis.call('HGET', KEYS[2], 'last')
if last then
  now = math.max(now, tonumber(last)) -- a clock that is set back must not change the order
end
redis.call('HSET', KEYS[4], ARGV[1], 'refused')
redis.call('ZADD', KEYS[3], string.format('%.0f', now), ARGV[1])
return 'refused'
