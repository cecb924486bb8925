-- Appends the record of a dead letter to the stream and deletes the dead letter.
-- KEYS: dead letters, stream, ledger.
-- ARGV: id of the dead letter, id of the log, its receive day, encoded batch.
-- Returns 1; 0 when the dead letter does not exist; -1 when it has another log id or receive
-- day. The record is not counted as accepted a second time, but is part of the backlog until it
-- is acknowledged again.
--
-- XDEL comes before XADD: when memory is full, Redis rejects XADD as the first write of a script,
-- but not as a later one.
local dead_letter = redis.call('XRANGE', KEYS[1], ARGV[1], ARGV[1])[1]
if not dead_letter then
  return 0
end
local fields = {}
for i = 1, #dead_letter[2], 2 do
  fields[dead_letter[2][i]] = dead_letter[2][i + 1]
end
if fields.i ~= ARGV[2] or fields.d ~= ARGV[3] then
  return -1
end
redis.call('XDEL', KEYS[1], ARGV[1])
redis.call('XADD', KEYS[2], '*', 'n', 1, 'd', ARGV[3], 'e', ARGV[4])
redis.call('HINCRBY', KEYS[3], 'appended', 1)
return 1
