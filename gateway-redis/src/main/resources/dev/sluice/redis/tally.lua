-- Counts the records of some entries, without their envelopes leaving Redis.
-- KEYS: stream. ARGV: where to begin, '-' or an id in front of which stands '('.
-- Returns the records and the last id, which is empty when there was nothing more.
local from, records, bytes, last = ARGV[1], 0, 0, ''
for _ = 1, 64 do
  local entry = redis.call('XRANGE', KEYS[1], from, '+', 'COUNT', 1)[1]
  if not entry then
    break
  end
  for i = 1, #entry[2], 2 do
    if entry[2][i] == 'n' then
      records = records + (tonumber(entry[2][i + 1]) or 0)
    end
    bytes = bytes + #entry[2][i + 1]
  end
  last = entry[1]
  from = '(' .. last
  if bytes > 4194304 then
    break -- others wait meanwhile
  end
end
return { records, last }
