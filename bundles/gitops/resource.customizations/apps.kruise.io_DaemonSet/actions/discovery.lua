local strategy = obj.spec.updateStrategy or {}
local paused = (strategy.rollingUpdate or {}).paused == true
local byHand = strategy.type == "OnDelete"
return {
  restart = { disabled = paused or byHand },
  pause = { disabled = paused or byHand },
  resume = { disabled = not paused },
}
