-- Creates the consumer group, and the stream if there is none; nothing is done when another was
-- faster.
-- KEYS: stream. ARGV: group. Returns the id of the last entry that was there before the group.
--
-- XGROUP is refused when memory is full, unless the script has written before: XDEL may, and finds
-- nothing to delete. Without it a Redis that was filled before the first delivery would never drain.
redis.call('XDEL', KEYS[1], '0-0')
local created = redis.pcall('XGROUP', 'CREATE', KEYS[1], ARGV[1], '0', 'MKSTREAM')
if created.err and not string.find(created.err, 'BUSYGROUP') then
  return created
end
local last = redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 1)[1]
return last and last[1] or '0-0'
