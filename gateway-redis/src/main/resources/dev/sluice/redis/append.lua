-- Appends one entry, counts its records and stores the append id, so that a repeated append adds no
-- second entry; ack.lua forgets append ids after their retention. An append under a claim also
-- marks the idempotency key as used.
-- KEYS: stream, ledger, append ids by age, entry ids by append id, idempotency keys, idempotency
-- keys by age.
-- ARGV: append id, receive day in days since 1970, records, encoded batch, 1 when the batch may
-- have been appended to another spool or be in the store already, 2 when it is a replay, which may
-- be in the store too and is counted as accepted already, else 0; then for an append under a claim:
-- key, owner.
-- Returns the entry's id, 'refused' when resolve.lua has refused the append id, or nil when the claim
-- no longer belongs to the owner.
local appended = redis.call('HGET', KEYS[4], ARGV[1])
if appended then
  -- From Redis 7.2 on, WAIT waits for the last write of its connection. So this call needs a write
  -- that a full memory does not reject: these two writes undo each other.
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

-- When memory is full, Redis rejects the first write of a script and no later write. XADD is the
-- first write, so that a rejected append leaves no count and no append id.
local fields = { 'n', ARGV[3], 'd', ARGV[2], 'e', ARGV[4] }
if ARGV[5] ~= '0' then
  fields[7], fields[8] = 'a', '1'
end
local id = redis.call('XADD', KEYS[1], '*', unpack(fields))
local now = id:match('^%d+')
if ARGV[5] ~= '2' then
  redis.call('HINCRBY', KEYS[2], 'accepted:' .. ARGV[2], ARGV[3])
end
redis.call('HINCRBY', KEYS[2], 'appended', ARGV[3])
redis.call('HSET', KEYS[4], ARGV[1], id)
redis.call('ZADD', KEYS[3], now, ARGV[1])
if claim then
  redis.call('HSET', KEYS[5], ARGV[6], 't' .. claim:sub(2, 33) .. now)
  redis.call('ZADD', KEYS[6], now, ARGV[6])
end

-- After a pause without appends, all gateways may have been disconnected, and each can send its
-- appends again. The fields 'last' and 'quiet' let ack.lua extend the retention of append ids.
local last = redis.call('HGET', KEYS[2], 'last')
redis.call('HSET', KEYS[2], 'last', now)
if last and now - last > 10000 then
  redis.call('HSET', KEYS[2], 'quiet', now)
end
return id
