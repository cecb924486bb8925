-- Counts the records of a page of entries by their receive day. The encoded batches stay in
-- Redis.
-- KEYS: stream. ARGV: start of the range, '-' or '(' followed by an id; number of records of an
-- entry without the field 'n'.
-- Returns the id of the last entry of the page, empty when no entry follows, then pairs of day and
-- number of records.
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
  -- entries of older releases have no day
  day = tonumber(day) or math.floor(entry[1]:match('^%d+') / 86400000)
  if not counts[day] then
    counts[day] = 0
    days[#days + 1] = day
  end
  counts[day] = counts[day] + (tonumber(records) or 0)
  last = entry[1]
  from = '(' .. last
  if bytes > 4194304 then
    break -- other commands wait for this script
  end
end
local result = { last }
for _, day in ipairs(days) do
  result[#result + 1] = day
  result[#result + 1] = counts[day]
end
return result
