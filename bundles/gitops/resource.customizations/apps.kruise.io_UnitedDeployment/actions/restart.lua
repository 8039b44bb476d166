local os = require("os")

-- Exactly one of the four forms is there.
local _, workload = next(obj.spec.template)
local template = workload.spec.template
local strategy = workload.spec.updateStrategy or {}
-- v1alpha1 of a CloneSet has the policy as the type.
local policy = (strategy.rollingUpdate or {}).podUpdatePolicy or strategy.type
local inPlace = policy == "InPlaceIfPossible"

-- Where pods are updated in place an annotation restarts nothing: there it is the variable of `refit rollout restart`.
-- Elsewhere it is the annotation of `kubectl rollout restart`, because the containers of Git would end a variable.
local now = os.date("!%Y-%m-%dT%XZ")
if inPlace then
  for _, container in ipairs(template.spec.containers) do
    container.env = container.env or {}
    local variable
    for _, each in ipairs(container.env) do
      if each.name == "RESTARTED_AT" then
        variable = each
      end
    end
    if variable == nil then
      variable = { name = "RESTARTED_AT" }
      table.insert(container.env, variable)
    end
    variable.value = now
  end
else
  template.metadata = template.metadata or {}
  template.metadata.annotations = template.metadata.annotations or {}
  template.metadata.annotations["kubectl.kubernetes.io/restartedAt"] = now
end
return obj
