local function is(status, message)
  return { status = status, message = message }
end

local status = obj.status
if status == nil then
  return is("Progressing", "Waiting for the agent of the node")
end

local asked = 0
for _, pod in ipairs((obj.spec or {}).podProbes or {}) do
  asked = asked + #(pod.probes or {})
end
local reported = 0
for _, pod in ipairs(status.podProbeStatuses or {}) do
  reported = reported + #(pod.probeStates or {})
end
-- A probe that fails is a result, no fault of the object.
if reported < asked then
  return is("Progressing", reported .. " of " .. asked .. " probes have a result")
end
return is("Healthy", asked .. " probes have a result")
