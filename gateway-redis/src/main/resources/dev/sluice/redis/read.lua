-- Reads entries for a consumer, one after the other, until they come to so many bytes: a COUNT alone
-- bounds nothing, since an entry holds one log or a whole large request.
-- KEYS: stream. ARGV: group, consumer, '>' for new entries or the id after which to read the
-- consumer's pending ones, bytes, entries.
-- Returns 1 if there may be more, then id and envelope in turns; the envelope is nil when the entry
-- was deleted while pending, empty when the entry has none.
local after = ARGV[3]
local room = tonumber(ARGV[4])
local result = { 1 }
for _ = 1, tonumber(ARGV[5]) do
  local reply = redis.call(
    'XREADGROUP', 'GROUP', ARGV[1], ARGV[2], 'COUNT', 1, 'STREAMS', KEYS[1], after)
  local entry = reply and reply[1][2][1]
  if not entry then
    result[1] = 0
    return result
  end
  local envelope = false
  if entry[2] then
    envelope = ''
    for i = 1, #entry[2], 2 do
      if entry[2][i] == 'e' then
        envelope = entry[2][i + 1]
      end
    end
    room = room - #envelope
  end
  result[#result + 1] = entry[1]
  result[#result + 1] = envelope
  if after ~= '>' then
    after = entry[1]
  end
  if room <= 0 then
    return result
  end
end
return result
