local function is(status, message)
  return { status = status, message = message }
end

local status = obj.status
if status == nil then
  return is("Progressing", "Waiting for the controller to report a status")
end

local last = status.lastScheduleTime
local told = last == nil and "no run is known" or "the last run was due at " .. last
if obj.spec.paused == true then
  return is("Suspended", "It is paused and starts nothing: " .. told)
end
-- A run is no rollout: else the application would be Progressing with every one.
local active = #(status.active or {})
return is("Healthy", "Schedule " .. (obj.spec.schedule or "") .. ": " .. told .. ", jobs that run: " .. active)
