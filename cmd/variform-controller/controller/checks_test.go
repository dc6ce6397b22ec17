package controller_test

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/variform/variform/internal/check"
	"github.com/variform/variform/internal/krm"
)

// checkedObjects are valid objects, each below the resource that it is created with.
const checkedObjects = `
/apis/apps/v1/namespaces/default/deployments
{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, labels: {app: web}, annotations: {a: b}}, spec: {replicas: 2, paused: false, selector: {matchLabels: {app: web}}, strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 1, maxUnavailable: 25%}}, template: {metadata: {labels: {app: web}}, spec: {
  restartPolicy: Always, dnsPolicy: ClusterFirst, terminationGracePeriodSeconds: 30, serviceAccountName: web, nodeSelector: {a: b}, securityContext: {runAsNonRoot: true, fsGroup: 1}, tolerations: [{key: a, operator: Exists, effect: NoSchedule}],
  affinity: {podAntiAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, podAffinityTerm: {topologyKey: zone, labelSelector: {matchExpressions: [{key: app, operator: In, values: [web]}]}}}]}},
  containers: [{name: web, image: 'web:1', imagePullPolicy: Always, command: [a], args: [b], ports: [{name: http, containerPort: 80, protocol: TCP}], env: [{name: A, value: b}, {name: C, valueFrom: {secretKeyRef: {name: s, key: k, optional: true}}}], envFrom: [{configMapRef: {name: c}}],
    resources: {limits: {cpu: 500m, memory: 1Gi}, requests: {cpu: 0.1}}, livenessProbe: {httpGet: {path: /, port: http, scheme: HTTP, httpHeaders: [{name: a, value: b}]}, periodSeconds: 3}, readinessProbe: {tcpSocket: {port: 80}}, volumeMounts: [{name: v, mountPath: /v, readOnly: true}], securityContext: {privileged: false, capabilities: {drop: [ALL]}}}],
  volumes: [{name: v, configMap: {name: c, defaultMode: 420, items: [{key: a, path: b}]}}, {name: e, emptyDir: {sizeLimit: 1Gi}}, {name: p, persistentVolumeClaim: {claimName: p}}]}}}}
/apis/apps/v1/namespaces/default/statefulsets
{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: db}, spec: {serviceName: db, podManagementPolicy: Parallel, selector: {matchLabels: {app: db}}, template: {metadata: {labels: {app: db}}, spec: {containers: [{name: db, image: db}]}}, volumeClaimTemplates: [{metadata: {name: d}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}]}}
/apis/apps/v1/namespaces/default/daemonsets
{apiVersion: apps/v1, kind: DaemonSet, metadata: {name: ds}, spec: {updateStrategy: {type: OnDelete}, selector: {matchLabels: {app: ds}}, template: {metadata: {labels: {app: ds}}, spec: {hostNetwork: true, containers: [{name: ds, image: ds, ports: [{containerPort: 80, hostPort: 80}]}], volumes: [{name: h, hostPath: {path: /h, type: Directory}}]}}}}
/apis/batch/v1/namespaces/default/cronjobs
{apiVersion: batch/v1, kind: CronJob, metadata: {name: cj}, spec: {schedule: '* * * * *', concurrencyPolicy: Forbid, suspend: false, jobTemplate: {spec: {backoffLimit: 1, completionMode: Indexed, completions: 1, template: {spec: {restartPolicy: Never, containers: [{name: j, image: j}]}}}}}}
/api/v1/namespaces/default/services
{apiVersion: v1, kind: Service, metadata: {name: svc}, spec: {type: LoadBalancer, sessionAffinity: ClientIP, externalTrafficPolicy: Local, selector: {app: web}, ports: [{name: http, port: 80, targetPort: http, protocol: TCP}], loadBalancerSourceRanges: [10.0.0.0/8]}}
/api/v1/namespaces/default/configmaps
{apiVersion: v1, kind: ConfigMap, metadata: {name: cm, finalizers: [a.example.com/b]}, immutable: true, data: {a: b}, binaryData: {c: YQ==}}
/api/v1/namespaces/default/secrets
{apiVersion: v1, kind: Secret, metadata: {name: s}, type: Opaque, data: {a: YQ==}, stringData: {b: c}}
/api/v1/namespaces/default/serviceaccounts
{apiVersion: v1, kind: ServiceAccount, metadata: {name: sa}, automountServiceAccountToken: true, imagePullSecrets: [{name: a}]}
/api/v1/namespaces/default/persistentvolumeclaims
{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: pvc}, spec: {accessModes: [ReadWriteOnce], volumeMode: Filesystem, storageClassName: a, resources: {requests: {storage: 1Gi}}}}
/api/v1/persistentvolumes
{apiVersion: v1, kind: PersistentVolume, metadata: {name: pv}, spec: {accessModes: [ReadWriteOnce], capacity: {storage: 1Gi}, persistentVolumeReclaimPolicy: Retain, nfs: {server: a, path: /b}}}
/api/v1/namespaces
{apiVersion: v1, kind: Namespace, metadata: {name: ns, labels: {a: b}}}
/api/v1/namespaces/default/resourcequotas
{apiVersion: v1, kind: ResourceQuota, metadata: {name: rq}, spec: {hard: {pods: 3, requests.cpu: 1}, scopeSelector: {matchExpressions: [{scopeName: PriorityClass, operator: In, values: [a]}]}}}
/api/v1/namespaces/default/limitranges
{apiVersion: v1, kind: LimitRange, metadata: {name: lr}, spec: {limits: [{type: Container, max: {cpu: 1}}]}}
/apis/rbac.authorization.k8s.io/v1/clusterroles
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: 'x:y'}, rules: [{apiGroups: [''], resources: [pods], verbs: [get]}, {nonResourceURLs: [/a], verbs: [get]}]}
/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings
{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: rb}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: a}, subjects: [{kind: ServiceAccount, name: a, namespace: b}, {kind: User, name: c, apiGroup: rbac.authorization.k8s.io}]}
/apis/networking.k8s.io/v1/namespaces/default/ingresses
{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: in}, spec: {ingressClassName: a, tls: [{hosts: [a.b], secretName: s}], rules: [{host: a.b, http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: a, port: {number: 80}}}}]}}]}}
/apis/networking.k8s.io/v1/namespaces/default/networkpolicies
{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: np}, spec: {podSelector: {}, policyTypes: [Ingress], ingress: [{from: [{ipBlock: {cidr: 10.0.0.0/8}}, {namespaceSelector: {matchLabels: {a: b}}}], ports: [{port: 80, protocol: TCP}]}]}}
/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers
{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: hpa}, spec: {minReplicas: 1, maxReplicas: 3, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}, metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 50}}}], behavior: {scaleDown: {policies: [{type: Pods, value: 1, periodSeconds: 60}], selectPolicy: Max}}}}
/apis/policy/v1/namespaces/default/poddisruptionbudgets
{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: pdb}, spec: {minAvailable: 50%, unhealthyPodEvictionPolicy: AlwaysAllow, selector: {matchLabels: {a: b}}}}
/apis/storage.k8s.io/v1/storageclasses
{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: sc}, provisioner: a.b/c, reclaimPolicy: Delete, volumeBindingMode: Immediate, allowVolumeExpansion: true, parameters: {a: b}, mountOptions: [a]}
/apis/storage.k8s.io/v1/csidrivers
{apiVersion: storage.k8s.io/v1, kind: CSIDriver, metadata: {name: csi}, spec: {attachRequired: true, podInfoOnMount: true, fsGroupPolicy: File, volumeLifecycleModes: [Persistent]}}
/apis/scheduling.k8s.io/v1/priorityclasses
{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: pc}, value: 3, globalDefault: false, preemptionPolicy: Never, description: a}
/apis/coordination.k8s.io/v1/namespaces/default/leases
{apiVersion: coordination.k8s.io/v1, kind: Lease, metadata: {name: l}, spec: {holderIdentity: a, leaseDurationSeconds: 3, renewTime: '2026-01-31T09:00:00.000000Z'}}
/apis/discovery.k8s.io/v1/namespaces/default/endpointslices
{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, metadata: {name: es}, addressType: IPv4, endpoints: [{addresses: [10.1.2.3], conditions: {ready: true}}], ports: [{name: a, port: 80, protocol: TCP}]}
/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations
{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration, metadata: {name: wh}, webhooks: [{name: a.b.c, failurePolicy: Ignore, sideEffects: None, admissionReviewVersions: [v1], clientConfig: {caBundle: YQ==, service: {name: a, namespace: b, path: /c, port: 443}}, rules: [{apiGroups: ['x.y'], apiVersions: [v1], operations: [CREATE], resources: [pods], scope: Namespaced}]}]}
/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies
{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicy, metadata: {name: vap}, spec: {failurePolicy: Fail, matchConstraints: {resourceRules: [{apiGroups: [apps], apiVersions: [v1], operations: [CREATE], resources: [deployments]}]}, validations: [{expression: 'true', message: a}]}}
/apis/apiregistration.k8s.io/v1/apiservices
{apiVersion: apiregistration.k8s.io/v1, kind: APIService, metadata: {name: v1.a.b}, spec: {group: a.b, version: v1, groupPriorityMinimum: 100, versionPriority: 100, insecureSkipTLSVerify: true, service: {name: a, namespace: b}}}
/apis/apiextensions.k8s.io/v1/customresourcedefinitions
{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: shops.a.b}, spec: {group: a.b, scope: Namespaced, names: {kind: Shop, plural: shops}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, x-kubernetes-preserve-unknown-fields: true}}}}, additionalPrinterColumns: [{name: a, type: string, jsonPath: .spec.a}]}]}}
/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas
{apiVersion: flowcontrol.apiserver.k8s.io/v1, kind: FlowSchema, metadata: {name: fs}, spec: {matchingPrecedence: 1000, priorityLevelConfiguration: {name: exempt}, rules: [{subjects: [{kind: Group, group: {name: a}}], nonResourceRules: [{nonResourceURLs: [/a], verbs: [get]}]}]}}
/apis/config.porch.kpt.dev/v1alpha1/namespaces/default/repositories
{apiVersion: config.porch.kpt.dev/v1alpha1, kind: Repository, metadata: {name: r, labels: {a: b}}, spec: {type: git, deployment: true, git: {repo: 'https://a.b/c', branch: main, directory: /, secretRef: {name: s}}}}
/apis/config.porch.kpt.dev/v1alpha1/namespaces/default/packagevariants
{apiVersion: config.porch.kpt.dev/v1alpha1, kind: PackageVariant, metadata: {name: pv}, spec: {upstream: {repo: a, package: b, workspaceName: v1}, downstream: {repo: c, package: d}, labels: {a: b}, pipeline: {mutators: [{image: i, name: n, configMap: {a: b}}]}}}
`

