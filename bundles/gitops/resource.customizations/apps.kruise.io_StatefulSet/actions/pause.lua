obj.spec.updateStrategy = obj.spec.updateStrategy or {}
local strategy = obj.spec.updateStrategy
strategy.rollingUpdate = strategy.rollingUpdate or {}
strategy.rollingUpdate.paused = true
return obj
