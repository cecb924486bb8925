-- Claims an idempotency key.
-- KEYS: idempotency keys, the same by age.
-- ARGV: key, digest of the request, owner, milliseconds until the claim ends, milliseconds until a
-- taken key is forgotten, keys at most.
-- Returns 1 mine, 2 taken by the same request, 3 the same request is under way, 4 another's.
--
-- A key's value: 'c' claimed or 't' taken, 16 bytes digest, 16 bytes owner, then when the claim ends
-- or when the key was taken, in milliseconds.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local value = redis.call('HGET', KEYS[1], ARGV[1])
if value then
  local same = value:sub(2, 17) == ARGV[2]
  local at = tonumber(value:sub(34))
  if value:sub(1, 1) == 't' then
    if now < at + ARGV[5] then
      return same and 2 or 4
    end
  elseif now < at and value:sub(18, 33) ~= ARGV[3] then
    return same and 3 or 4
  end
end

-- HSET comes first: a full memory refuses it, as the first write, and what is forgotten below would
-- be allowed.
redis.call('HSET', KEYS[1], ARGV[1],
  'c' .. ARGV[2] .. ARGV[3] .. string.format('%.0f', now + ARGV[4]))
redis.call('ZADD', KEYS[2], now, ARGV[1])

-- A few at a time, yet more than are added: what has its age, else the oldest of too many.
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
return 1
