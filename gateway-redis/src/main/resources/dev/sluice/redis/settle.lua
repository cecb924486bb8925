-- Takes entries off the pending list and out of the stream, all in one step.
-- KEYS: stream. ARGV: group, ids.
-- Neither command is refused when memory is full: this is how a full Redis drains.
for from = 2, #ARGV, 1000 do -- unpack has room for a few thousand
  local to = math.min(from + 999, #ARGV)
  redis.call('XACK', KEYS[1], ARGV[1], unpack(ARGV, from, to))
  redis.call('XDEL', KEYS[1], unpack(ARGV, from, to))
end
return #ARGV - 1
