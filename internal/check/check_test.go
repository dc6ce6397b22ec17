package check

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/variform/variform/internal/krm"
)

// run checks files, given as "# NAME" lines with their text below, and lists the findings as
// "line check field".
func run(t *testing.T, text string, o Options) []string {
	t.Helper()
	var out []string
	for _, f := range result(t, text, o).Findings {
		out = append(out, strings.TrimSpace(fmt.Sprintf("%d %s %s", f.Line, f.Check, f.Field)))
	}
	return out
}

func result(t *testing.T, text string, o Options) Result {
	t.Helper()
	var files []krm.File
	for _, part := range strings.Split(text, "## ")[1:] {
		name, data, _ := strings.Cut(part, "\n")
		files = append(files, krm.File{Path: name, Data: []byte(data)})
	}
	p, err := krm.Parse(files)
	if err != nil {
		t.Fatal(err)
	}
	return Resources(p, o)
}

const (
	deployment = "## a.yaml\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  selector: {matchLabels: {app: web}}\n" // 5 lines
	template   = "  template:\n    metadata: {labels: {app: web}}\n    spec:\n      containers:\n      - name: web\n"                      // 10 lines
	crd        = `## crd.yaml
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: shops.example.com}
spec:
  group: example.com
  names: {kind: Shop, plural: shops}
  scope: Namespaced
  versions:
  - {name: v1alpha1, served: false, storage: false}
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        required: [spec]
        properties:
          spec:
            type: object
            required: [owner, level]
            properties:
              owner: {type: string, pattern: '^[a-z]+$', maxLength: 5}
              level: {type: string, enum: [low, high], default: low}
              count: {type: integer, minimum: 1, maximum: 9}
              port: {x-kubernetes-int-or-string: true}
              tags: {type: array, minItems: 1, items: {type: string}}
              sizes: {type: object, additionalProperties: {type: number}}
              free: {type: object, x-kubernetes-preserve-unknown-fields: true, properties: {on: {type: boolean}}}
              pod: {type: object, x-kubernetes-embedded-resource: true, properties: {spec: {type: object}}}
`
	shop = crd + "## shop.yaml\napiVersion: example.com/v1\nkind: Shop\nmetadata: {name: a}\n" // 3 lines
)

