local function is(status, message)
  return { status = status, message = message }
end

-- Nodes that keep the old revision, a percentage rounded down. Argo CD offers no string functions, so that a
-- percentage is found by trying all of them.
local function kept(partition, total)
  if type(partition) ~= "string" then
    return partition or 0
  end
  for percent = 0, 100 do
    if partition == percent .. "%" then
      local share = percent * total
      return (share - share % 100) / 100
    end
  end
  return 0
end

local status = obj.status
if status == nil then
  return is("Progressing", "Waiting for the controller to report a status")
end
if (status.observedGeneration or 0) < (obj.metadata.generation or 0) then
  return is("Progressing", "Waiting for the controller to act on the changed spec")
end

local desired = status.desiredNumberScheduled or 0
local strategy = obj.spec.updateStrategy or {}
local rolling = strategy.rollingUpdate or {}
local updated = status.updatedNumberScheduled or 0
local available = status.numberAvailable or 0
local held = kept(rolling.partition, desired)
local selects = rolling.selector ~= nil and next(rolling.selector) ~= nil
-- How many nodes a selector means the status does not tell. With OnDelete nothing is updated by itself.
local expected = desired - held
if selects or strategy.type == "OnDelete" then
  expected = 0
end

-- With partitionedScaling the nodes of the partition have no pods yet. v1alpha1 has an annotation for it.
local wanted = desired
local partitioned = (obj.spec.scaleStrategy or {}).partitionedScaling
if obj.apiVersion == "apps.kruise.io/v1alpha1" then
  partitioned = (obj.metadata.annotations or {})["daemonset.kruise.io/progressive-create-pod"] == "true"
end
if partitioned == true and strategy.type ~= "OnDelete" then
  wanted = desired > held and desired - held or 0
end

if rolling.paused == true then
  return is("Suspended", "The rollout is paused: pods of " .. updated .. " of " .. desired .. " nodes are updated")
end
if updated < expected then
  return is("Progressing", "Pods of " .. updated .. " of " .. expected .. " nodes are updated")
end
if available < wanted then
  return is("Progressing", "Pods of " .. available .. " of " .. wanted .. " nodes are available")
end
if updated >= desired then
  return is("Healthy", "Pods of " .. desired .. " nodes are updated and available")
end
local holder = "the partition"
if strategy.type == "OnDelete" then
  holder = "updateStrategy.type OnDelete"
elseif selects then
  holder = "the selector"
end
local count = "Pods of " .. updated .. " of " .. desired .. " nodes are updated"
return is("Healthy", count .. ", " .. holder .. " holds the others")
