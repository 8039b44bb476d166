local strategy = obj.spec.updateStrategy or {}
-- v1alpha1 has no rollingUpdate.
local rolling = strategy.rollingUpdate or strategy
local paused = rolling.paused == true
local policy = rolling.podUpdatePolicy or strategy.type
local byHand = strategy.type == "OnDelete"
return {
  -- InPlaceOnly refuses every change that would recreate a pod.
  restart = { disabled = paused or byHand or policy == "InPlaceOnly" },
  pause = { disabled = paused or byHand },
  resume = { disabled = not paused },
}
