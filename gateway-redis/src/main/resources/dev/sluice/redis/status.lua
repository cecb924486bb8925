-- What became of an entry, and how many of its records are dead letters: settling writes those in
-- the step that removes the entry.
-- KEYS: stream, dead letters. ARGV: entry, identity of its first record and of its last (hexadecimal),
-- where to begin among the dead letters: an id, with '(' in front of one that was looked at; group.
-- Returns the entry's state, which is 1 when it is there, 2 when it is gone and 3 when the stream
-- knows nothing of it; then dead letters of its records, and where to go on, empty at the end.
local function before(a, b)
  local am, as = a:match('(%d+)-(%d+)')
  local bm, bs = b:match('(%d+)-(%d+)')
  if am ~= bm then
    return tonumber(am) < tonumber(bm)
  end
  return tonumber(as) < tonumber(bs)
end

-- The entry itself is not read: it may be large, and many ask often while delivery is behind.
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

-- A Redis that came back without its last data has not settled the entry: it never had it.
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

local from, dead, bytes = ARGV[4], 0, 0
for _ = 1, 64 do
  local letter = redis.call('XRANGE', KEYS[2], from, '+', 'COUNT', 1)[1]
  if not letter then
    return { 2, dead, '' }
  end
  for i = 1, #letter[2], 2 do
    local value = letter[2][i + 1]
    if letter[2][i] == 'i' and value >= ARGV[2] and value <= ARGV[3] then
      dead = dead + 1
    end
    bytes = bytes + #value
  end
  from = '(' .. letter[1]
  if bytes > 4194304 then
    break -- others wait meanwhile
  end
end
return { 2, dead, from }