// TestChecksAgreeWithServer creates objects by dry run with strict decoding, valid ones and
// such with one mistake. What the server accepts has no finding. What its decoder refuses has
// one. Of what its validation refuses most has; the rest is listed as not checked
// (docs/reference.md#checks).
func TestChecksAgreeWithServer(t *testing.T) {
	if apiServer == nil {
		t.Skip("skipped: TEST_ASSET_KUBE_APISERVER and TEST_ASSET_ETCD name no API server and etcd: run make controller")
	}
	config := rest.CopyConfig(apiServer)
	config.QPS = -1
	httpClient, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	crds := definitions(t)
	counts, missed := map[string]int{}, map[string]int{}
	lines := strings.Split(strings.ReplaceAll(strings.TrimSpace(checkedObjects), "\n  ", " "), "\n")
	for i := 0; i+1 < len(lines); i += 2 {
		var object any
		if err := yaml.Unmarshal([]byte(lines[i+1]), &object); err != nil {
			t.Fatalf("%s: %v", lines[i], err)
		}
		variants := map[string]any{}
		spoil(object, "", func(o any) any { return o }, variants)
		variants["as it is"] = object
		for _, name := range slices.Sorted(maps.Keys(variants)) {
			body, err := yaml.Marshal(variants[name])
			if err != nil {
				t.Fatal(err)
			}
			status, message := dryRun(t, httpClient, strings.TrimSuffix(config.Host, "/")+lines[i], body)
			findings := checkObject(t, body, crds)
			what := fmt.Sprintf("%s, %s", lines[i][strings.LastIndex(lines[i], "/")+1:], name)
			switch verdict := fmt.Sprintf("%d, findings %t", status, len(findings) > 0); {
			case name == "as it is" && status != http.StatusCreated:
				t.Errorf("%s: the server refuses it: %s", what, message)
			case status == http.StatusCreated && len(findings) > 0:
				t.Errorf("%s: the server accepts it: %v\n%s", what, findings, body)
			case status == http.StatusBadRequest && len(findings) == 0:
				t.Errorf("%s: the server's decoder refuses it: %s", what, message)
			case status != http.StatusCreated && len(findings) == 0:
				missed[what+": "+message]++
				fallthrough
			default:
				counts[verdict]++
			}
		}
	}
	t.Log(counts)
	for _, m := range slices.Sorted(maps.Keys(missed)) {
		t.Logf("%.250s", m)
	}
	if caught := counts["422, findings true"]; caught == 0 || len(missed) > 2*caught {
		t.Errorf("of what validation refuses %d are found and %d are not", caught, len(missed))
	}
}

