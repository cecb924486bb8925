-- Throws a dead letter away and counts that on the day of its receipt.
-- KEYS: dead letters, ledger. ARGV: id of the letter.
-- Returns the number of letters thrown away. XDEL comes first: it is not refused when memory is
-- full.
local letter = redis.call('XRANGE', KEYS[1], ARGV[1], ARGV[1])[1]
if not letter then
  return 0
end
redis.call('XDEL', KEYS[1], ARGV[1])
for i = 1, #letter[2], 2 do
  if letter[2][i] == 'd' then
    redis.call('HINCRBY', KEYS[2], 'purged:' .. letter[2][i + 1], 1)
  end
end
return 1
