{{/* The name of this installation and of all its objects: that of the release. 40 characters is what the operator takes. */}}
{{- define "sluice.name" -}}
{{- .Values.deployment | default .Release.Name | trunc 40 | trimAll "-" -}}
{{- end }}

{{- define "sluice.labels" -}}
{{ include "sluice.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | quote }}
{{- end }}

{{- define "sluice.selector" -}}
app.kubernetes.io/name: sluice
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end }}

{{/* (dict "root" $ "image" .Values.x.image "tag" "the default") */}}
{{- define "sluice.image" -}}
{{- $name := .image.repository -}}
{{- if .root.Values.imageRegistry -}}
{{- $name = printf "%s/%s" (.root.Values.imageRegistry | trimSuffix "/") $name -}}
{{- end -}}
{{- if .image.digest -}}
{{ printf "%s@%s" $name .image.digest }}
{{- else -}}
{{ printf "%s:%s" $name (.image.tag | default .tag) }}
{{- end -}}
{{- end }}

{{- define "sluice.operatorImage" -}}
{{ include "sluice.image" (dict "root" . "image" .Values.operator.image "tag" .Chart.AppVersion) }}
{{- end }}

{{- define "sluice.serviceAccount" -}}
{{ .Values.operator.serviceAccount.name | default (include "sluice.name" .) }}
{{- end }}

{{- define "sluice.hooks" -}}
{{ include "sluice.name" . }}-hooks
{{- end }}

{{/* Whether the resource definitions, and with them all jobs, go with the release. */}}
{{- define "sluice.takesDefinitions" -}}
{{- if and .Values.crds.install (not .Values.crds.keep) }}true{{ end -}}
{{- end }}

{{- define "sluice.redis" -}}
{{ include "sluice.name" . | trunc 50 | trimAll "-" }}-redis
{{- end }}

{{- define "sluice.passwordSecret" -}}
{{ .Values.redis.existingSecret | default (include "sluice.redis" .) }}
{{- end }}

{{/* Whether the chart makes the password itself. */}}
{{- define "sluice.makesPassword" -}}
{{- if and .Values.redis.install (not .Values.redis.existingSecret) }}true{{ end -}}
{{- end }}

{{/* Whether the operator's pod has a Secret with a password of Redis as a file. */}}
{{- define "sluice.mountsPassword" -}}
{{- if or .Values.redis.install .Values.redis.existingSecret }}true{{ end -}}
{{- end }}

{{- define "sluice.redisUrl" -}}
{{- if .Values.redis.install -}}
redis://{{ include "sluice.redis" . }}.{{ .Release.Namespace }}.svc:6379/0
{{- else -}}
{{ .Values.redis.url }}
{{- end -}}
{{- end }}

{{- define "sluice.redisConf" -}}
# A lease that Redis dropped for want of memory would be a hole, so it refuses to write instead. That the file is written once a
# second is enough: what is lost with that second is built anew from Kubernetes.
bind * -::*
port 6379
dir /data
maxmemory {{ .Values.redis.maxMemory }}
maxmemory-policy noeviction
appendonly {{ ternary "yes" "no" .Values.redis.persistence.enabled }}
appendfsync everysec
save ""
{{- end }}

{{/* Whether the admission policy is made, which is stable since Kubernetes 1.30. */}}
{{- define "sluice.fences" -}}
{{- if and .Values.admissionPolicy.enabled (semverCompare ">=1.30.0-0" .Capabilities.KubeVersion.Version) }}true{{ end -}}
{{- end }}

{{- define "sluice.replicas" -}}
{{- if kindIs "invalid" .Values.operator.replicas -}}
{{ ternary 2 1 (eq (include "sluice.fences" .) "true") }}
{{- else -}}
{{ int .Values.operator.replicas }}
{{- end -}}
{{- end }}

{{/* What the Pod Security Standard `restricted` asks for. */}}
{{- define "sluice.podSecurity" -}}
runAsNonRoot: true
seccompProfile: {type: RuntimeDefault}
{{- end }}

