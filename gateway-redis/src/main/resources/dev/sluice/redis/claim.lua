-- Takes over everything that one dead consumer has pending.
-- KEYS: stream. ARGV: group, consumer, idle milliseconds after which another counts as dead.
-- Returns the number of entries taken over, the consumer they come from, and how many are pending
-- for this consumer then.
--
-- All of one consumer's entries, however long each has been pending: some of a delivery without the
-- others would be another delivery. JUSTID keeps the marks by which they belong together.
local idle = tonumber(ARGV[3])

-- Shows that this consumer is alive: up to Redis 7.0 a blocked read that finds nothing does not. No
-- pending entry is behind this id; the highest of all would be taken for '>'.
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
    -- names come and go with the processes; one that is alive after all is created anew by its read
    redis.call('XGROUP', 'DELCONSUMER', KEYS[1], ARGV[1], other.name)
  end
end
return { claimed, from, own + claimed }
