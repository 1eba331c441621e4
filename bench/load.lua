-- For wrk: sends each line of a file as the body of a POST, round and round, and prints what came of it as one line of JSON.
--
--   wrk -s load.lua URL -- FILE [once]
--
-- With "once" each body is given a member that no other has, so that no request ever comes again. The token that
-- WHENCE_TOKEN holds goes with each, if there is one.

local headers = { ["Content-Type"] = "application/json", ["Accept"] = "application/json" }
local token = os.getenv("WHENCE_TOKEN")
if token then headers["Authorization"] = "Bearer " .. token end
local bodies, requests = {}, {}
local at, started, once = 0, os.time(), false

function init(arguments)
  once = arguments[2] == "once"
  for body in io.lines(arguments[1]) do
    bodies[#bodies + 1] = body
    requests[#requests + 1] = wrk.format("POST", nil, headers, body)
  end
end

function request()
  at = at + 1
  local which = (at - 1) % #requests + 1
  if once then
    local own = string.format('{"n":"%d-%d",%s', started, at, bodies[which]:sub(2))
    return wrk.format("POST", nil, headers, own)
  end
  return requests[which]
end

function done(summary, latency)
  local failed = 0
  for _, count in pairs(summary.errors) do
    failed = failed + count
  end
  local form = '{"requests": %d, "seconds": %.6f, "bytes": %d, "failed": %d, "p50_ms": %.3f, "p95_ms": %.3f}'
  io.write("\nLOAD ", string.format(form, summary.requests, summary.duration / 1e6, summary.bytes, failed,
    latency:percentile(50) / 1e3, latency:percentile(95) / 1e3), "\n")
end
