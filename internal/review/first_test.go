package review

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const secured = `apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: example}
spec:
  template:
    spec:
      containers:
      - name: web
        image: registry.example.com/web:1
        securityContext: {runAsNonRoot: true, runAsUser: 1001}
`

const bound = `apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: web, namespace: example}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: web}
subjects:
- {kind: ServiceAccount, name: web, namespace: example}
`

// What upstream has is no news in a first Draft, whatever its pipeline makes of names and
// namespaces; what the pipeline adds or changes is. A class of such Drafts has another
// key than it had while their resources were not paired.
func TestFirstDraftIsComparedByRenderedIdentity(t *testing.T) {
	to := func(pairs ...string) func(string) string {
		return func(text string) string { return strings.NewReplacer(pairs...).Replace(text) }
	}
	for reason, tc := range map[string]struct {
		upstream string
		pipeline func(string) string
		says     string
		marks    []string
		later    bool // it is no first Draft
	}{
		"set-namespace":              {secured, to("namespace: example", "namespace: web"), "creates the package; metadata.namespace of Deployment web/web example → web", nil, false},
		"a name prefix":              {secured, to("{name: web,", "{name: dev-web,"), "creates the package; metadata.name of Deployment example/dev-web web → dev-web", nil, false},
		"another name":               {secured, to("{name: web,", "{name: shop,"), "creates the package; metadata.name of Deployment example/shop web → shop", nil, false},
		"name and namespace":         {secured, to("{name: web, namespace: example}", "{name: dev-web, namespace: dev}"), "creates the package; metadata.name of Deployment dev/dev-web web → dev-web; metadata.namespace of Deployment dev/dev-web example → dev", nil, false},
		"two of one kind":            {secured + "---\n" + strings.ReplaceAll(secured, "name: web,", "name: api,"), to("example}", "dev}"), "creates the package; metadata.namespace of Deployment dev/api example → dev; metadata.namespace of Deployment dev/web example → dev", nil, false},
		"no namespace before":        {strings.ReplaceAll(secured, ", namespace: example", ""), to("{name: web}", "{name: web, namespace: web}"), "creates the package; sets metadata.namespace of Deployment web/web to web", nil, false},
		"references follow":          {bound + "---\n" + secured, to("namespace: example", "namespace: web"), "", nil, false},
		"a namespace is renamed":     {"apiVersion: v1\nkind: Namespace\nmetadata: {name: example}\n---\n" + secured, to("{name: example}", "{name: web}", "namespace: example", "namespace: web"), "", nil, false},
		"labels of the fleet":        {bound, to("{name: web, namespace: example}\nroleRef", "{name: web, namespace: example, labels: {env: prod, app.kubernetes.io/part-of: shop}}\nroleRef"), "", nil, false},
		"a label that grants":        {"apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: web}\n", to("{name: web}", `{name: web, labels: {rbac.authorization.k8s.io/aggregate-to-admin: "true"}}`), "", []string{"RBAC: metadata.labels[rbac.authorization.k8s.io/aggregate-to-admin] of ClusterRole web is true"}, false},
		"a subject is another":       {bound, to("name: web, namespace: example}\n", "name: root, namespace: example}\n"), "", []string{"RBAC"}, false},
		"a privilege is another":     {secured, to("namespace: example", "namespace: web", "runAsUser: 1001", "runAsUser: 0"), "", []string{"privilege: spec.template.spec.containers[name=web].securityContext.runAsUser of Deployment web/web is 0", "spec.template.spec.containers[name=web].securityContext.runAsUser of Deployment web/web is 0: 0 instead of what it was, 1001"}, false},
		"the pipeline adds a Role":   {secured, func(text string) string { return text + "---\n" + bound }, "", []string{"RBAC: creates RoleBinding example/web"}, false},
		"the pipeline leaves it out": {secured + "---\n" + config("a: x"), func(text string) string { return strings.Split(text, "---\n")[0] }, "creates the package; leaves out ConfigMap site", nil, false},
		"an update renames it":       {secured, to("namespace: example", "namespace: web"), "", []string{"deleted: deletes Deployment example/web"}, true},
	} {
		t.Run(reason, func(t *testing.T) {
			before := pkg(t, map[string]string{"r.yaml": tc.upstream})
			after := pkg(t, map[string]string{"r.yaml": tc.pipeline(tc.upstream)})
			report, err := Classify([]Change{{Variant: "c1/web", Before: before, After: after, Machine: after, First: !tc.later}})
			if err != nil {
				t.Fatal(err)
			}
			var marks []string
			for _, m := range report.Marks {
				if !tc.later || strings.HasPrefix(m.Text, "deleted") {
					marks = append(marks, m.Text)
				}
			}
			less := func(list []string) map[string]bool {
				out := map[string]bool{}
				for _, text := range list {
					out[text] = true
				}
				return out
			}
			if reason == "a subject is another" { // however many lines that takes
				if len(marks) == 0 {
					t.Error("a new subject is not marked")
				}
				return
			}
			if diff := cmp.Diff(less(tc.marks), less(marks)); diff != "" {
				t.Error(diff)
			}
			if says := report.Classes[0].Says; tc.says != "" && says != tc.says {
				t.Errorf("says %q, want %q", says, tc.says)
			}
		})
	}
}
