local function is(status, message)
  return { status = status, message = message }
end

local status = obj.status
if status == nil then
  return is("Progressing", "Waiting for the agent of the node")
end
local first = status.firstSyncStatus or {}
if first.status == "failed" or first.status == "Failed" then
  return is("Degraded", "The agent could not list the images of the node: " .. (first.message or "no message"))
end

local asked = 0
for _, image in pairs((obj.spec or {}).images or {}) do
  asked = asked + #(image.tags or {})
end
local failures = {}
for name, image in pairs(status.imageStatuses or {}) do
  for _, tag in ipairs(image.tags or {}) do
    if tag.phase == "Failed" then
      table.insert(failures, name .. ":" .. (tag.tag or "") .. " (" .. (tag.message or "no message") .. ")")
    end
  end
end
-- The order of pairs is by chance.
table.sort(failures)

local succeeded = status.succeeded or 0
local failed = status.failed or 0
local count = succeeded .. " of " .. asked .. " images are pulled"
if succeeded + failed < asked then
  return is("Progressing", count)
end
if failed > 0 then
  return is("Degraded", count .. ", failed: " .. table.concat(failures, ", "))
end
return is("Healthy", count)
