local function is(status, message)
  return { status = status, message = message }
end

local status = obj.status
if status == nil or status.phase == nil then
  return is("Progressing", "Waiting for the agent of the pod's node")
end

local states = status.containerRecreateStates or {}
local total = #(obj.spec.containers or {})
local done = 0
local failure
for _, state in ipairs(states) do
  if state.phase == "Succeeded" then
    done = done + 1
  elseif state.phase == "Failed" and failure == nil then
    failure = "Container " .. (state.name or "unnamed") .. " was not recreated: " .. (state.message or "no message")
  end
end
local count = done .. " of " .. total .. " containers are recreated"

if status.phase == "Pending" or status.phase == "Recreating" then
  return is("Progressing", count)
end
if failure ~= nil then
  return is("Degraded", failure)
end
-- The controller ends a request whose pod is gone or whose time is over, whatever its containers are at.
if status.phase == "Failed" or done < total then
  return is("Degraded", count .. ": " .. (status.message or "no message"))
end
return is("Healthy", count)
