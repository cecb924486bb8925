-- Puts the record of a dead letter back into the stream and removes the letter.
-- KEYS: dead letters, stream, ledger. ARGV: id of the letter, id of the log, day of its receipt, envelope.
-- Returns 1; 0 when there is no such letter; -1 when the letter is of another log or day. The
-- record is not counted as accepted again, but it waits again, and will be settled again.
--
-- The letter goes first: when memory is full XADD would be refused as a first write, and is not
-- after another.
local letter = redis.call('XRANGE', KEYS[1], ARGV[1], ARGV[1])[1]
if not letter then
  return 0
end
local fields = {}
for i = 1, #letter[2], 2 do
  fields[letter[2][i]] = letter[2][i + 1]
end
if fields.i ~= ARGV[2] or fields.d ~= ARGV[3] then
  return -1
end
redis.call('XDEL', KEYS[1], ARGV[1])
redis.call('XADD', KEYS[2], '*', 'n', 1, 'd', ARGV[3], 'e', ARGV[4])
redis.call('HINCRBY', KEYS[3], 'appended', 1)
return 1
