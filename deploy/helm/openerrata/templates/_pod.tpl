{{/* One service's or job's image, by digest where one is given. */}}
{{- define "openerrata.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end }}

{{/* The security settings of every pod. */}}
{{- define "openerrata.pod" -}}
automountServiceAccountToken: false
enableServiceLinks: false  # otherwise the cluster sets OPENERRATA_GATEWAY_PORT to an address
securityContext:
  runAsNonRoot: true
  runAsUser: 10001
  runAsGroup: 10001
  fsGroup: 10001
  seccompProfile: {type: RuntimeDefault}
volumes:
  - {name: tmp, emptyDir: {sizeLimit: 64Mi}}
{{- end }}

{{/* The same for its container, which can write only to /tmp and to volumes that are mounted after it. */}}
{{- define "openerrata.container" -}}
imagePullPolicy: {{ .Values.image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  runAsNonRoot: true
  capabilities: {drop: [ALL]}
resources: {{- .Values.resources | toYaml | nindent 2 }}
volumeMounts:
  - {name: tmp, mountPath: /tmp}
{{- end }}

{{/* Settings, and of the secret only what this pod needs. Takes the root and the pod's line in the values. */}}
{{- define "openerrata.env" -}}
{{- $root := index . 0 }}{{ $given := index . 1 }}
{{- range $name, $value := $root.Values.settings }}
- {name: {{ $name }}, value: {{ required "every setting has to be given" $value | quote }}}
{{- end }}
{{- $secret := required "secret has to be given" $root.Values.secret }}
{{- range $given.secrets }}
- {name: {{ . }}, valueFrom: {secretKeyRef: {name: {{ $secret | quote }}, key: {{ . }}}}}
{{- end }}
{{- range $given.optionalSecrets }}
- {name: {{ . }}, valueFrom: {secretKeyRef: {name: {{ $secret | quote }}, key: {{ . }}, optional: true}}}
{{- end }}
- {name: HOME, value: /tmp}
- {name: OPENERRATA_GATEWAY_HOST, value: "0.0.0.0"}
- {name: OPENERRATA_OPS_HOST, value: "0.0.0.0"}
- {name: OPENERRATA_OPS_PORT, value: "9187"}
{{- end }}
