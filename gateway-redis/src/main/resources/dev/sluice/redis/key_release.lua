-- Deletes the claim of an idempotency key when the owner still holds it and the key is not used.
-- KEYS: idempotency keys, idempotency keys by age. ARGV: key, owner.
-- Returns the number of deleted claims, 0 or 1.
local value = redis.call('HGET', KEYS[1], ARGV[1])
if not value or value:sub(1, 1) ~= 'c' or value:sub(18, 33) ~= ARGV[2] then
  return 0
end
redis.call('ZREM', KEYS[2], ARGV[1])
return redis.call('HDEL', KEYS[1], ARGV[1])
