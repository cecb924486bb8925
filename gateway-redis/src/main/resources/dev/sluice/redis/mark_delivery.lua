-- Records that entries form one delivery: writes the delivery id into their delivery counts in the
-- pending entries list. That list can be written when memory is full, and is as durable as the
-- entries.
-- KEYS: stream. ARGV: group, consumer, delivery id, entry ids in ascending order.
-- Returns 1; or 0, with nothing done, when one of the entries is no longer pending for this
-- consumer or belongs to another delivery, because another consumer has claimed it.
--
-- A repeated call with the same delivery id renews the lease: it resets the idle times of the
-- consumer and of the entries.
local delivery_id, last = tonumber(ARGV[3]), #ARGV
local available, from, page = {}, ARGV[4], nil
repeat
  page = redis.call('XPENDING', KEYS[1], ARGV[1], from, ARGV[last], 1000, ARGV[2])
  for _, entry in ipairs(page) do
    if entry[4] < 1048576 or entry[4] == delivery_id then
      available[entry[1]] = true
    end
  end
  if #page > 0 then
    from = '(' .. page[#page][1]
  end
until #page < 1000
for i = 4, last do
  if not available[ARGV[i]] then
    return 0
  end
end
for i = 4, last, 1000 do -- unpack is limited to a few thousand values
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
