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

-- A subset that is closed for a while is what the strategy Adaptive is for: its pods go to other subsets.
local counts = {}
for _, subset in ipairs(status.subsetStatuses or {}) do
  local count = (subset.name or "unnamed") .. " " .. (subset.replicas or 0)
  for _, condition in ipairs(subset.conditions or {}) do
    if condition.type == "Schedulable" and condition.status == "False" then
      count = count .. " (takes no pods for now, because one found no node)"
    end
  end
  table.insert(counts, count)
end
if #counts == 0 then
  return is("Healthy", "No pods are spread yet")
end
return is("Healthy", "Pods by subset: " .. table.concat(counts, ", "))
