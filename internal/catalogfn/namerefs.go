package catalogfn

import (
	"strings"
	"sync"
)

// nameReference is a field that names another resource.
type nameReference struct {
	targetGroup, targetKind string
	group                   string // of the referrer, "" for any
	path                    []string
}

// nameReferences are the fields by the referrer's kind: the default configuration of the
// kustomize that every release of ensure-name-substring links. IngressClasses are not among
// them: kustomize has their group wrong.
var nameReferences = sync.OnceValue(buildNameReferences)

// podReferences are the fields of a pod's spec, as "group/Kind of the target: where the
// referrers keep that spec: fields".
var podReferences = `
/ConfigMap: config: volumes/configMap/name containers/env/valueFrom/configMapKeyRef/name initContainers/env/valueFrom/configMapKeyRef/name containers/envFrom/configMapRef/name initContainers/envFrom/configMapRef/name volumes/projected/sources/configMap/name
/Secret: config: volumes/secret/secretName containers/env/valueFrom/secretKeyRef/name initContainers/env/valueFrom/secretKeyRef/name containers/envFrom/secretRef/name initContainers/envFrom/secretRef/name imagePullSecrets/name volumes/projected/sources/secret/name
/ServiceAccount: other: serviceAccountName
/PersistentVolumeClaim: other: volumes/persistentVolumeClaim/claimName
scheduling.k8s.io/PriorityClass: other: priorityClassName`

// podSpecs are where kinds keep a pod's spec. kustomize follows ConfigMaps and Secrets from
// other kinds than the rest.
var podSpecs = map[string]map[string]string{
	"config": {
		"Pod": "spec", "Deployment": "spec/template/spec", "ReplicaSet": "spec/template/spec", "DaemonSet": "spec/template/spec",
		"StatefulSet": "spec/template/spec", "Job": "spec/template/spec", "CronJob": "spec/jobTemplate/spec/template/spec",
	},
	"other": {
		"Pod": "spec", "Deployment": "spec/template/spec", "ReplicationController": "spec/template/spec", "DaemonSet": "spec/template/spec",
		"StatefulSet": "spec/template/spec", "Job": "spec/template/spec", "CronJob": "spec/jobTemplate/spec/template/spec",
	},
}

// otherReferences are "target: referrer field, …", each as group/Kind; "*" is
// any group.
var otherReferences = `
*/Deployment: */HorizontalPodAutoscaler spec/scaleTargetRef/name
*/ReplicationController: */HorizontalPodAutoscaler spec/scaleTargetRef/name
*/ReplicaSet: */HorizontalPodAutoscaler spec/scaleTargetRef/name
*/StatefulSet: */HorizontalPodAutoscaler spec/scaleTargetRef/name
/ConfigMap: */PodTemplate template/spec/volumes/configMap/name, */Node spec/configSource/configMap, */Role rules/resourceNames, */ClusterRole rules/resourceNames, */Ingress metadata/annotations/nginx.ingress.kubernetes.io\/fastcgi-params-configmap
/Secret: */Ingress spec/tls/secretName, */Ingress metadata/annotations/ingress.kubernetes.io\/auth-secret, */Ingress metadata/annotations/nginx.ingress.kubernetes.io\/auth-secret, */Ingress metadata/annotations/nginx.ingress.kubernetes.io\/auth-tls-secret
/Secret: */ServiceAccount imagePullSecrets/name, */StorageClass parameters/secretName, */StorageClass parameters/adminSecretName, */StorageClass parameters/userSecretName, */StorageClass parameters/secretRef
/Secret: */Role rules/resourceNames, */ClusterRole rules/resourceNames, serving.knative.dev/Service spec/template/spec/containers/env/valueFrom/secretKeyRef/name, */PersistentVolume spec/azureFile/secretName
/Service: apps/StatefulSet spec/serviceName, */Ingress spec/rules/http/paths/backend/serviceName, */Ingress spec/backend/serviceName, */Ingress spec/rules/http/paths/backend/service/name, */Ingress spec/defaultBackend/service/name
/Service: apiregistration.k8s.io/APIService spec/service/name, admissionregistration.k8s.io/ValidatingWebhookConfiguration webhooks/clientConfig/service, admissionregistration.k8s.io/MutatingWebhookConfiguration webhooks/clientConfig/service
rbac.authorization.k8s.io/Role: rbac.authorization.k8s.io/RoleBinding roleRef/name
rbac.authorization.k8s.io/ClusterRole: rbac.authorization.k8s.io/RoleBinding roleRef/name, rbac.authorization.k8s.io/ClusterRoleBinding roleRef/name
/ServiceAccount: rbac.authorization.k8s.io/RoleBinding subjects, rbac.authorization.k8s.io/ClusterRoleBinding subjects
/PersistentVolume: */PersistentVolumeClaim spec/volumeName, */ClusterRole rules/resourceNames
storage.k8s.io/StorageClass: */PersistentVolume spec/storageClassName, */PersistentVolumeClaim spec/storageClassName, */StatefulSet spec/volumeClaimTemplates/spec/storageClassName`

func buildNameReferences() map[string][]nameReference {
	refs := map[string][]nameReference{}
	add := func(target, referrer, field string) {
		tg, tk := groupKind(target)
		rg, rk := groupKind(referrer)
		refs[rk] = append(refs[rk], nameReference{targetGroup: tg, targetKind: tk, group: rg, path: splitSpecPath(field)})
	}
	for _, line := range strings.Split(strings.TrimSpace(podReferences), "\n") {
		target, line, _ := strings.Cut(line, ": ")
		where, fields, _ := strings.Cut(line, ": ")
		for kind, spec := range podSpecs[where] {
			for _, f := range strings.Fields(fields) {
				add(target, "*/"+kind, spec+"/"+f)
			}
		}
	}
	for _, line := range strings.Split(strings.TrimSpace(otherReferences), "\n") {
		target, list, _ := strings.Cut(line, ": ")
		for _, entry := range strings.Split(list, ", ") {
			referrer, field, _ := strings.Cut(entry, " ")
			add(target, referrer, field)
		}
	}
	return refs
}

// groupKind splits group/Kind; any group and the core group are "" here, as the
// kinds of the core group are unambiguous in the list.
func groupKind(s string) (string, string) {
	g, k, _ := strings.Cut(s, "/")
	if g == "*" {
		g = ""
	}
	return g, k
}
