-- For wrk: sends each line of a file as the body of a POST, round and round, and prints what came of it as one line of JSON.
--
--   wrk -s load.lua URL -- FILE

local requests = {}
local at = 0

function init(arguments)
  local headers = { ["Content-Type"] = "application/json", ["Accept"] = "application/json" }
  for body in io.lines(arguments[1]) do
    requests[#requests + 1] = wrk.format("POST", nil, headers, body)
  end
end

function request()
  at = at % #requests + 1
  return requests[at]
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
