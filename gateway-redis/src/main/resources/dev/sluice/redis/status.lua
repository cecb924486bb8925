-- Returns the delivery status of an entry: 1 when it is not delivered, 2 when it is delivered and 3
-- when the stream does not know it.
-- KEYS: stream. ARGV: entry id, group.
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
  if group.name == ARGV[2] then
    delivered = group['last-delivered-id']
  end
end
if delivered and before(delivered, ARGV[1])
    or delivered and redis.call('XPENDING', KEYS[1], ARGV[2], ARGV[1], ARGV[1], 1)[1]
    or not delivered and redis.call('XRANGE', KEYS[1], ARGV[1], ARGV[1])[1] then
  return 1
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
  return 3
end
return 2
