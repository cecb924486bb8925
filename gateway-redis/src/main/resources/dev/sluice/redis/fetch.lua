-- Reads entries by their ids, in the order of the ids, until the encoded batches reach a number of
-- bytes.
-- KEYS: stream. ARGV: bytes, ids.
-- Returns one encoded batch for each entry read: nil when the entry was deleted, empty when the
-- entry has no batch.
--
-- XREADGROUP also returns pending entries, but increments their delivery counts, which hold the
-- delivery ids.
local remaining = tonumber(ARGV[1])
local result = {}
for i = 2, #ARGV do
  local entry = redis.call('XRANGE', KEYS[1], ARGV[i], ARGV[i])[1]
  local batch = false
  if entry then
    batch = ''
    for j = 1, #entry[2], 2 do
      if entry[2][j] == 'e' then
        batch = entry[2][j + 1]
      end
    end
    remaining = remaining - #batch
  end
  result[#result + 1] = batch
  if remaining <= 0 then
    break
  end
end
return result
