-- Appends one entry, counts its records, and remembers the append for a while, so that the same
-- append tried again lands once. An append under a claim also takes the key for good.
-- KEYS: stream, ledger, appends by age, entries of appends, idempotency keys, the same by age.
-- ARGV: append id, epoch day of receipt, records, envelope, milliseconds to remember the append for,
-- 1 when it may have been appended elsewhere or even be stored, else 0, then for an append under a
-- claim: key, owner.
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
if ARGV[7] then
  claim = redis.call('HGET', KEYS[5], ARGV[7])
  if not claim or claim:sub(1, 1) ~= 'c' or claim:sub(18, 33) ~= ARGV[8] then
    return false
  end
end

-- The first write decides: Redis refuses it when memory is full, and asks no more after it. XADD is
-- that first write, so that nothing is counted or remembered that is not there.
local fields = { 'n', ARGV[3], 'd', ARGV[2], 'e', ARGV[4] }
if ARGV[6] == '1' then
  fields[7], fields[8] = 'a', '1'
end
local id = redis.call('XADD', KEYS[1], '*', unpack(fields))
local now = id:match('^%d+')
redis.call('HINCRBY', KEYS[2], 'accepted:' .. ARGV[2], ARGV[3])
redis.call('HINCRBY', KEYS[2], 'appended', ARGV[3])
redis.call('HSET', KEYS[4], ARGV[1], id)
redis.call('ZADD', KEYS[3], now, ARGV[1])
if claim then
  redis.call('HSET', KEYS[5], ARGV[7], 't' .. claim:sub(2, 33) .. now)
  redis.call('ZADD', KEYS[6], now, ARGV[7])
end

-- Remembered for the time that was asked for, and for as long as its entry, or an older one, is
-- there: an entry that waits may be appended again by whoever was cut off after the first time. The
-- first entry is looked up once a second at most, since Redis shows its id only with all it holds.
local mark = redis.call('HMGET', KEYS[2], 'last', 'quiet', 'first', 'firstAt')
redis.call('HSET', KEYS[2], 'last', now)
local first = mark[3]
if not first or math.abs(now - mark[4]) >= 1000 then
  first = redis.call('XRANGE', KEYS[1], '-', '+', 'COUNT', 1)[1][1]:match('^%d+')
  redis.call('HSET', KEYS[2], 'first', first, 'firstAt', now)
end

-- After a silence everybody may have been cut off, and has the whole time to ask again.
if mark[1] and now - mark[1] > 10000 then
  redis.call('HSET', KEYS[2], 'quiet', now)
  return id
elseif mark[2] and now - mark[2] < tonumber(ARGV[5]) then
  return id
end

-- An entry that nobody can read stays for good: after a day nothing is remembered for its sake. Who
-- comes back later than that says that it may be there already, and is looked up in the store.
-- More than are added, so that what piled up goes; few, so that nobody waits for it.
local before = math.max(math.min(now - ARGV[5], tonumber(first)), now - 86400000)
before = string.format('%.0f', before)
local old = redis.call('ZRANGEBYSCORE', KEYS[3], '-inf', '(' .. before, 'LIMIT', 0, 4)
if #old > 0 then
  redis.call('HDEL', KEYS[4], unpack(old))
  redis.call('ZREM', KEYS[3], unpack(old))
end
return id