// TestBuiltin has Kubernetes' own kinds.
func TestBuiltin(t *testing.T) {
	tests := map[string]struct {
		text       string
		kubernetes string
		want       []string
	}{
		"a valid object":               {text: deployment + template},
		"unknown field":                {text: deployment + "  replcas: 2\n" + template, want: []string{"6 unknown-field spec.replcas"}},
		"fields are case sensitive":    {text: deployment + "  Replicas: 2\n" + template, want: []string{"6 unknown-field spec.Replicas"}},
		"wrong type":                   {text: deployment + "  replicas: two\n" + template, want: []string{"6 type spec.replicas"}},
		"a quoted number is a string":  {text: deployment + "  replicas: '2'\n" + template, want: []string{"6 type spec.replicas"}},
		"a fraction is no integer":     {text: deployment + "  replicas: 1.5\n" + template, want: []string{"6 type spec.replicas"}},
		"2.0 is an integer":            {text: deployment + "  replicas: 2.0\n" + template},
		"more than 32 bits":            {text: deployment + "  replicas: 3000000000\n" + template, want: []string{"6 type spec.replicas"}},
		"64 bits":                      {text: deployment + template + "      terminationGracePeriodSeconds: 3000000000\n"},
		"null is absent":               {text: deployment + "  replicas: null\n  strategy:\n" + template},
		"missing field":                {text: deployment, want: []string{"5 required spec.template"}},
		"empty is missing":             {text: deployment + "  template: {metadata: {labels: {app: web}}, spec: {containers: []}}\n", want: []string{"6 required spec.template.spec.containers"}},
		"null is missing":              {text: deployment + "  template: ~\n", want: []string{"5 required spec.template"}},
		"list for a map":               {text: deployment + template + "      securityContext: []\n", want: []string{"11 type spec.template.spec.securityContext"}},
		"map for a list":               {text: deployment + template + "      volumes: {a: b}\n", want: []string{"11 type spec.template.spec.volumes"}},
		"scalar for a map":             {text: deployment + "  strategy: Recreate\n" + template, want: []string{"6 type spec.strategy"}},
		"enum":                         {text: deployment + template + "      restartPolicy: always\n", want: []string{"11 value spec.template.spec.restartPolicy"}},
		"an empty enum is absent":      {text: deployment + template + "      restartPolicy: ''\n"},
		"env values are strings":       {text: deployment + template + "        env: [{name: A, value: 8080}, {name: B, value: yes}, {name: C, value: 'yes'}]\n", want: []string{"11 type spec.template.spec.containers[0].env[0].value", "11 type spec.template.spec.containers[0].env[1].value"}},
		"a date is a string":           {text: deployment + template + "        env: [{name: A, value: 2026-01-31}]\n"},
		"quantities":                   {text: deployment + template + "        resources: {limits: {cpu: 0.5, memory: 2GiB, gpu: '1'}}\n", want: []string{"11 value spec.template.spec.containers[0].resources.limits.memory"}},
		"integer or string":            {text: deployment + template + "        livenessProbe: {httpGet: {port: http}}\n        readinessProbe: {httpGet: {port: true}}\n", want: []string{"12 type spec.template.spec.containers[0].readinessProbe.httpGet.port"}},
		"merge keys":                   {text: deployment + "  <<: &x {replicas: 2, replcas: 3}\n" + template},
		"labels":                       {text: "## a.yaml\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  labels:\n    ver: 0071335\n    on: yes\n    ok: 'yes'\n    none:\n    long: a b\n  annotations: {n: 1, s: x y}\n", want: []string{"6 label metadata.labels.ver", "7 label metadata.labels.on", "10 label metadata.labels.long", "11 label metadata.annotations.n"}},
		"data is in base64":            {text: "## a.yaml\napiVersion: v1\nkind: Secret\nmetadata: {name: a}\ndata: {a: YQ==, b: plain!}\nstringData: {c: plain!}\n", want: []string{"4 value data.b"}},
		"times":                        {text: "## a.yaml\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, creationTimestamp: null, deletionTimestamp: today}\n", want: []string{"3 value metadata.deletionTimestamp"}},
		"names are subdomains":         {text: "## a.yaml\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: A_b}\n", want: []string{"3 name metadata.name"}},
		"a service's name is a label":  {text: "## a.yaml\napiVersion: v1\nkind: Service\nmetadata: {name: a.b}\n", want: []string{"3 name metadata.name"}},
		"a role's name is a segment":   {text: "## a.yaml\napiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata: {name: 'system:A'}\n"},
		"a budget's name is anything":  {text: "## a.yaml\napiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: a b}\n"},
		"a range needs no name":        {text: "## a.yaml\napiVersion: v1\nkind: LimitRange\nmetadata: {name: null}\n"},
		"no name":                      {text: "## a.yaml\napiVersion: v1\nkind: ConfigMap\nmetadata: {}\n", want: []string{"3 required metadata.name"}},
		"a generated name":             {text: "## a.yaml\napiVersion: v1\nkind: Pod\nmetadata: {generateName: a-}\nspec: {containers: [{name: a}]}\n"},
		"no integer is missing":        {text: "## a.yaml\napiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: a}\n"},
		"the server needs no service":  {text: "## a.yaml\napiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: a}\nspec:\n  selector: {}\n" + template, kubernetes: "1.30"},
		"status is not checked":        {text: "## a.yaml\napiVersion: v1\nkind: Namespace\nmetadata: {name: a}\nstatus: {fase: 3}\n"},
		"documents of one file":        {text: "## a.yaml\n# x\n---\n\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndta: {}\n", want: []string{"7 unknown-field dta"}},
		"a list's items":               {text: "## a.yaml\napiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: ConfigMap\n  metadata: {name: a}\n  dta: {}\n", want: []string{"7 unknown-field items[0].dta"}},
		"JSON":                         {text: "## a.json\n{\"apiVersion\": \"v1\", \"kind\": \"ConfigMap\", \"metadata\": {\"name\": \"a\"},\n \"dta\": {}}\n", want: []string{"2 unknown-field dta"}},
		"old version":                  {text: "## a.yaml\nkind: CronJob\napiVersion: batch/v1beta1\nmetadata: {name: a}\n", want: []string{"2 version apiVersion"}},
		"old group":                    {text: "## a.yaml\napiVersion: extensions/v1beta1\nkind: Ingress\nmetadata: {name: a}\n", want: []string{"1 version apiVersion"}},
		"unknown kind of Kubernetes":   {text: "## a.yaml\napiVersion: apps/v1\nkind: Deploymnt\nmetadata: {name: a}\n", want: []string{"1 version apiVersion"}},
		"a kubeconfig":                 {text: "## a.yaml\napiVersion: v1\nkind: Config\nclusters: 3\n"},
		"a kind of a later minor":      {text: "## a.yaml\napiVersion: resource.k8s.io/v1\nkind: DeviceClass\nmetadata: {name: a}\nspec: {}\n", kubernetes: "1.33", want: []string{"1 version apiVersion"}},
		"the same in its minor":        {text: "## a.yaml\napiVersion: resource.k8s.io/v1\nkind: DeviceClass\nmetadata: {name: a}\nspec: {}\n", kubernetes: "1.34"},
		"the same without a minor":     {text: "## a.yaml\napiVersion: resource.k8s.io/v1\nkind: DeviceClass\nmetadata: {name: a}\nspec: {}\n"},
		"a field of a later minor":     {text: deployment + template + "      hostnameOverride: a\n", kubernetes: "1.33", want: []string{"11 unknown-field spec.template.spec.hostnameOverride"}},
		"the same field in its minor":  {text: deployment + template + "      hostnameOverride: a\n", kubernetes: "1.34"},
		"a minor that nobody knows":    {text: deployment + "  replcas: two\n", kubernetes: "9.9"},
		"a patch version of a minor":   {text: deployment + template + "      hostnameOverride: a\n", kubernetes: "v1.33.4", want: []string{"11 unknown-field spec.template.spec.hostnameOverride"}},
		"a kind that nobody describes": {text: "## a.yaml\napiVersion: example.com/v1\nkind: Shop\nmetadata: {name: A, labels: {a: 1}}\nspec: 3\n"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if d := cmp.Diff(tt.want, run(t, tt.text, Options{Kubernetes: tt.kubernetes})); d != "" {
				t.Errorf("findings (-want +got):\n%s", d)
			}
		})
	}
}

