local strategy = obj.spec.updateStrategy
-- v1alpha1 has no rollingUpdate.
local rolling = strategy.rollingUpdate or strategy
rolling.paused = false
return obj
