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

for _, condition in ipairs(status.conditions or {}) do
  local refused = condition.type == "FailedCreatePod" or condition.type == "FailedUpdatePod"
  if refused and condition.status == "True" then
    return is("Degraded", condition.type .. ": " .. (condition.message or "no message"))
  end
end

local replicas = obj.spec.replicas or 1
local strategy = obj.spec.updateStrategy or {}
local rolling = strategy.rollingUpdate or {}
local updated = status.updatedReplicas or 0
local available = status.availableReplicas or 0
local surplus = (status.replicas or 0) - replicas
-- The partition is a number of pods. With OnDelete nothing is updated by itself.
local expected = replicas - (rolling.partition or 0)
if strategy.type == "OnDelete" then
  expected = 0
end

if rolling.paused == true then
  return is("Suspended", "The rollout is paused: " .. updated .. " of " .. replicas .. " pods are updated")
end
if updated < expected then
  return is("Progressing", updated .. " of " .. expected .. " pods are updated")
end
if surplus > 0 then
  return is("Progressing", "Pods still to be removed: " .. surplus)
end
if available < replicas then
  return is("Progressing", available .. " of " .. replicas .. " pods are available")
end
if updated >= replicas then
  return is("Healthy", replicas .. " pods are updated and available")
end
local holder = strategy.type == "OnDelete" and "updateStrategy.type OnDelete" or "the partition"
return is("Healthy", updated .. " of " .. replicas .. " pods are updated, " .. holder .. " holds the others")
