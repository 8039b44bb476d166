{{- /* Feature gates, for objects that stand only with or without one. Argument of gateOff: list . NAME; of gateOn, with the group of its stage: list . NAME GROUP. */}}

{{- /* Those of the values, and the one that cert-manager needs. */}}
{{- define "refit.featureGates" -}}
{{- .Values.featureGates -}}
{{- if and (dig "externalCerts" "certManager" "enabled" false .Values.AsMap) (not (regexMatch "(^|,)\\s*EnableExternalCerts\\s*=" .Values.featureGates)) -}}
{{- if .Values.featureGates }},{{ end }}EnableExternalCerts=true
{{- end -}}
{{- end }}

{{- /* Of webhook configurations and converted definitions, as YAML: who injects the authority, and which. */}}
{{- define "refit.certificateAnnotations" -}}
{{- $annotations := dict -}}
{{- if include "refit.gateOn" (list . "EnableExternalCerts" "AllAlpha") -}}
{{- $annotations = .Values.externalCerts.annotations | default dict -}}
{{- if dig "externalCerts" "certManager" "enabled" false .Values.AsMap -}}
{{- $from := printf "%s/kruise-webhook-certs" .Values.installation.namespace -}}
{{- $annotations = merge (dict "cert-manager.io/inject-ca-from" $from) $annotations -}}
{{- end -}}
{{- end -}}
{{- toYaml $annotations -}}
{{- end }}

{{- /* "true" where the gate is on by its own name or by its group; empty for a gate that is not named and on by default. */}}
{{- define "refit.gateOn" -}}
{{- $gates := include "refit.featureGates" (index . 0) -}}
{{- $given := regexFind (printf "(^|,)\\s*%s\\s*=\\s*[^,]*" (index . 1)) $gates -}}
{{- $all := regexFind (printf "(^|,)\\s*%s\\s*=\\s*[^,]*" (index . 2)) $gates -}}
{{- if regexMatch "(?i)=\\s*(true|t|1)\\s*$" (default $all $given) -}}true{{- end -}}
{{- end }}

{{- /* "true" where the gate is off by its own name. */}}
{{- define "refit.gateOff" -}}
{{- $given := regexFind (printf "(^|,)\\s*%s\\s*=\\s*[^,]*" (index . 1)) (index . 0).Values.featureGates -}}
{{- if regexMatch "(?i)=\\s*(false|f|0)\\s*$" $given -}}true{{- end -}}
{{- end }}
