-- Appends one entry and counts its records.
-- KEYS: stream, ledger. ARGV: records, envelope.
-- The first write decides: Redis refuses it when memory is full, and asks no more after it. XADD is
-- that first write, so that nothing is counted that is not there.
local id = redis.call('XADD', KEYS[1], '*', 'n', ARGV[1], 'e', ARGV[2])
redis.call('HINCRBY', KEYS[2], 'accepted', ARGV[1])
return id
