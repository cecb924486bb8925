-- Reads new entries for a consumer, one after the other, until they come to so many bytes: a COUNT
-- alone bounds nothing, since an entry holds one log or a whole large request.
-- KEYS: stream. ARGV: group, consumer, bytes, entries.
-- Returns 1 if there may be more, then in turns id, envelope and whether the entry may be stored
-- already (1 or 0); the envelope is empty when the entry has none.
local room = tonumber(ARGV[3])
local result = { 1 }
for _ = 1, tonumber(ARGV[4]) do
  local reply = redis.call(
    'XREADGROUP', 'GROUP', ARGV[1], ARGV[2], 'COUNT', 1, 'STREAMS', KEYS[1], '>')
  local entry = reply and reply[1][2][1]
  if not entry then
    result[1] = 0
    return result
  end
  local envelope, again = '', 0
  for i = 1, #entry[2], 2 do
    if entry[2][i] == 'e' then
      envelope = entry[2][i + 1]
    elseif entry[2][i] == 'a' then
      again = 1
    end
  end
  room = room - #envelope
  result[#result + 1] = entry[1]
  result[#result + 1] = envelope
  result[#result + 1] = again
  if room <= 0 then
    return result
  end
end
return result
