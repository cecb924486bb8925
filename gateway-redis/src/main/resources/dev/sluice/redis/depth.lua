-- Returns the number of entries, and the id of the oldest entry when there is one.
-- KEYS: stream.
local first = redis.call('XRANGE', KEYS[1], '-', '+', 'COUNT', 1)[1]
return { redis.call('XLEN', KEYS[1]), first and first[1] }
