-- Reads entries by their ids, in that order, until they come to so many bytes.
-- KEYS: stream. ARGV: bytes, ids.
-- Returns an envelope for each entry read; nil when the entry was deleted, empty when it has none.
-- XREADGROUP would tell them too, and would count the reading as another delivery: in these counts
-- stands what belongs together.
local room = tonumber(ARGV[1])
local result = {}
for i = 2, #ARGV do
  local entry = redis.call('XRANGE', KEYS[1], ARGV[i], ARGV[i])[1]
  local envelope = false
  if entry then
    envelope = ''
    for j = 1, #entry[2], 2 do
      if entry[2][j] == 'e' then
        envelope = entry[2][j + 1]
      end
    end
    room = room - #envelope
  end
  result[#result + 1] = envelope
  if room <= 0 then
    break
  end
end
return result
