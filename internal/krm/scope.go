package krm

import "strings"

// builtinScopes are Kubernetes' own kinds by group/Kind ("/Kind" for the core
// group) and whether they are namespaced, whatever their version.
var builtinScopes = scopeTable(map[bool]string{
	true: `
		/ConfigMap /Endpoints /Event /LimitRange /PersistentVolumeClaim /Pod /PodTemplate /ReplicationController
		/ResourceQuota /Secret /Service /ServiceAccount
		apps/ControllerRevision apps/DaemonSet apps/Deployment apps/ReplicaSet apps/StatefulSet
		extensions/DaemonSet extensions/Deployment extensions/Ingress extensions/NetworkPolicy extensions/ReplicaSet
		autoscaling/HorizontalPodAutoscaler autoscaling/Scale batch/CronJob batch/Job coordination.k8s.io/Lease
		authorization.k8s.io/LocalSubjectAccessReview discovery.k8s.io/EndpointSlice events.k8s.io/Event
		networking.k8s.io/Ingress networking.k8s.io/NetworkPolicy policy/PodDisruptionBudget
		rbac.authorization.k8s.io/Role rbac.authorization.k8s.io/RoleBinding storage.k8s.io/CSIStorageCapacity`,
	false: `
		/ComponentStatus /Namespace /Node /PersistentVolume
		admissionregistration.k8s.io/MutatingWebhookConfiguration admissionregistration.k8s.io/ValidatingWebhookConfiguration
		admissionregistration.k8s.io/ValidatingAdmissionPolicy admissionregistration.k8s.io/ValidatingAdmissionPolicyBinding
		apiextensions.k8s.io/CustomResourceDefinition apiregistration.k8s.io/APIService
		authentication.k8s.io/TokenReview authorization.k8s.io/SelfSubjectAccessReview authorization.k8s.io/SubjectAccessReview
		certificates.k8s.io/CertificateSigningRequest
		flowcontrol.apiserver.k8s.io/FlowSchema flowcontrol.apiserver.k8s.io/PriorityLevelConfiguration
		networking.k8s.io/IngressClass node.k8s.io/RuntimeClass policy/PodSecurityPolicy extensions/PodSecurityPolicy
		rbac.authorization.k8s.io/ClusterRole rbac.authorization.k8s.io/ClusterRoleBinding
		scheduling.k8s.io/PriorityClass storage.k8s.io/CSIDriver storage.k8s.io/CSINode storage.k8s.io/StorageClass
		storage.k8s.io/VolumeAttachment`,
})

func scopeTable(lists map[bool]string) map[string]bool {
	table := map[string]bool{}
	for namespaced, list := range lists {
		for _, kind := range strings.Fields(list) {
			table[kind] = namespaced
		}
	}
	return table
}

// Scope says whether one of Kubernetes' own kinds is namespaced; known is false for
// any other kind.
func Scope(group, kind string) (namespaced, known bool) {
	namespaced, known = builtinScopes[group+"/"+kind]
	return namespaced, known
}
