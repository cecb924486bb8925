-- Records that entries are one delivery: their count of deliveries in the pending list becomes its
-- mark. The pending list is the one place that can be written when memory is full, and survives
-- with the entries.
-- KEYS: stream. ARGV: group, consumer, mark, ids in ascending order.
-- Returns 1; or 0, with nothing done, when one of them is not pending for this consumer any more or
-- is part of another delivery: another consumer took over meanwhile.
--
-- Recording again what is recorded shows that this consumer and its entries are alive.
local mark, last = tonumber(ARGV[3]), #ARGV
local free, from, page = {}, ARGV[4], nil
repeat
  page = redis.call('XPENDING', KEYS[1], ARGV[1], from, ARGV[last], 1000, ARGV[2])
  for _, entry in ipairs(page) do
    if entry[4] < 1048576 or entry[4] == mark then
      free[entry[1]] = true
    end
  end
  if #page > 0 then
    from = '(' .. page[#page][1]
  end
until #page < 1000
for i = 4, last do
  if not free[ARGV[i]] then
    return 0
  end
end
for i = 4, last, 1000 do -- unpack has room for a few thousand
  local claim = { 'XCLAIM', KEYS[1], ARGV[1], ARGV[2], 0 }
  for j = i, math.min(i + 999, last) do
    claim[#claim + 1] = ARGV[j]
  end
  claim[#claim + 1] = 'RETRYCOUNT'
  claim[#claim + 1] = ARGV[3]
  claim[#claim + 1] = 'JUSTID'
  redis.call(unpack(claim))
end
return 1
