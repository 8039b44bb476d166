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
  local isOfSubsets = condition.type == "SubsetProvisioned" or condition.type == "SubsetUpdated"
  if isOfSubsets and condition.status == "False" then
    return is("Degraded", condition.type .. " is False: " .. (condition.message or "no message"))
  end
end

local subsets = status.subsetStatuses or {}
local desired = 0
local held = 0
for _, subset in ipairs(subsets) do
  desired = desired + (subset.replicas or 0)
  held = held + (subset.partition or 0)
end
if #subsets == 0 then
  desired = obj.spec.replicas or 1
end
-- Reserved pods find no node; others run in their place.
desired = desired - (status.reservedPods or 0)

local expected = desired - held
local updated = status.updatedReplicas or 0
local updatedReady = status.updatedReadyReplicas or 0
local ready = status.readyReplicas or 0
local surplus = (status.replicas or 0) - desired

if updated < expected then
  return is("Progressing", updated .. " of " .. expected .. " pods are updated")
end
if surplus > 0 then
  return is("Progressing", "Pods still to be removed: " .. surplus)
end
if updatedReady < expected then
  return is("Progressing", updatedReady .. " of " .. expected .. " updated pods are ready")
end
if ready < desired then
  return is("Progressing", ready .. " of " .. desired .. " pods are ready")
end
if updated >= desired then
  return is("Healthy", desired .. " pods of " .. #subsets .. " subsets are updated and ready")
end
return is("Healthy", updated .. " of " .. desired .. " pods are updated, partitions hold the others")
