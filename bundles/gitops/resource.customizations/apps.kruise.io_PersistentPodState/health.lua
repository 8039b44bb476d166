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

local recorded = 0
for _ in pairs(status.podStates or {}) do
  recorded = recorded + 1
end
return is("Healthy", "Places of " .. recorded .. " pods are recorded")
