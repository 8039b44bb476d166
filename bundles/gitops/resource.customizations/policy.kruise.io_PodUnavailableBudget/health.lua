local function is(status, message)
  return { status = status, message = message }
end

local status = obj.status
if status == nil then
  return is("Progressing", "Waiting for the controller to report a status")
end
if (status.observedGeneration or 0) < (obj.metadata.generation or 0) then
  return is("Progressing", "Waiting for the controller to act on the changed spec")
end

local total = status.totalReplicas or 0
local available = status.currentAvailable or 0
local floor = status.desiredAvailable or 0
-- -1: the workload does not exist yet.
if total <= 0 then
  return is("Healthy", "It protects no pods yet")
end
if floor > total then
  return is("Degraded", "Of " .. total .. " pods " .. floor .. " must stay available: no pod may ever go")
end
if available < floor then
  return is("Progressing", available .. " pods are available, " .. floor .. " must stay")
end
local allowed = status.unavailableAllowed or 0
return is("Healthy", available .. " of " .. total .. " pods are available, " .. allowed .. " may go now")
