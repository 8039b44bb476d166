local strategy = obj.spec.updateStrategy or {}
local paused = strategy.paused == true
return {
  pause = { disabled = paused or strategy.type == "NotUpdate" },
  resume = { disabled = not paused },
}
