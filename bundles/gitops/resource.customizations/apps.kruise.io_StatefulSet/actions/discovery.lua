local strategy = obj.spec.updateStrategy or {}
local rolling = strategy.rollingUpdate or {}
local paused = rolling.paused == true
local byHand = strategy.type == "OnDelete"
return {
  -- InPlaceOnly refuses every change that would recreate a pod.
  restart = { disabled = paused or byHand or rolling.podUpdatePolicy == "InPlaceOnly" },
  pause = { disabled = paused or byHand },
  resume = { disabled = not paused },
}
