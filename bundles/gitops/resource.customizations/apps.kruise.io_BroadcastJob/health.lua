local function is(status, message)
  return { status = status, message = message }
end

local status = obj.status
if status == nil or status.phase == nil then
  return is("Progressing", "Waiting for the controller to start the job")
end

local desired = status.desired or 0
local succeeded = status.succeeded or 0
local failed = status.failed or 0
local count = "Pods of " .. succeeded .. " of " .. desired .. " nodes have succeeded, " .. failed .. " have failed"

if status.phase == "completed" then
  return is("Healthy", count)
end
if status.phase == "failed" then
  local message = "no message"
  for _, condition in ipairs(status.conditions or {}) do
    if condition.type == "Failed" and condition.status == "True" then
      message = condition.message or message
    end
  end
  return is("Degraded", count .. ": " .. message)
end
if obj.spec.paused == true then
  return is("Suspended", "The job is paused: " .. count)
end
if status.phase == "paused" and failed > 0 then
  return is("Suspended", count .. ": set failurePolicy.type to Continue, or delete the failed pods")
end
local isLasting = (obj.spec.completionPolicy or {}).type == "Never"
if isLasting and (status.active or 0) == 0 and succeeded + failed >= desired then
  return is("Healthy", count .. "; nodes that join get a pod as well")
end
return is("Progressing", count .. ", " .. (status.active or 0) .. " run")
