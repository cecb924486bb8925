-- Transfers all pending entries of one dead consumer to this consumer.
-- KEYS: stream. ARGV: group, consumer, idle milliseconds after which another consumer counts as
-- dead.
-- Returns the number of transferred entries, the name of the dead consumer, and the number of
-- entries that are pending for this consumer afterwards.
--
-- The transfer covers all entries of the dead consumer, whatever their idle times are: a part of a
-- delivery would be a different delivery. JUSTID keeps the delivery counts, which hold the delivery
-- ids.
local idle = tonumber(ARGV[3])

-- Resets the idle time of this consumer: up to Redis 7.0 a blocking read without a result does not.
-- This id is above the id of every pending entry; the highest possible id would be treated as '>'.
redis.call('XREADGROUP', 'GROUP', ARGV[1], ARGV[2], 'COUNT', 1,
  'STREAMS', KEYS[1], '18446744073709551615-0')

local claimed, from, own = 0, '', 0
for _, flat in ipairs(redis.call('XINFO', 'CONSUMERS', KEYS[1], ARGV[1])) do
  local other = {}
  for i = 1, #flat, 2 do
    other[flat[i]] = flat[i + 1]
  end
  if other.name == ARGV[2] then
    own = other.pending
  elseif other.idle >= idle and other.pending > 0 and claimed == 0 then
    from = other.name
    repeat
      local pending = redis.call('XPENDING', KEYS[1], ARGV[1], '-', '+', 1000, from)
      local claim = { 'XCLAIM', KEYS[1], ARGV[1], ARGV[2], 0 }
      for _, entry in ipairs(pending) do
        claim[#claim + 1] = entry[1]
      end
      if #pending > 0 then
        claim[#claim + 1] = 'JUSTID'
        redis.call(unpack(claim))
        claimed = claimed + #pending
      end
    until #pending == 0
  elseif other.idle >= idle * 10 and other.pending == 0 then
    -- Every new process can add a consumer name. A consumer that is alive after all is created
    -- again by its next read.
    redis.call('XGROUP', 'DELCONSUMER', KEYS[1], ARGV[1], other.name)
  end
end
return { claimed, from, own + claimed }
