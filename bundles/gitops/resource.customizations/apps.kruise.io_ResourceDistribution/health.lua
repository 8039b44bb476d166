local function is(status, message)
  return { status = status, message = message }
end

-- There may be thousands.
local function first(names)
  local shown = #names > 5 and 5 or #names
  return table.concat(names, ", ", 1, shown) .. (#names > shown and ", ..." or "")
end

local status = obj.status
if status == nil then
  return is("Progressing", "Waiting for the controller to report a status")
end
if (status.observedGeneration or 0) < (obj.metadata.generation or 0) then
  return is("Progressing", "Waiting for the controller to act on the changed spec")
end

-- Numbers that are zero are absent.
local desired = status.desired or 0
local succeeded = status.succeeded or 0
local count = succeeded .. " of " .. desired .. " namespaces have the resource"
local failures = {}
for _, condition in ipairs(status.conditions or {}) do
  if condition.status == "True" then
    -- v1alpha1 has another name for the list.
    local namespaces = condition.failedNamespaces or condition.failedNamespace or {}
    local cause = condition.type .. " in " .. first(namespaces)
    table.insert(failures, cause .. " (" .. (condition.reason or "no reason") .. ")")
  end
end

if (status.failed or 0) > 0 or #failures > 0 then
  return is("Degraded", count .. ": " .. table.concat(failures, "; "))
end
if succeeded < desired then
  return is("Progressing", count)
end
return is("Healthy", count)
