-- Acknowledges and deletes entries and counts their records, in one atomic step. Then forgets append
-- ids whose retention has ended.
-- KEYS: stream, ledger, append ids by age, entry ids by append id.
-- ARGV: group, records, retention of append ids in milliseconds, maximum number of append ids with
-- an extended retention, the entry ids.
-- Returns the number of acknowledged and deleted entries.
--
-- XACK and XDEL come first: Redis does not reject them when its memory is full, and does not reject
-- the later writes of a script that has already written. So a full Redis drains.
local first, last = 5, #ARGV
local count = last - first + 1
local removed = 0
for from = first, last, 1000 do -- unpack is limited to a few thousand values
  local to = math.min(from + 999, last)
  removed = removed + redis.call('XACK', KEYS[1], ARGV[1], unpack(ARGV, from, to))
  removed = removed + redis.call('XDEL', KEYS[1], unpack(ARGV, from, to))
end
if removed == 0 then
  return 0 -- another consumer has acknowledged these entries
end
redis.call('HINCRBY', KEYS[2], 'settled', ARGV[2])
if redis.call('XLEN', KEYS[1]) == 0 then
  -- The stream is empty, so the backlog is zero. The counts can differ by entries that an operator
  -- deleted or that another release counted.
  redis.call('HSET', KEYS[2], 'appended', redis.call('HGET', KEYS[2], 'settled'))
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
local before = now - ARGV[3]
if redis.call('ZCARD', KEYS[3]) <= tonumber(ARGV[4]) then
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
    'ZRANGEBYSCORE', KEYS[3], '-inf', '(' .. string.format('%.0f', before), 'LIMIT', 0, 1000)
  if #old == 0 then
    break
  end
  redis.call('HDEL', KEYS[4], unpack(old))
  redis.call('ZREM', KEYS[3], unpack(old))
end
return removed
