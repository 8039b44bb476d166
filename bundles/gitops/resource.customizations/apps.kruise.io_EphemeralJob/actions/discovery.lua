local paused = obj.spec.paused == true
local isOver = (obj.status or {}).completionTime ~= nil
return {
  pause = { disabled = paused or isOver },
  resume = { disabled = not paused or isOver },
}
