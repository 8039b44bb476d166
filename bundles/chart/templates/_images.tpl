{{- /* Images of OpenKruise named in values that came from there: their programs are not these. */}}

{{- /* Image of a repository and a tag or digest; an empty tag is the chart's version. */}}
{{- define "refit.image" -}}
{{- $tag := .tag | default .chart.AppVersion | toString -}}
{{ .repository }}{{ if hasPrefix "sha256:" $tag }}@{{ else }}:{{ end }}{{ $tag }}
{{- end }}

{{- define "refit.controllerImage" -}}
{{- $image := .Values.manager.image -}}
{{- if regexMatch "^(docker\\.io/)?openkruise/kruise-manager$" $image.repository -}}
{{- include "refit.image" (dict "chart" .Chart "repository" "refit/controller") -}}
{{- else if regexMatch "(^|/)kruise-manager$" $image.repository -}}
{{- fail (printf "manager.image.repository=%s is OpenKruise's manager: name an image of this chart's controller, or leave the value out" $image.repository) -}}
{{- else -}}
{{- include "refit.image" (dict "chart" .Chart "repository" $image.repository "tag" $image.tag) -}}
{{- end -}}
{{- end }}

{{- define "refit.agentImage" -}}
{{- $repository := dig "daemon" "image" "repository" "refit/agent" .Values.AsMap -}}
{{- include "refit.image" (dict "chart" .Chart "repository" $repository "tag" (dig "daemon" "image" "tag" "" .Values.AsMap)) -}}
{{- end }}

{{- define "refit.hookImage" -}}
{{- $image := .Values.helmHooks.image -}}
{{- if or (not $image.repository) (regexMatch "(^|/)kruise-helm-hook$" $image.repository) -}}
{{- include "refit.controllerImage" . -}}
{{- else -}}
{{- include "refit.image" (dict "chart" .Chart "repository" $image.repository "tag" $image.tag) -}}
{{- end -}}
{{- end }}
