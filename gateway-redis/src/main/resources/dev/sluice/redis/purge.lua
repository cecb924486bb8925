-- Deletes a dead letter and counts it as purged on its receive day.
-- KEYS: dead letters, ledger. ARGV: id of the dead letter.
-- Returns the number of deleted dead letters, 0 or 1. XDEL comes first: Redis does not reject it
-- when its memory is full.
local dead_letter = redis.call('XRANGE', KEYS[1], ARGV[1], ARGV[1])[1]
if not dead_letter then
  return 0
end
redis.call('XDEL', KEYS[1], ARGV[1])
for i = 1, #dead_letter[2], 2 do
  if dead_letter[2][i] == 'd' then
    redis.call('HINCRBY', KEYS[2], 'purged:' .. dead_letter[2][i + 1], 1)
  end
end
return 1
