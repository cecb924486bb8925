-- Takes entries off the pending list and out of the stream, counts their records and keeps the dead
-- letters among them, all in one step.
-- KEYS: stream, ledger, dead letters. ARGV: group, records, dead letters at most, number of ids,
-- ids, then for each letter id of the log, day of receipt, reason, time, envelope.
-- Returns 1; or 0, with nothing done, when there is no room for the letters.
--
-- XACK and XDEL come first: they are not refused when memory is full, and a script that has written
-- is not refused the rest. This is how a full Redis drains.
local first = 5
local last = first + tonumber(ARGV[4]) - 1
local letters = (#ARGV - last) / 5
if letters > 0 and redis.call('XLEN', KEYS[3]) + letters > tonumber(ARGV[3]) then
  return 0
end
local gone = 0
for from = first, last, 1000 do -- unpack has room for a few thousand
  local to = math.min(from + 999, last)
  gone = gone + redis.call('XACK', KEYS[1], ARGV[1], unpack(ARGV, from, to))
  gone = gone + redis.call('XDEL', KEYS[1], unpack(ARGV, from, to))
end
if gone == 0 then
  return 1 -- another has settled them, with the same letters
end
redis.call('HINCRBY', KEYS[2], 'settled', ARGV[2])
if redis.call('XLEN', KEYS[1]) == 0 then
  -- nothing waits: what was deleted by hand, or counted by another release, is no backlog
  redis.call('HSET', KEYS[2], 'appended', redis.call('HGET', KEYS[2], 'settled'))
end
for i = last + 1, #ARGV, 5 do
  redis.call('XADD', KEYS[3], '*', 'i', ARGV[i], 'd', ARGV[i + 1], 'r', ARGV[i + 2],
    'a', ARGV[i + 3], 'e', ARGV[i + 4])
end
return 1
