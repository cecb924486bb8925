-- Takes entries off the pending list and out of the stream, counts their records and keeps the dead
-- letters among them, all in one step. Forgets appends whose time is over.
-- KEYS: stream, ledger, dead letters, appends by age, entries of appends.
-- ARGV: group, records, dead letters at most, milliseconds to remember appends for, how many of them
-- are remembered for longer, number of ids, ids, then for each letter id of the log, day of receipt,
-- reason, time, envelope.
-- Returns 1; or 0, with nothing done, when there is no room for the letters.
--
-- XACK and XDEL come first: they are not refused when memory is full, and a script that has written
-- is not refused the rest. This is how a full Redis drains.
local first = 7
local count = tonumber(ARGV[6])
local last = first + count - 1
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

-- An append is remembered for the time that was asked for. Not many are remembered for longer: as
-- long as their entry, or an older one, is there, for an entry that waits may be appended again by
-- whoever was cut off after the first time; and all of them after a silence, in which everybody may
-- have been. After a day nothing is remembered for the sake of an entry that nobody can read. Who
-- comes back later than that says that it may be there already, and is looked up in the store.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local before = now - ARGV[4]
if redis.call('ZCARD', KEYS[4]) <= tonumber(ARGV[5]) then
  local mark = redis.call('HMGET', KEYS[2], 'last', 'quiet')
  local silent = not mark[1] or now - mark[1] > 10000 or mark[2] and before < tonumber(mark[2])
  local oldest = redis.call('XRANGE', KEYS[1], '-', '+', 'COUNT', 1)[1]
  if silent then
    before = 0
  elseif oldest then
    before = math.min(before, tonumber((oldest[1]:match('^%d+'))))
  end
  before = math.max(before, now - 86400000)
end

-- More than are settled, so that what piled up goes; not too many, so that nobody waits for it.
for _ = 1, math.ceil(count / 500) do
  local old = redis.call(
    'ZRANGEBYSCORE', KEYS[4], '-inf', '(' .. string.format('%.0f', before), 'LIMIT', 0, 1000)
  if #old == 0 then
    break
  end
  redis.call('HDEL', KEYS[5], unpack(old))
  redis.call('ZREM', KEYS[4], unpack(old))
end
return 1
