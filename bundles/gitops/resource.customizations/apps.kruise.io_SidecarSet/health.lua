local function is(status, message)
  return { status = status, message = message }
end

-- Pods that keep the old revision, a percentage rounded up, and below 100% never all of several. Argo CD offers no string
-- functions, so that a percentage is found by trying all of them; with a fraction nothing is waited for.
local function kept(partition, total)
  if type(partition) ~= "string" then
    return partition or 0
  end
  for percent = 0, 99 do
    if partition == percent .. "%" then
      local share = percent * total + 99
      local pods = (share - share % 100) / 100
      if total > 1 and pods == total then
        return total - 1
      end
      return pods
    end
  end
  return total
end

local status = obj.status
if status == nil then
  return is("Progressing", "Waiting for the controller to report a status")
end
if (status.observedGeneration or 0) < (obj.metadata.generation or 0) then
  return is("Progressing", "Waiting for the controller to act on the changed spec")
end

local matched = status.matchedPods or 0
local updated = status.updatedPods or 0
local ready = status.updatedReadyPods or 0
local strategy = obj.spec.updateStrategy or {}
local selects = strategy.selector ~= nil and next(strategy.selector) ~= nil
-- How many pods a selector means the status does not tell.
local expected = matched - kept(strategy.partition, matched)
if selects then
  expected = 0
end

if strategy.type == "NotUpdate" then
  return is("Healthy", "New pods get the sidecars; running pods are left alone (updateStrategy.type NotUpdate)")
end
if strategy.paused == true then
  return is("Suspended", "The rollout is paused: sidecars of " .. updated .. " of " .. matched .. " pods are updated")
end
if updated < expected then
  return is("Progressing", "Sidecars of " .. updated .. " of " .. expected .. " pods are updated")
end
if ready < expected then
  return is("Progressing", ready .. " of " .. expected .. " updated pods are ready")
end
if updated >= matched then
  return is("Healthy", "Sidecars of " .. matched .. " pods are updated")
end
local holder = selects and "the selector" or "the partition"
local count = "Sidecars of " .. updated .. " of " .. matched .. " pods are updated"
return is("Healthy", count .. ", " .. holder .. " holds the others")
