local paused = obj.spec.paused == true
local phase = (obj.status or {}).phase
local isOver = phase == "completed" or phase == "failed"
return {
  pause = { disabled = paused or isOver },
  resume = { disabled = not paused or isOver },
}