// TestCustom has kinds of CustomResourceDefinitions.
func TestCustom(t *testing.T) {
	tests := map[string]struct {
		text string
		want []string
	}{
		"a valid object":               {text: shop + "spec: {owner: me, count: 3, port: http, tags: [a], sizes: {a: 1.5}, free: {any: 1, on: true}, pod: {apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {}}}\nstatus: 3\n"},
		"unknown field":                {text: shop + "spec: {ownr: me, owner: me}\n", want: []string{"4 unknown-field spec.ownr"}},
		"unknown field at the root":    {text: shop + "spec: {owner: me}\nspc: {}\n", want: []string{"5 unknown-field spc"}},
		"no spec":                      {text: shop, want: []string{"1 required spec"}},
		"a default is not missing":     {text: shop + "spec: {}\n", want: []string{"4 required spec.owner"}},
		"types":                        {text: shop + "spec: {owner: 1, count: x, port: true, tags: {}, sizes: {a: b}, free: {on: 1}}\n", want: []string{"4 type spec.owner", "4 type spec.count", "4 type spec.port", "4 type spec.tags", "4 type spec.sizes.a", "4 type spec.free.on"}},
		"values":                       {text: shop + "spec: {owner: Me, level: medium, count: 10, tags: []}\n", want: []string{"4 value spec.owner", "4 value spec.level", "4 value spec.count", "4 value spec.tags"}},
		"bounds":                       {text: shop + "spec: {owner: meeeeeee, level: '', count: 0}\n", want: []string{"4 value spec.owner", "4 value spec.level", "4 value spec.count"}},
		"null":                         {text: shop + "spec: {owner: me, count: null, tags: ~}\n"},
		"metadata":                     {text: crd + "## shop.yaml\napiVersion: example.com/v1\nkind: Shop\nmetadata: {name: A, labels: {a: 1}, lables: {}}\nspec: {owner: me}\n", want: []string{"3 label metadata.labels.a", "3 unknown-field metadata.lables", "3 name metadata.name"}},
		"a version that is not served": {text: crd + "## shop.yaml\napiVersion: example.com/v1alpha1\nkind: Shop\nmetadata: {name: a}\n", want: []string{"1 version apiVersion"}},
		"another definition fits":      {text: shop + "spec: {owner: me, more: 1}\n" + strings.Replace(strings.Replace(crd, "crd.yaml", "crd2.yaml", 1), "count:", "more:", 1)},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if d := cmp.Diff(tt.want, run(t, tt.text, Options{})); d != "" {
				t.Errorf("findings (-want +got):\n%s", d)
			}
		})
	}
	alone := "## shop.yaml\napiVersion: example.com/v1\nkind: Shop\nmetadata: {name: a}\nspec: {ownr: me}\n"
	if got := result(t, alone, Options{}); got.Checked != 0 || cmp.Diff([]string{"example.com/v1 Shop"}, got.Unknown) != "" {
		t.Errorf("without a definition: %+v", got)
	}
	if got := run(t, alone+crd, Options{}); len(got) != 2 {
		t.Errorf("with a definition: %q", got)
	}
}

