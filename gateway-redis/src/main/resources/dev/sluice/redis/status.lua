-- Returns the delivery status of an entry, and the number of its records that are dead letters:
-- ack.lua adds the dead letters in the step that deletes the entry.
-- KEYS: stream, dead letters.
-- ARGV: entry id, log ids of the first and of the last record in hexadecimal, start of the range of
-- dead letters (an id, after '(' when the previous call has examined it), group.
-- Returns the status, which is 1 when the entry is not delivered, 2 when it is delivered and 3 when
-- the stream does not know it; then the number of dead letters found in this call, and the start of
-- the next range, empty after the last dead letter.
local function before(a, b)
  local am, as = a:match('(%d+)-(%d+)')
  local bm, bs = b:match('(%d+)-(%d+)')
  if am ~= bm then
    return tonumber(am) < tonumber(bm)
  end
  return tonumber(as) < tonumber(bs)
end

-- Does not read the entry itself: it may be large, and many clients poll often while the delivery
-- has a backlog.
local delivered
local groups = redis.pcall('XINFO', 'GROUPS', KEYS[1])
for _, flat in ipairs(groups) do
  local group = {}
  for i = 1, #flat, 2 do
    group[flat[i]] = flat[i + 1]
  end
  if group.name == ARGV[5] then
    delivered = group['last-delivered-id']
  end
end
if delivered and before(delivered, ARGV[1])
    or delivered and redis.call('XPENDING', KEYS[1], ARGV[5], ARGV[1], ARGV[1], 1)[1]
    or not delivered and redis.call('XRANGE', KEYS[1], ARGV[1], ARGV[1])[1] then
  return { 1, 0, '' }
end

-- A Redis that has lost its latest data at a restart has not delivered the entry.
local info = redis.pcall('XINFO', 'STREAM', KEYS[1])
local newest = '0-0'
for i = 1, #info, 2 do
  if info[i] == 'last-generated-id' then
    newest = info[i + 1]
  end
end
if before(newest, ARGV[1]) then
  return { 3, 0, '' }
end

local from, dead_letters, bytes = ARGV[4], 0, 0
for _ = 1, 64 do
  local dead_letter = redis.call('XRANGE', KEYS[2], from, '+', 'COUNT', 1)[1]
  if not dead_letter then
    return { 2, dead_letters, '' }
  end
  for i = 1, #dead_letter[2], 2 do
    local value = dead_letter[2][i + 1]
    if dead_letter[2][i] == 'i' and value >= ARGV[2] and value <= ARGV[3] then
      dead_letters = dead_letters + 1
    end
    bytes = bytes + #value
  end
  from = '(' .. dead_letter[1]
  if bytes > 4194304 then
    break -- other commands wait for this script
  end
end
return { 2, dead_letters, from }