// spoil adds objects with one mistake each: a field that is missing, has another name, or a
// value of another type. put returns the object with another value at this place.
func spoil(value any, at string, put func(any) any, out map[string]any) {
	for name, other := range map[string]any{"text": "x Y", "number": 7, "fraction": 1.5, "boolean": true, "list": []any{"a"}, "map": map[string]any{"a": "b"}, "null": nil, "empty": ""} {
		if at != "" {
			out[at+" "+name] = put(other)
		}
	}
	switch v := value.(type) {
	case map[string]any:
		for key, child := range v {
			if at == "" && (key == "apiVersion" || key == "kind") {
				continue
			}
			with := func(change func(map[string]any)) any {
				c := maps.Clone(v)
				change(c)
				return put(c)
			}
			out[at+"."+key+" deleted"] = with(func(m map[string]any) { delete(m, key) })
			out[at+"."+key+" renamed"] = with(func(m map[string]any) { m[key+"s"] = child; delete(m, key) })
			spoil(child, at+"."+key, func(o any) any { return with(func(m map[string]any) { m[key] = o }) }, out)
		}
	case []any:
		for i, child := range v {
			spoil(child, fmt.Sprintf("%s[%d]", at, i), func(o any) any {
				c := slices.Clone(v)
				c[i] = o
				return put(c)
			}, out)
		}
	}
}

