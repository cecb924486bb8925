-- Counts the records of some entries by the day of their receipt, without their envelopes leaving
-- Redis.
-- KEYS: stream. ARGV: where to begin, '-' or an id in front of which stands '('; records of an entry
-- that does not say how many it has.
-- Returns the last id, which is empty when there was nothing more, then day and records in turns.
local from, bytes, last = ARGV[1], 0, ''
local days, counts = {}, {}
for _ = 1, 64 do
  local entry = redis.call('XRANGE', KEYS[1], from, '+', 'COUNT', 1)[1]
  if not entry then
    break
  end
  local records, day = ARGV[2], nil
  for i = 1, #entry[2], 2 do
    local name, value = entry[2][i], entry[2][i + 1]
    if name == 'n' then
      records = value
    elseif name == 'd' then
      day = value
    end
    bytes = bytes + #value
  end
  day = tonumber(day) or math.floor(entry[1]:match('^%d+') / 86400000) -- before there were days
  if not counts[day] then
    counts[day] = 0
    days[#days + 1] = day
  end
  counts[day] = counts[day] + (tonumber(records) or 0)
  last = entry[1]
  from = '(' .. last
  if bytes > 4194304 then
    break -- others wait meanwhile
  end
end
local result = { last }
for _, day in ipairs(days) do
  result[#result + 1] = day
  result[#result + 1] = counts[day]
end
return result
