-- Acknowledges and deletes entries, counts their records and adds their dead letters, in one atomic
-- step. Then forgets append ids whose retention has ended.
-- KEYS: stream, ledger, dead letters, append ids by age, entry ids by append id.
-- ARGV: group, records, maximum number of dead letters, retention of append ids in milliseconds,
-- maximum number of append ids with an extended retention, number of entry ids, the entry ids, then
-- for each dead letter: id of the log, receive day, reason, time, encoded batch.
-- Returns 1; or 0, with nothing done, when the dead letters would exceed their maximum number.
--
-- XACK and XDEL come first: Redis does not reject them when its memory is full, and does not reject
-- the later writes of a script that has already written. So a full Redis drains.
local first = 7
local count = tonumber(ARGV[6])
local last = first + count - 1
local dead_letters = (#ARGV - last) / 5
if dead_letters > 0 and redis.call('XLEN', KEYS[3]) + dead_letters > tonumber(ARGV[3]) then
  return 0
end
local removed = 0
for from = first, last, 1000 do -- unpack is limited to a few thousand values
  local to = math.min(from + 999, last)
  removed = removed + redis.call('XACK', KEYS[1], ARGV[1], unpack(ARGV, from, to))
  removed = removed + redis.call('XDEL', KEYS[1], unpack(ARGV, from, to))
end
if removed == 0 then
  return 1 -- another consumer has acknowledged these entries, with the same dead letters
end
redis.call('HINCRBY', KEYS[2], 'settled', ARGV[2])
if redis.call('XLEN', KEYS[1]) == 0 then
  -- The stream is empty, so the backlog is zero. The counts can differ by entries that an operator
  -- deleted or that another release counted.
  redis.call('HSET', KEYS[2], 'appended', redis.call('HGET', KEYS[2], 'settled'))
end
for i = last + 1, #ARGV, 5 do
  redis.call('XADD', KEYS[3], '*', 'i', ARGV[i], 'd', ARGV[i + 1], 'r', ARGV[i + 2],
    'a', ARGV[i + 3], 'e', ARGV[i + 4])
end

-- The retention of append ids is extended while there are few append ids:
-- * as long as their entry or an older entry is in the stream: a gateway that was disconnected
--   after its first attempt can send the append of a waiting entry again;
-- * for all append ids after a pause without appends, because the pause may mean that all gateways
--   were disconnected.
-- The extension ends after a day, so that an entry that cannot be read does not retain append ids
-- forever. An append that is sent again later than that is marked as a possible duplicate, and its
-- delivery looks the records up in the store.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local before = now - ARGV[4]
if redis.call('ZCARD', KEYS[4]) <= tonumber(ARGV[5]) then
  local activity = redis.call('HMGET', KEYS[2], 'last', 'quiet')
  local paused = not activity[1] or now - activity[1] > 10000
    or activity[2] and before < tonumber(activity[2])
  local oldest = redis.call('XRANGE', KEYS[1], '-', '+', 'COUNT', 1)[1]
  if paused then
    before = 0
  elseif oldest then
    before = math.min(before, tonumber((oldest[1]:match('^%d+'))))
  end
  before = math.max(before, now - 86400000)
end

-- Up to 1,000 append ids for every 500 entries: more than the entries acknowledged here, so that an
-- accumulation shrinks, and few enough that other commands do not wait long.
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
