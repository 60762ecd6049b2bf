{{/* The chart's name, or what overrides it. */}}
{{- define "mooring.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{/* The name of every object. */}}
{{- define "mooring.fullname" -}}
{{- $name := include "mooring.name" . -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" -}}
{{- else if contains $name .Release.Name -}}
{{- .Release.Name | trunc 63 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 63 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "mooring.selectorLabels" -}}
app.kubernetes.io/name: {{ include "mooring.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "mooring.labels" -}}
{{ include "mooring.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{- define "mooring.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "mooring.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- required "serviceAccount.name: which account is it, if the chart does not create one?" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- define "mooring.leaseName" -}}
{{- default (include "mooring.fullname" .) .Values.leaderElection.resourceName -}}
{{- end -}}

{{- define "mooring.leaseNamespace" -}}
{{- default .Release.Namespace .Values.leaderElection.resourceNamespace -}}
{{- end -}}

{{- define "mooring.image" -}}
{{- if .Values.image.digest -}}
{{- printf "%s@%s" .Values.image.repository .Values.image.digest -}}
{{- else -}}
{{- printf "%s:%s" .Values.image.repository (default .Chart.AppVersion .Values.image.tag) -}}
{{- end -}}
{{- end -}}

{{/* The ConfigMap with policies; empty when there are none. */}}
{{- define "mooring.policiesName" -}}
{{- if .Values.policies.existingConfigMap -}}
{{- .Values.policies.existingConfigMap -}}
{{- else if .Values.policies.files -}}
{{- printf "%s-policies" (include "mooring.fullname" .) -}}
{{- end -}}
{{- end -}}

{{/* The whole KubeSchedulerConfiguration. */}}
{{- define "mooring.config" -}}
{{- range $given := list "apiVersion" "kind" "leaderElection" -}}
{{- if hasKey $.Values.config $given -}}
{{- fail (printf "config.%s: leave it out; the chart writes it, and what it writes agrees with the rights it gives. See leaderElection." $given) -}}
{{- end -}}
{{- end -}}
{{- $election := .Values.leaderElection -}}
{{- $lease := dict "leaderElect" $election.enabled "leaseDuration" $election.leaseDuration "renewDeadline" $election.renewDeadline "retryPeriod" $election.retryPeriod "resourceName" (include "mooring.leaseName" .) "resourceNamespace" (include "mooring.leaseNamespace" .) -}}
{{- $base := dict "apiVersion" "kubescheduler.config.k8s.io/v1" "kind" "KubeSchedulerConfiguration" "leaderElection" $lease "profiles" (list (dict "schedulerName" .Values.schedulerName)) -}}
{{- mergeOverwrite $base (deepCopy .Values.config) | toYaml -}}
{{- end -}}

{{/* The names pods ask for Mooring by, with blanks between them. */}}
{{- define "mooring.schedulerNames" -}}
{{- $names := list -}}
{{- range (include "mooring.config" . | fromYaml).profiles -}}
{{- $names = append $names (default "default-scheduler" .schedulerName) -}}
{{- end -}}
{{- join " " $names -}}
{{- end -}}

{{/* Settings that contradict each other. */}}
{{- define "mooring.check" -}}
{{- if and (gt (int .Values.replicas) 1) (not .Values.leaderElection.enabled) -}}
{{- fail "replicas: more than one without leaderElection.enabled would all schedule at once." -}}
{{- end -}}
{{- if and .Values.policies.files .Values.policies.existingConfigMap -}}
{{- fail "policies: give files or existingConfigMap, not both." -}}
{{- end -}}
{{- if and .Values.serviceMonitor.enabled (not .Values.service.enabled) -}}
{{- fail "serviceMonitor.enabled: needs service.enabled, which it finds the pods by." -}}
{{- end -}}
{{- if has .Values.podSchedulerName (include "mooring.schedulerNames" . | splitList " ") -}}
{{- fail (printf "podSchedulerName: Mooring cannot place its own pods. To schedule for %s run it as a static pod (docs/deploy.md), or let another scheduler place it." .Values.podSchedulerName) -}}
{{- end -}}
{{- end -}}
