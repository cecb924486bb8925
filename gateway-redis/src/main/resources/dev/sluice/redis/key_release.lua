-- Gives a claimed key back, if it is still its owner's and was not taken.
-- KEYS: idempotency keys, the same by age. ARGV: key, owner. Returns how many were given back.
local value = redis.call('HGET', KEYS[1], ARGV[1])
if not value or value:sub(1, 1) ~= 'c' or value:sub(18, 33) ~= ARGV[2] then
  return 0
end
redis.call('ZREM', KEYS[2], ARGV[1])
return redis.call('HDEL', KEYS[1], ARGV[1])