// dryRun creates an object by dry run, and returns the status and what the server says.
func dryRun(t *testing.T, c *http.Client, url string, body []byte) (int, string) {
	t.Helper()
	resp, err := c.Post(url+"?dryRun=All&fieldValidation=Strict", "application/yaml", strings.NewReader(string(body)))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	var said struct {
		Message string `json:"message"`
	}
	_ = json.Unmarshal(data, &said)
	return resp.StatusCode, said.Message
}

// definitions are those of the kinds that the server has besides Kubernetes' own.
func definitions(t *testing.T) (files []krm.File) {
	t.Helper()
	for _, name := range []string{"packagevariants", "repositories"} {
		data, err := os.ReadFile(filepath.Join("..", "..", "..", "config", "porch", "config.porch.kpt.dev_"+name+".yaml"))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, krm.File{Path: name + ".yaml", Data: data})
	}
	return files
}

func checkObject(t *testing.T, body []byte, crds []krm.File) (out []check.Finding) {
	t.Helper()
	p, err := krm.Parse(append(crds[:len(crds):len(crds)], krm.File{Path: "a.yaml", Data: body}))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range check.Resources(p, check.Options{Kubernetes: "1.36"}).Findings {
		if f.File == "a.yaml" {
			out = append(out, f)
		}
	}
	return out
}