{{- define "sluice.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end }}

{{- define "sluice.pullSecrets" -}}
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
{{- range . }}
  - name: {{ . | quote }}
{{- end }}
{{- end }}
{{- end }}

{{/* The profiles: their pods pull as the others do, unless they say how themselves. */}}
{{- define "sluice.runtimes" -}}
{{- $secrets := include "sluice.pullSecrets" . | fromYaml }}
{{- $runtimes := deepCopy .Values.runtimes }}
{{- range $profile := $runtimes }}
{{- range $pod := list "driverPod" "executorPod" }}
{{- $template := get $profile $pod | default dict }}
{{- if $secrets }}
{{- $_ := set $profile $pod (merge $template (dict "spec" (merge ($template.spec | default dict) $secrets))) }}
{{- end }}
{{- end }}
{{- end }}
{{- toYaml $runtimes }}
{{- end }}

{{/* Where a pod may run. */}}
{{- define "sluice.placement" -}}
{{- with .nodeSelector }}
nodeSelector: {{ toYaml . | nindent 2 }}
{{- end }}
{{- with .tolerations }}
tolerations: {{ toYaml . | nindent 2 }}
{{- end }}
{{- with .affinity }}
affinity: {{ toYaml . | nindent 2 }}
{{- end }}
{{- with .priorityClassName }}
priorityClassName: {{ . | quote }}
{{- end }}
{{- end }}

{{/* The API groups of the Spark operators whose applications it makes. */}}
{{- define "sluice.engineGroups" -}}
{{- $groups := dict "kubeflow" "sparkoperator.k8s.io" "apache" "spark.apache.org" }}
{{- $found := list }}
{{- range .Values.engines }}{{ $found = append $found (get $groups .) }}{{ end }}
{{- $found | toJson }}
{{- end }}

{{/* The operator's rights on objects of the namespaces that it watches. */}}
{{- define "sluice.watchedRules" -}}
- {apiGroups: [sluice.dev], resources: [deltawritejobs], verbs: [get, list, watch, create, delete]}
- {apiGroups: [sluice.dev], resources: [deltatablepolicies], verbs: [list, watch]}
- {apiGroups: [sluice.dev], resources: [deltawritejobs/status, deltatablepolicies/status], verbs: [patch]}
- {apiGroups: {{ include "sluice.engineGroups" . }}, resources: [sparkapplications], verbs: [get, list, watch, create, patch, delete]}
- {apiGroups: [""], resources: [pods], verbs: [get, list, watch, create, patch, delete]}
- {apiGroups: [""], resources: [events], verbs: [create]}
{{- end }}

{{/* Of an admission policy: that it judges the watched namespaces alone. */}}
{{- define "sluice.watchedSelector" -}}
{{- with .Values.watchNamespaces -}}
namespaceSelector:
  matchExpressions:
    - {key: kubernetes.io/metadata.name, operator: In, values: {{ toJson . }}}
{{- end }}
{{- end }}

{{/* Of an admission policy: that it judges all but the operator. */}}
{{- define "sluice.othersWrite" -}}
- name: another-than-the-operator-writes
  expression: {{ printf "request.userInfo.username != 'system:serviceaccount:%s:%s'" .Release.Namespace (include "sluice.serviceAccount" .) | quote }}
{{- end }}

{{/* The binding by which the admission policy of a list's second item refuses; the first is the chart's scope. */}}
{{- define "sluice.denies" -}}
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata:
  name: {{ index . 1 | quote }}
  labels: {{ include "sluice.labels" (index . 0) | nindent 4 }}
spec:
  policyName: {{ index . 1 | quote }}
  validationActions: [Deny]
{{- end }}

{{/* The rights of a driver in the namespace of its job. */}}
{{- define "sluice.driverRules" -}}
- {apiGroups: [""], resources: [pods], verbs: [get, list, watch, create, patch, delete, deletecollection]}
- {apiGroups: [""], resources: [configmaps], verbs: [get, create, patch, deletecollection]}
- {apiGroups: [""], resources: [persistentvolumeclaims], verbs: [list, create, deletecollection]}
- {apiGroups: [""], resources: [services], verbs: [deletecollection]}
{{- end }}

{{/* The accounts of drivers, as NAMESPACE:NAME, that the chart makes or that admissionPolicy.driverAccounts lists. */}}
{{- define "sluice.driverAccounts" -}}
{{- $accounts := .Values.admissionPolicy.driverAccounts | default list }}
{{- if .Values.jobServiceAccount.create }}
{{- range .Values.jobServiceAccount.namespaces | default .Values.watchNamespaces }}
{{- $accounts = append $accounts (printf "%s:%s" . $.Values.jobServiceAccount.name) }}
{{- end }}
{{- end }}
{{- uniq $accounts | toJson }}
{{- end }}

{{/* The accounts by name that a driver may start executors as, beside its own: those of drivers, and those of runtimes' executorPod. */}}
{{- define "sluice.executorAccounts" -}}
{{- $names := list }}
{{- range include "sluice.driverAccounts" . | fromJsonArray }}{{ $names = append $names (splitList ":" . | last) }}{{ end }}
{{- range .Values.runtimes }}
{{- $spec := (.executorPod | default dict).spec | default dict }}
{{- range compact (list $spec.serviceAccountName $spec.serviceAccount) }}{{ $names = append $names . }}{{ end }}
{{- end }}
{{- uniq $names | toJson }}
{{- end }}

{{/* How many bytes an amount of memory is, of Kubernetes or of Redis. */}}
{{- define "sluice.bytes" -}}
{{- $factors := dict "" 1 "n" 1e-9 "u" 1e-6 "m" 1e-3 "k" 1e3 "M" 1e6 "G" 1e9 "T" 1e12 "P" 1e15 "E" 1e18 "kb" 1024 }}
{{- $factors = merge $factors (dict "Ki" 1024 "Mi" 1048576 "Gi" 1073741824 "Ti" 1099511627776 "Pi" 1125899906842624) }}
{{- $factors = merge $factors (dict "Ei" 1152921504606846976 "mb" 1048576 "gb" 1073741824) }}
{{- $text := toString . }}
{{- $unit := regexFind "([KMGTPE]i|[numkMGTPE]|[kmg]b)$" $text }}
{{- mulf (trimSuffix $unit $text | float64) (get $factors $unit) }}
{{- end }}

{{/* Values that contradict one another. */}}
{{- define "sluice.check" -}}
{{- if and (not .Values.redis.install) (not .Values.redis.url) (not .Values.redis.existingUrl.secret) }}
{{- fail "redis.install is false: set redis.url, or redis.existingUrl.secret, to say where another Redis is" }}
{{- end }}
{{- if and .Values.redis.install (or .Values.redis.url .Values.redis.existingUrl.secret) }}
{{- fail "redis.install is true and another Redis is named: set redis.install=false to use redis.url or redis.existingUrl" }}
{{- end }}
{{- if and .Values.redis.url .Values.redis.existingUrl.secret }}
{{- fail "redis.url and redis.existingUrl.secret both say where Redis is: set one of them" }}
{{- end }}
{{- $host := `(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?)` }}
{{- $port := `([1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])` }}
{{- $server := printf `%s(:%s)?` $host $port }}
{{- $place := printf `(rediss?://([A-Za-z0-9._~-]+@)?%s|rediss?\+sentinel://([A-Za-z0-9._~-]+@)?%s(,%s)*/[A-Za-z0-9._-]+)(/[0-9]+)?` $server $server $server }}
{{- $option := `(password_file|sentinel_auth|ssl_(ca_certs|ca_path|certfile|keyfile|check_hostname|cert_reqs)|socket_(connect_)?timeout)=[A-Za-z0-9._~/%-]+` }}
{{- if and .Values.redis.url (not (regexMatch (printf `^%s(\?%s(&%s)*)?$` $place $option $option) .Values.redis.url)) }}
{{- fail "redis.url is not of the form redis://[USER@]HOST[:PORT][/DATABASE], redis+sentinel://[USER@]HOST[:PORT],HOST[:PORT]/MASTER[/DATABASE], or one of these with rediss, each with ?OPTION=VALUE&OPTION=VALUE or without (docs/operations.md lists the options under Redis): it is readable in a ConfigMap, so put a password into a Secret and name it in redis.existingSecret, or the whole URL, of any form, and name it in redis.existingUrl" }}
{{- end }}
{{- if and (contains "password_file=" (.Values.redis.url | default "")) .Values.redis.existingSecret }}
{{- fail "redis.url has a password_file, and redis.existingSecret names a Secret with a password, which would not be used: leave one of them out" }}
{{- end }}
{{- if not (regexMatch "^[a-z]([a-z0-9-]*[a-z0-9])?$" (include "sluice.name" .)) }}
{{- fail (printf "the name %s, which is that of the release unless deployment is set, cannot be that of a Service: set deployment to one of small letters, digits and dashes that begins with a letter" (include "sluice.name" .)) }}
{{- end }}
{{- $limit := (.Values.redis.resources.limits | default dict).memory }}
{{- if and .Values.redis.install $limit (ge (include "sluice.bytes" .Values.redis.maxMemory | float64) (include "sluice.bytes" $limit | float64)) }}
{{- fail (printf "redis.maxMemory %s is not below redis.resources.limits.memory %v: Redis would be killed before it refuses new leases. Set the limit well above it" .Values.redis.maxMemory $limit) }}
{{- end }}
{{- if and (gt (include "sluice.replicas" . | int) 1) (not (include "sluice.fences" .)) }}
{{- fail (printf "operator.replicas is %s, and there is no admission policy (admissionPolicy.enabled is false, or Kubernetes %s is older than 1.30), so that nothing would refuse what a replica sends late that no longer leads: leave operator.replicas out, or set 1" (include "sluice.replicas" .) .Capabilities.KubeVersion.Version) }}
{{- end }}
{{- if and .Values.redis.install (not .Values.redis.image.tag) (not .Values.redis.image.digest) }}
{{- fail "redis.image.tag and redis.image.digest are empty: set one of them" }}
{{- end }}
{{- if and (not .Values.operator.serviceAccount.create) (not .Values.operator.serviceAccount.name) }}
{{- fail "operator.serviceAccount.create is false: set operator.serviceAccount.name to the account that is there" }}
{{- end }}
{{- if and (not .Values.operator.serviceAccount.create) .Values.operator.serviceAccount.annotations }}
{{- fail "operator.serviceAccount.annotations are given for an account that the chart does not make (operator.serviceAccount.create is false), so nobody would write them: leave them out, and annotate the account yourself" }}
{{- end }}
{{- if and (hasKey (default dict .Values.operator.serviceAccount.annotations) "azure.workload.identity/client-id") (ne (get (default dict .Values.operator.podLabels) "azure.workload.identity/use") "true") }}
{{- fail "operator.serviceAccount.annotations has azure.workload.identity/client-id, which AKS heeds only for pods with the label azure.workload.identity/use: \"true\": set it in operator.podLabels" }}
{{- end }}
{{- $account := include "sluice.serviceAccount" . }}
{{- $hooks := include "sluice.hooks" . }}
{{- if eq $account $hooks }}
{{- fail (printf "operator.serviceAccount.name is %s, which is the account of the hooks and goes with each of them: choose another" $account) }}
{{- end }}
{{- with .Values.jobServiceAccount }}
{{- if and .annotations (not (and .create (.namespaces | default $.Values.watchNamespaces))) }}
{{- fail "jobServiceAccount.annotations are given for accounts that the chart does not make (jobServiceAccount.create is false, or neither namespaces nor watchNamespaces says where), so nobody would write them: leave them out, and annotate the account yourself in each namespace of jobs" }}
{{- end }}
{{- if .create }}
{{- $used := list }}
{{- range $.Values.runtimes }}{{ $used = append $used (.serviceAccount | default "default") }}{{ end }}
{{- if not (has .name $used) }}
{{- fail (printf "jobServiceAccount.name is %s, and no runtime uses that account (%s): set runtimes.default.serviceAccount to it, too, or jobServiceAccount.create=false" .name (uniq $used | join ", ")) }}
{{- end }}
{{- if and (has $.Release.Namespace (.namespaces | default $.Values.watchNamespaces)) (has .name (list $account $hooks)) }}
{{- fail (printf "the account %s in namespace %s would be that of jobs and of Sluice itself: choose another operator.serviceAccount.name, or another jobServiceAccount.name" .name $.Release.Namespace) }}
{{- end }}
{{- end }}
{{- end }}
{{- if and .Values.monitoring.prometheusRule.enabled (not .Values.monitoring.serviceMonitor.enabled) }}
{{- fail "monitoring.prometheusRule.enabled needs monitoring.serviceMonitor.enabled: its alerts go by the labels that the ServiceMonitor gives, and the first one would fire for ever" }}
{{- end }}
{{- if and .Release.IsUpgrade (not .Values.crds.install) }}
{{- $before := lookup "apps/v1" "Deployment" .Release.Namespace (include "sluice.name" .) }}
{{- if hasKey (($before.metadata | default dict).annotations | default dict) "sluice.dev/takes-definitions" }}
{{- fail "this upgrade would delete the resource definitions, and with them all jobs and policies, because the release has crds.keep=false: upgrade with crds.keep=true and crds.install=true first, then with crds.install=false" }}
{{- end }}
{{- end }}
{{- range $part, $image := dict "operator" .Values.operator.image "redis" .Values.redis.image }}
{{- if and $.Values.imageRegistry (regexMatch "^([^/]*[.:][^/]*|localhost)/" $image.repository) }}
{{- fail (printf "%s.image.repository %s names a registry, and imageRegistry %s would be put before it: leave one of them out" $part $image.repository $.Values.imageRegistry) }}
{{- end }}
{{- end }}
{{- end }}

{{/* What is said of pods, and contradicts itself or what the chart says of them. */}}
{{- define "sluice.checkPods" -}}
{{- $parts := dict "operator" .Values.operator }}
{{- if .Values.redis.install }}{{ $_ := set $parts "redis" .Values.redis }}{{ end }}
{{- /* Importing its program took the operator 128 MiB and 1.5 s of CPU; it has to start within 120 s. Redis took 12 MiB empty. */}}
{{- $floors := dict "operator" (dict "memory" "128Mi" "cpu" "50m") "redis" (dict "memory" "32Mi") }}
{{- range $part, $pod := $parts }}
{{- range $key := list "app.kubernetes.io/name" "app.kubernetes.io/instance" "app.kubernetes.io/component" }}
{{- if hasKey ($pod.podLabels | default dict) $key }}
{{- fail (printf "%s.podLabels has %s, which the chart sets itself, because Services find the pod by it: leave it out" $part $key) }}
{{- end }}
{{- end }}
{{- if hasKey ($pod.podAnnotations | default dict) "checksum/config" }}
{{- fail (printf "%s.podAnnotations has checksum/config, which the chart sets itself: leave it out" $part) }}
{{- end }}
{{- $requests := $pod.resources.requests | default dict }}
{{- range $name, $limit := $pod.resources.limits }}
{{- $bytes := include "sluice.bytes" $limit | float64 }}
{{- if and (hasKey $requests $name) (lt $bytes (include "sluice.bytes" (get $requests $name) | float64)) }}
{{- fail (printf "%s.resources.limits.%s %v is below %s.resources.requests.%s %v: lower the request, or raise the limit" $part $name $limit $part $name (get $requests $name)) }}
{{- end }}
{{- $floor := get (get $floors $part) $name }}
{{- if and $floor (lt $bytes (include "sluice.bytes" $floor | float64)) }}
{{- fail (printf "%s.resources.limits.%s %v is too little to start with: set %s or more" $part $name $limit $floor) }}
{{- end }}
{{- end }}
{{- end }}
{{- if and .Values.redis.install (lt (include "sluice.bytes" .Values.redis.maxMemory | float64) (include "sluice.bytes" "4mb" | float64)) }}
{{- fail (printf "redis.maxMemory %s is too little: an empty Redis takes 1mb of it, so set 4mb or more" .Values.redis.maxMemory) }}
{{- end }}
{{- $variables := list }}
{{- if .Values.redis.existingUrl.secret }}{{ $variables = append $variables "SLUICE_REDIS_URL" }}{{ end }}
{{- if include "sluice.mountsPassword" . }}{{ $variables = concat $variables (list "SLUICE_REDIS_PASSWORD" "SLUICE_REDIS_PASSWORD_FILE") }}{{ end }}
{{- range .Values.operator.extraEnv }}
{{- if has .name $variables }}
{{- fail (printf "operator.extraEnv has %s twice, or the chart sets it itself (redis.existingSecret and redis.existingUrl say from which Secret): leave it out" .name) }}
{{- end }}
{{- $variables = append $variables .name }}
{{- end }}
{{- $volumes := list "config" "tmp" "redis-password" }}
{{- $own := join ", " $volumes }}
{{- range .Values.operator.extraVolumes }}
{{- if has .name $volumes }}
{{- fail (printf "operator.extraVolumes has %s twice, or it is the name of one of the chart's own (%s): choose another" .name $own) }}
{{- end }}
{{- $volumes = append $volumes .name }}
{{- end }}
{{- $paths := list "/etc/sluice" "/tmp" "/etc/sluice-redis" }}
{{- $ownPaths := join ", " $paths }}
{{- range .Values.operator.extraVolumeMounts }}
{{- if not (has .name $volumes) }}
{{- fail (printf "operator.extraVolumeMounts has %s, which is no volume (%s): add it to operator.extraVolumes" .name (join ", " $volumes)) }}
{{- end }}
{{- $path := printf "/%s" .mountPath | clean }}
{{- if has $path $paths }}
{{- fail (printf "operator.extraVolumeMounts has the mountPath %s twice, or it is one of the chart's own (%s): choose another" $path $ownPaths) }}
{{- end }}
{{- $paths = append $paths $path }}
{{- end }}
{{- end }}

{{/* (dict "root" $ "name" "..." "on" "pre-delete" "args" (list ...)): a Job of the operator's image that runs one of its hooks. */}}
{{- define "sluice.hookJob" -}}
{{- $name := printf "%s-%s" (include "sluice.name" .root) .name -}}
apiVersion: batch/v1
kind: Job
metadata:
  name: {{ $name | quote }}
  labels: {{ include "sluice.labels" .root | nindent 4 }}
    app.kubernetes.io/component: {{ .name }}
  annotations:
    helm.sh/hook: {{ .on }}
    helm.sh/hook-weight: "0"
    helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
spec:
  # A pod that was killed halfway, or could not reach the API server, is made anew and does all of it again; an answer is final.
  backoffLimit: 2
  podFailurePolicy:
    rules:
      - action: Ignore
        onPodConditions: [{type: DisruptionTarget}]
      - action: FailJob
        onExitCodes: {operator: In, values: [10]}
  activeDeadlineSeconds: 240
  template:
    metadata:
      labels: {{ include "sluice.selector" .root | nindent 8 }}
        app.kubernetes.io/component: {{ .name }}
    spec:
      enableServiceLinks: false
      serviceAccountName: {{ include "sluice.hooks" .root | quote }}
      restartPolicy: Never
      {{- include "sluice.pullSecrets" .root | nindent 6 }}
      {{- include "sluice.placement" .root.Values.operator | nindent 6 }}
      securityContext: {{ include "sluice.podSecurity" .root | nindent 8 }}
      containers:
        - name: {{ .name | quote }}
          image: {{ include "sluice.operatorImage" .root | quote }}
          imagePullPolicy: {{ .root.Values.operator.image.pullPolicy }}
          command: [sluice, hooks]
          args: {{ concat .args (list "--namespace" .root.Release.Namespace) | toJson }}
          # What it says last stands in the pod's status, too: kubectl describe pod shows it.
          terminationMessagePolicy: FallbackToLogsOnError
          resources:
            requests: {cpu: 50m, memory: 128Mi}
            limits: {memory: 512Mi}
          securityContext: {{ include "sluice.containerSecurity" .root | nindent 12 }}
          volumeMounts: [{name: tmp, mountPath: /tmp}]
      volumes: [{name: tmp, emptyDir: {}}]
{{- end }}