// TestLayout has what is checked of a folder, and what is one package.
func TestLayout(t *testing.T) {
	const bad, kptfile = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndta: {}\n", "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {name: a}\n"
	const good = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
	finding, twice := []string{"4 unknown-field dta"}, []string{"3 duplicate metadata.name"}
	tests := map[string]struct {
		text string
		want []string
	}{
		"a file":                          {text: "## a.yaml\n" + bad, want: finding},
		"a patch":                         {text: "## k/kustomization.yaml\npatches: [{path: p.yaml}]\n## k/p.yaml\n" + bad},
		"a strategic merge patch":         {text: "## k/kustomization.yaml\npatchesStrategicMerge:\n- ../p.yaml\n- |\n  a: b\n## p.yaml\n" + bad},
		"a folder of transformers":        {text: "## kustomization.yml\ntransformers: [t]\n## t/x/p.yaml\n" + bad},
		"a file of a generator":           {text: "## kustomization.yaml\nconfigMapGenerator: [{name: x, files: [k=p.yaml, q.yaml]}]\n## p.yaml\n" + bad + "## q.yaml\n" + bad},
		"a resource of a kustomization":   {text: "## kustomization.yaml\nresources: [p.yaml]\n## p.yaml\n" + bad, want: finding},
		"a function's input":              {text: "## Kptfile\n" + kptfile + "pipeline: {mutators: [{image: a, configPath: c.yaml}]}\n## c.yaml\n" + bad},
		"a chart's template":              {text: "## c/Chart.yaml\nname: c\n## c/templates/a.yaml\n" + bad + "## c/crds/a.yaml\n" + bad, want: finding},
		"a hidden folder":                 {text: "## .github/a.yaml\n" + bad + "## x/.test/a.yaml\n" + bad},
		"local-config":                    {text: "## a.yaml\n" + strings.Replace(bad, "name: a", "name: a, annotations: {config.kubernetes.io/local-config: 'true'}", 1)},
		"local-config false":              {text: "## a.yaml\n" + strings.Replace(bad, "name: a", "name: a, annotations: {config.kubernetes.io/local-config: 'false'}", 1), want: finding},
		"sops":                            {text: "## a.yaml\n" + bad + "sops: {mac: x}\n"},
		"twice in a package":              {text: "## Kptfile\n" + kptfile + "## a.yaml\n" + good + "## b/c.yaml\n" + good, want: twice},
		"of another package":              {text: "## Kptfile\n" + kptfile + "## a.yaml\n" + good + "## b/Kptfile\n" + kptfile + "## b/c.yaml\n" + good},
		"of another namespace":            {text: "## Kptfile\n" + kptfile + "## a.yaml\n" + good + "---\n" + strings.Replace(good, "name: a", "name: a, namespace: b", 1)},
		"of an overlay":                   {text: "## Kptfile\n" + kptfile + "## a.yaml\n" + good + "## b/kustomization.yaml\n## b/c.yaml\n" + good},
		"twice in a file":                 {text: "## a.yaml\n" + good + "---\n" + good, want: []string{"7 duplicate metadata.name"}},
		"files of a folder":               {text: "## a.yaml\n" + good + "## b.yaml\n" + good},
		"a kustomization that is no YAML": {text: "## kustomization.yaml\n}{\n## a.yaml\n" + bad, want: finding},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if d := cmp.Diff(tt.want, run(t, tt.text, Options{})); d != "" {
				t.Errorf("findings (-want +got):\n%s", d)
			}
		})
	}
}

