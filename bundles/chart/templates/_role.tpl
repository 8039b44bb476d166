{{- /*
The role NAME-role with its rules of rules.yaml, or with given ones, and its binding to an account: in the namespace `place`,
without it in the whole cluster. Argument: dict "root" $ "account" ACCOUNT "name" NAME, and where wanted "place", "rules",
"annotations".
*/}}
{{- define "refit.role" }}
{{- $kind := ternary "Role" "ClusterRole" (hasKey . "place") }}
{{- $role := printf "%s-role" .name }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ $kind }}
metadata:
  name: {{ $role }}
  {{- with .place }}
  namespace: {{ . | quote }}
  {{- end }}
  {{- with .annotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
rules:
  {{- toYaml (.rules | default (index (fromYaml (.root.Files.Get "rules.yaml")) $role)) | nindent 2 }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ $kind }}Binding
metadata:
  name: {{ $role }}binding
  {{- with .place }}
  namespace: {{ . | quote }}
  {{- end }}
  {{- with .annotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: {{ $kind }}
  name: {{ $role }}
subjects:
  - kind: ServiceAccount
    name: {{ .account }}
    namespace: {{ .root.Values.installation.namespace | quote }}
{{- end }}
