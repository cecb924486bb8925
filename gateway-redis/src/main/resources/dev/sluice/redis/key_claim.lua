-- Claims an idempotency key, or marks it as used by a request that another spool has accepted.
-- KEYS: idempotency keys, idempotency keys by age.
-- ARGV: key, digest of the request, owner, milliseconds until the claim ends, milliseconds until a
-- used key is forgotten, maximum number of keys; then to mark the key: the time when it was used, in
-- Unix milliseconds. The key is marked whatever claims it.
-- Returns 1 granted, 2 used by the same request, 3 claimed by the same request, which is in
-- progress, 4 used or claimed by another request.
--
-- The value of a key: 'c' claimed or 't' used, 16 bytes digest, 16 bytes owner, then the time when
-- the claim ends or when the key was used, in Unix milliseconds.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local value = redis.call('HGET', KEYS[1], ARGV[1])
if value then
  local same = value:sub(2, 17) == ARGV[2]
  local timestamp = tonumber(value:sub(34))
  if value:sub(1, 1) == 't' then
    if now < timestamp + ARGV[5] then
      return same and 2 or 4
    end
  elseif not ARGV[7] and now < timestamp and value:sub(18, 33) ~= ARGV[3] then
    return same and 3 or 4
  end
end

-- HSET comes first: when memory is full, Redis rejects it as the first write of the script. The
-- deletions below are allowed then, and would make the rest of the script pass.
redis.call('HSET', KEYS[1], ARGV[1], (ARGV[7] and 't' or 'c') .. ARGV[2] .. ARGV[3]
  .. (ARGV[7] or string.format('%.0f', now + ARGV[4])))
redis.call('ZADD', KEYS[2], ARGV[7] or now, ARGV[1])

-- Forgets up to four keys in each call, which is more than one call adds: keys whose retention has
-- ended; without such keys, the oldest keys above the maximum number.
local old = redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', '(' .. string.format('%.0f', now - ARGV[5]),
  'LIMIT', 0, 4)
local surplus = redis.call('ZCARD', KEYS[2]) - ARGV[6]
if #old == 0 and surplus > 0 then
  old = redis.call('ZRANGE', KEYS[2], 0, math.min(surplus, 4) - 1)
end
if #old > 0 then
  redis.call('HDEL', KEYS[1], unpack(old))
  redis.call('ZREM', KEYS[2], unpack(old))
end
return ARGV[7] and 2 or 1
