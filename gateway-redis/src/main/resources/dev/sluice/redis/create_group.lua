-- Creates the consumer group, and the stream if it does not exist. Does nothing when the group
-- exists because another consumer has created it.
-- KEYS: stream. ARGV: group. Returns the id of the last entry of the stream, '0-0' when it is
-- empty.
--
-- Redis rejects XGROUP when its memory is full, unless the script has written before. XDEL is
-- allowed then, and finds nothing to delete. Without XDEL, a Redis that is full before the first
-- delivery would never drain.
redis.call('XDEL', KEYS[1], '0-0')
local created = redis.pcall('XGROUP', 'CREATE', KEYS[1], ARGV[1], '0', 'MKSTREAM')
if created.err and not string.find(created.err, 'BUSYGROUP') then
  return created
end
local last = redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 1)[1]
return last and last[1] or '0-0'
