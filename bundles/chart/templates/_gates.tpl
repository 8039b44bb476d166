{{- /* Feature gates of .Values.featureGates, for objects that stand only with or without one. Argument: list . NAME. */}}

{{- /* "true" where the gate is on by its own name or by AllAlpha; empty for a gate that is not named and on by default. */}}
{{- define "refit.gateOn" -}}
{{- $gates := (index . 0).Values.featureGates -}}
{{- $given := regexFind (printf "(^|,)\\s*%s\\s*=\\s*[^,]*" (index . 1)) $gates -}}
{{- $all := regexFind "(^|,)\\s*AllAlpha\\s*=\\s*[^,]*" $gates -}}
{{- if regexMatch "(?i)=\\s*(true|t|1)\\s*$" (default $all $given) -}}true{{- end -}}
{{- end }}

{{- /* "true" where the gate is off by its own name. */}}
{{- define "refit.gateOff" -}}
{{- $given := regexFind (printf "(^|,)\\s*%s\\s*=\\s*[^,]*" (index . 1)) (index . 0).Values.featureGates -}}
{{- if regexMatch "(?i)=\\s*(false|f|0)\\s*$" $given -}}true{{- end -}}
{{- end }}
