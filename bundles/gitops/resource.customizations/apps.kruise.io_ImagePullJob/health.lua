local function is(status, message)
  return { status = status, message = message }
end

-- There may be thousands.
local function first(names)
  local shown = #names > 5 and 5 or #names
  return table.concat(names, ", ", 1, shown) .. (#names > shown and ", ..." or "")
end

local status = obj.status
if status == nil or status.startTime == nil then
  return is("Progressing", "Waiting for the controller to start the job")
end

local desired = status.desired or 0
local succeeded = status.succeeded or 0
local failed = status.failed or 0
local count = succeeded .. " of " .. desired .. " nodes have the image"
local isLasting = (obj.spec.completionPolicy or {}).type == "Never"
local isOver = status.completionTime ~= nil or (isLasting and succeeded + failed >= desired)

if not isOver then
  return is("Progressing", count .. ", " .. failed .. " failed: " .. (status.message or "no message"))
end
if failed > 0 then
  return is("Degraded", count .. ", " .. failed .. " failed: " .. first(status.failedNodes or {}))
end
return is("Healthy", count)
