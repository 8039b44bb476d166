obj.spec.updateStrategy.rollingUpdate.paused = false
return obj
