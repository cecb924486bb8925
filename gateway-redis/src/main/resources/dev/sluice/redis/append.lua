-- Appends one entry, counts its records, and remembers the append, so that the same append tried
-- again lands once; settle.lua forgets it after a while. An append under a claim also takes the key
-- for good.
-- KEYS: stream, ledger, appends by age, entries of appends, idempotency keys, the same by age.
-- ARGV: append id, epoch day of receipt, records, envelope, 1 when it may have been appended
-- elsewhere or even be stored, else 0, then for an append under a claim: key, owner.
-- Returns the entry's id, or nothing when the claim is not the owner's any more.
local appended = redis.call('HGET', KEYS[4], ARGV[1])
if appended then
  -- From 7.2 on WAIT waits for the last write of its connection, so there has to be one, and one
  -- that a full memory does not refuse. It changes nothing: it is taken back.
  redis.call('PEXPIRE', KEYS[3], 3600000)
  redis.call('PERSIST', KEYS[3])
  return appended
end

local claim
if ARGV[6] then
  claim = redis.call('HGET', KEYS[5], ARGV[6])
  if not claim or claim:sub(1, 1) ~= 'c' or claim:sub(18, 33) ~= ARGV[7] then
    return false
  end
end

-- The first write decides: Redis refuses it when memory is full, and asks no more after it. XADD is
-- that first write, so that nothing is counted or remembered that is not there.
local fields = { 'n', ARGV[3], 'd', ARGV[2], 'e', ARGV[4] }
if ARGV[5] == '1' then
  fields[7], fields[8] = 'a', '1'
end
local id = redis.call('XADD', KEYS[1], '*', unpack(fields))
local now = id:match('^%d+')
redis.call('HINCRBY', KEYS[2], 'accepted:' .. ARGV[2], ARGV[3])
redis.call('HINCRBY', KEYS[2], 'appended', ARGV[3])
redis.call('HSET', KEYS[4], ARGV[1], id)
redis.call('ZADD', KEYS[3], now, ARGV[1])
if claim then
  redis.call('HSET', KEYS[5], ARGV[6], 't' .. claim:sub(2, 33) .. now)
  redis.call('ZADD', KEYS[6], now, ARGV[6])
end

-- After a silence everybody may have been cut off, and has the whole time to ask again: settle.lua,
-- which forgets, wants to know.
local last = redis.call('HGET', KEYS[2], 'last')
redis.call('HSET', KEYS[2], 'last', now)
if last and now - last > 10000 then
  redis.call('HSET', KEYS[2], 'quiet', now)
end
return id