// TestMessages has what people read.
func TestMessages(t *testing.T) {
	tests := map[string]string{
		deployment + "  replcas: 2\n" + template:    `Deployment web: unknown field spec.replcas; did you mean "replicas"?`,
		deployment + "  replicas: '2'\n" + template: `Deployment web: spec.replicas is a string and must be an integer; remove the quotes`,
		deployment: `Deployment web: required field spec.template is missing`,
		deployment + template + "      restartPolicy: always\n":                                            `Deployment web: spec.template.spec.restartPolicy is "always", which is not allowed; did you mean "Always"?`,
		deployment + template + "      dnsPolicy: Cluster\n":                                               `Deployment web: spec.template.spec.dnsPolicy is "Cluster", which is not allowed; use ClusterFirst, ClusterFirstWithHostNet, Default, None`,
		"## a.yaml\napiVersion: v1\nkind: Secret\nmetadata: {name: a}\ndata: {b: hunter2!}\n":              `Secret a: data.b is not in base64`,
		"## a.yaml\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, labels: {v: 01}}\n":               `ConfigMap a: label v is not a string but an integer; put the value in quotes`,
		"## a.yaml\napiVersion: extensions/v1beta1\nkind: Ingress\nmetadata: {name: a}\n":                  `Ingress a: Kubernetes 1.30 to 1.37 does not serve extensions/v1beta1 Ingress; use networking.k8s.io/v1`,
		"## a.yaml\napiVersion: apps/v1\nkind: Deploymnt\nmetadata: {name: a}\n":                           `Deploymnt a: Kubernetes 1.30 to 1.37 does not serve apps/v1 Deploymnt; did you mean "Deployment"?`,
		"## a.yaml\napiVersion: autoscaling/v2beta2\nkind: HorizontalPodAutoscaler\nmetadata: {name: a}\n": `HorizontalPodAutoscaler a: Kubernetes 1.30 to 1.37 does not serve autoscaling/v2beta2 HorizontalPodAutoscaler; use autoscaling/v2`,
		"## a.yaml\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a_b}\n":                              `ConfigMap a_b: the name "a_b" is invalid: a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character`,
	}
	for text, want := range tests {
		got := result(t, text, Options{}).Findings
		if len(got) != 1 || got[0].String() != want {
			t.Errorf("%v\nwant %s", got, want)
		}
	}
}

// TestRequiredOnce has a field whose required type differs between minor versions.
func TestRequiredOnce(t *testing.T) {
	text := "## a.yaml\napiVersion: v1\nkind: ResourceQuota\nmetadata: {name: a}\nspec: {scopeSelector: {matchExpressions: [{operator: Exists}]}}\n"
	if d := cmp.Diff([]string{"4 required spec.scopeSelector.matchExpressions[0].scopeName"}, run(t, text, Options{})); d != "" {
		t.Error(d)
	}
}

// TestCache checks a text again at another place, and against another version.
func TestCache(t *testing.T) {
	var cache Cache
	bad := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndta: {}\n"
	for _, text := range []string{"## a.yaml\n" + bad, "## b.yaml\n# x\n---\n" + bad, "## b.yaml\n" + bad} {
		got := result(t, text, Options{Cache: &cache})
		want := result(t, text, Options{})
		if d := cmp.Diff(want.Findings, got.Findings, cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".Resource" }, cmp.Ignore())); d != "" || len(got.Findings) != 1 || got.Checked != want.Checked {
			t.Errorf("with a cache (-without +with):\n%s", d)
		}
		if r := got.Findings[0].Resource; r == nil || r.Path() != got.Findings[0].File {
			t.Errorf("the finding is of %v", r)
		}
	}
	text := "## a.yaml\n" + deploymentText + "      hostnameOverride: a\n"
	for minor, want := range map[string]int{"1.33": 1, "1.34": 0} {
		if got := result(t, text, Options{Kubernetes: minor, Cache: &cache}).Findings; len(got) != want {
			t.Errorf("%s: %v", minor, got)
		}
	}
}

const deploymentText = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  selector: {matchLabels: {app: web}}\n" + template
