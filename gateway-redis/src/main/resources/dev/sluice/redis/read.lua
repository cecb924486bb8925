-- Reads new entries for a consumer, one after the other, until the encoded batches reach a number
-- of bytes. A COUNT alone does not limit the size of the reply: an entry holds one record or a
-- whole large request.
-- KEYS: stream. ARGV: group, consumer, bytes, maximum number of entries.
-- Returns 1 when there may be more new entries, else 0; then for each entry its id, its encoded
-- batch (empty when the entry has none) and 1 when the entry is a possible duplicate, else 0.
local remaining = tonumber(ARGV[3])
local result = { 1 }
for _ = 1, tonumber(ARGV[4]) do
  local reply = redis.call(
    'XREADGROUP', 'GROUP', ARGV[1], ARGV[2], 'COUNT', 1, 'STREAMS', KEYS[1], '>')
  local entry = reply and reply[1][2][1]
  if not entry then
    result[1] = 0
    return result
  end
  local batch, possible_duplicate = '', 0
  for i = 1, #entry[2], 2 do
    if entry[2][i] == 'e' then
      batch = entry[2][i + 1]
    elseif entry[2][i] == 'a' then
      possible_duplicate = 1
    end
  end
  remaining = remaining - #batch
  result[#result + 1] = entry[1]
  result[#result + 1] = batch
  result[#result + 1] = possible_duplicate
  if remaining <= 0 then
    return result
  end
end
return result
