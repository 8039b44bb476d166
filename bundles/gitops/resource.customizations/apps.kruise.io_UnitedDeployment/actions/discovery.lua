local disabled = true
for _, workload in pairs(obj.spec.template or {}) do
  local strategy = (workload.spec or {}).updateStrategy or {}
  local policy = (strategy.rollingUpdate or {}).podUpdatePolicy or strategy.type
  -- InPlaceOnly refuses every change that would recreate a pod.
  disabled = policy == "InPlaceOnly" or strategy.type == "OnDelete"
end
return { restart = { disabled = disabled } }
