local function is(status, message)
  return { status = status, message = message }
end

local status = obj.status
if status == nil or status.startTime == nil then
  return is("Progressing", "Waiting for the controller to start the job")
end

local desired = status.desired or 0
local completed = status.completed or 0
local count = (status.succeeded or 0) .. " of " .. desired .. " images are on all nodes"
local failures = {}
for _, image in ipairs(status.failedImageStatuses or {}) do
  table.insert(failures, (image.name or "an image") .. " (ImagePullJob " .. (image.imagePullJob or "unknown") .. ")")
end
local isLasting = (obj.spec.completionPolicy or {}).type == "Never"
local isOver = status.completionTime ~= nil or (isLasting and completed >= desired)

if not isOver then
  return is("Progressing", count)
end
if #failures > 0 then
  return is("Degraded", count .. ", not everywhere: " .. table.concat(failures, ", "))
end
return is("Healthy", count)
