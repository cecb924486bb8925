-- Posts the bodies of a file with wrk in turn, from one thread. Environment variables: BODIES, the file, in which a protobuf
-- varint with its length precedes each body; CONTENT_TYPE; CONTENT_ENCODING, empty for none.

local requests, sent = {}, 0

local function length(file)
  local value, scale = 0, 1
  while true do
    local byte = file:read(1)
    if not byte then return nil end
    byte = byte:byte()
    value = value + byte % 128 * scale
    if byte < 128 then return value end
    scale = scale * 128
  end
end

-- formats all requests once at the start, because wrk shares the machine with the measured processes
function init()
  wrk.headers["Content-Type"] = os.getenv("CONTENT_TYPE")
  local encoding = os.getenv("CONTENT_ENCODING")
  if encoding and encoding ~= "" then wrk.headers["Content-Encoding"] = encoding end
  local file = assert(io.open(os.getenv("BODIES"), "rb"))
  for size in length, file do
    requests[#requests + 1] = wrk.format("POST", nil, nil, file:read(size))
  end
  file:close()
end

function request()
  sent = sent + 1
  return requests[(sent - 1) % #requests + 1]
end

function done(summary, latency)
  local errors = summary.errors
  io.write(string.format(
    'RESULT {"answers":%d,"refused":%d,"broken":%d,"micros":%d,"p50":%d,"p95":%d,"p99":%d,"p999":%d}\n',
    summary.requests, errors.status, errors.connect + errors.read + errors.write + errors.timeout, summary.duration,
    latency:percentile(50), latency:percentile(95), latency:percentile(99), latency:percentile(99.9)))
end
