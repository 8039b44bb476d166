local function is(status, message)
  return { status = status, message = message }
end

local status = obj.status
if status == nil or status.phase == nil then
  return is("Progressing", "Waiting for the controller to start the job")
end

local total = obj.spec.replicas or status.match or 0
local count = "Containers of " .. (status.succeeded or 0) .. " of " .. total .. " pods have succeeded"

if status.phase == "Succeeded" then
  return is("Healthy", count)
end
if status.phase == "Failed" or status.phase == "Error" then
  local message = "no message"
  for _, condition in ipairs(status.conditions or {}) do
    if condition.status == "True" and (condition.type == "JobFailed" or condition.type == "JobError") then
      message = condition.message or message
    end
  end
  return is("Degraded", count .. ": " .. message)
end
if obj.spec.paused == true or status.phase == "Paused" then
  return is("Suspended", "The job is paused: " .. count)
end
if (status.match or 0) == 0 then
  return is("Progressing", "No pods match the selector yet")
end
return is("Progressing", count .. ", " .. (status.running or 0) .. " run, " .. (status.failed or 0) .. " have failed")
