package build

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	kptfilev1 "github.com/kptdev/kpt/api/kptfile/v1"

	"github.com/variform/variform/api/variform/v1alpha1"
	"github.com/variform/variform/internal/decide"
	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/mutate"
	"github.com/variform/variform/test/krmtest"
)

// resources is a file of resources, "apps/v1 Deployment shop/web wave" each: the
// namespace and the wave that it says itself may be left out.
func resources(list ...string) string {
	var out []string
	for _, text := range list {
		words := append(strings.Fields(text), "")
		ns, name, ok := strings.Cut(words[2], "/")
		if !ok {
			ns, name = "", ns
		}
		r := "apiVersion: " + words[0] + "\nkind: " + words[1] + "\nmetadata:\n  name: " + name + "\n"
		if ns != "" {
			r += "  namespace: " + ns + "\n"
		}
		if words[3] != "" {
			r += "  annotations:\n    " + syncWave + ": \"" + words[3] + "\"\n"
		}
		out = append(out, r)
	}
	return strings.Join(out, "---\n")
}

func TestSetOrder(t *testing.T) {
	const web = "apps/v1 Deployment web"
	kptfile := func(wave string) string {
		text := "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: web\n"
		if wave != "" {
			text += "  annotations:\n    variform.dev/sync-wave: \"" + wave + "\"\n"
		}
		return text
	}
	for name, c := range map[string]struct {
		reason            string
		have, want        string
		given, there, now string // in the Kptfile, in that of what is there, and of now
		machine           string
	}{
		"first":              {"it is set", web, web + " 2", "", "", "2", ""},
		"none":               {"a package beside is left alone", web + " 3", web + " 3", "", "", "", ""},
		"its own":            {"a person's, or upstream's", web + " 7", web + " 7", "", "", "2", ""},
		"again":              {"it is set already", web + " 2", web + " 2", "2", "", "2", ""},
		"of the upstream":    {"a variant's upstream is a variant", web + " 5", web + " 2", "5", "", "2", ""},
		"upstream without":   {"the same where nobody is told", web + " 5", web, "5", "", "", ""},
		"moved":              {"an added resource has the old one", web + " 1", web + " 2", "2", "1", "2", ""},
		"moved, its own":     {"the machine makes it so", web + " 1", web + " 1", "2", "1", "2", web},
		"taken back":         {"an added resource has the old one", web + " 1", web, "", "1", "", ""},
		"namespaces":         {"what stands in them may come earlier", "v1 Namespace shop", "v1 Namespace shop", "", "", "2", ""},
		"CRDs":               {"they need nothing", "apiextensions.k8s.io/v1 CustomResourceDefinition a.b", "apiextensions.k8s.io/v1 CustomResourceDefinition a.b", "", "", "2", ""},
		"a manifest":         {"it is not deployed", "variform.dev/v1alpha1 PackageManifest web", "variform.dev/v1alpha1 PackageManifest web", "", "", "2", ""},
		"a kustomization":    {"likewise", "kustomize.config.k8s.io/v1beta1 Kustomization web", "kustomize.config.k8s.io/v1beta1 Kustomization web", "", "", "2", ""},
		"one that is Flux's": {"it is deployed", "kustomize.toolkit.fluxcd.io/v1 Kustomization web", "kustomize.toolkit.fluxcd.io/v1 Kustomization web 2", "", "", "2", ""},
	} {
		t.Run(name, func(t *testing.T) {
			p := krmtest.Package(t, map[string]string{"Kptfile": kptfile(c.given), "a.yaml": resources(c.have)})
			m := &maker{Made: &Made{}, Job: Job{Wires: &Wires{order: order{syncWave: c.now}}}}
			if c.there != "" {
				m.ordered = &kptfilev1.KptFile{}
				m.ordered.Annotations = map[string]string{"variform.dev/sync-wave": c.there}
			}
			if c.machine != "" {
				m.machine = krmtest.Package(t, map[string]string{"a.yaml": resources(c.machine)})
			}
			if err := m.setOrder(p); err != nil {
				t.Fatal(err)
			}
			for file, want := range map[string]string{"a.yaml": resources(c.want), "Kptfile": kptfile(c.now)} {
				if d := cmp.Diff(want, text(t, p, file)); d != "" {
					t.Errorf("%s: %s: -want +got:\n%s", c.reason, file, d)
				}
			}
		})
	}
	m := &maker{Made: &Made{}, Job: Job{Wires: &Wires{order: order{syncWave: "2"}}}}
	secret := resources("v1 Secret web") + "sops: {mac: x}\n"
	local := resources("v1 ConfigMap web 1")
	local = strings.Replace(local, "  annotations:\n", "  annotations:\n    config.kubernetes.io/local-config: \"true\"\n", 1)
	p := krmtest.Package(t, map[string]string{"Kptfile": kptfile(""), "a.yaml": secret, "b.yaml": local})
	if err := m.setOrder(p); err != nil || text(t, p, "a.yaml") != secret || text(t, p, "b.yaml") != local {
		t.Errorf("%v: what is encrypted, or local, was changed:\n%s%s", err, text(t, p, "a.yaml"), text(t, p, "b.yaml"))
	}
	m.Alone, m.From = true, &decide.Revision{Inputs: decide.Inputs{Values: "x"}}
	p = krmtest.Package(t, map[string]string{"Kptfile": kptfile("5"), "a.yaml": resources(web + " 5")})
	if err := m.setOrder(p); err != nil || text(t, p, "Kptfile") != kptfile("5") {
		t.Errorf("without dependencies it is not left as it is: %v\n%s", err, text(t, p, "Kptfile"))
	}
}

func text(t *testing.T, p *krm.Package, file string) string {
	t.Helper()
	files, err := p.Files()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if f.Path == file {
			return string(f.Data)
		}
	}
	return ""
}

func TestAwaitedOf(t *testing.T) {
	for name, c := range map[string]struct {
		have []string
		want []string
	}{
		"workloads":        {[]string{"apps/v1 Deployment a/web", "v1 Service a/web", "batch/v1 Job a/once"}, []string{"apps/namespaces/a/Deployment/web", "batch/namespaces/a/Job/once"}},
		"custom resources": {[]string{"kafka.strimzi.io/v1 Kafka a/k", "v1 ConfigMap a/c"}, []string{"kafka.strimzi.io/namespaces/a/Kafka/k"}},
		"CRDs":             {[]string{"apiextensions.k8s.io/v1 CustomResourceDefinition a.b", "v1 Namespace a"}, []string{"apiextensions.k8s.io/CustomResourceDefinition/a.b"}},
		"ready at once":    {[]string{"v1 ConfigMap a/c", "rbac.authorization.k8s.io/v1 ClusterRole r", "v1 Namespace a"}, []string{"/namespaces/a/ConfigMap/c", "rbac.authorization.k8s.io/ClusterRole/r"}},
		"of no namespace":  {[]string{"apps/v1 Deployment web", "example.com/v1 Thing x"}, nil},
		"not deployed":     {[]string{"variform.dev/v1alpha1 PackageManifest a/web"}, nil},
		"of the cluster":   {[]string{"v1 PersistentVolume a/v"}, []string{"/PersistentVolume/v"}},
	} {
		got := awaitedOf(krmtest.Package(t, map[string]string{"a.yaml": resources(c.have...)}))
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s: -want +got:\n%s", name, d)
		}
	}
}

// What is not of our making stays, and so does what people wrote into what is.
func TestTellFlux(t *testing.T) {
	const theirs = "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata:\n  name: web\n"
	lock := &decide.Lock{Flux: []decide.Kustomization{{Name: "db", Path: "./db"}, {Name: "web", Path: "./web", After: []string{"db"}}}, Source: decide.FluxSource{Namespace: "team", Name: "fleet"}}
	p := krmtest.Package(t, map[string]string{"Kptfile": lockKptfile, "mine.yaml": theirs})
	for range 2 {
		if err := tellFlux(p, lock); err != nil {
			t.Fatal(err)
		}
	}
	got := text(t, p, fluxFile)
	if strings.Count(got, "kind: Kustomization") != 2 || text(t, p, "mine.yaml") != theirs {
		t.Errorf("twice makes another:\n%s%s", got, text(t, p, "mine.yaml"))
	}
	has(t, got, "  path: ./web\n", "  dependsOn:\n  - name: db\n", "  namespace: team\n", "    name: fleet\n")
	edited := strings.Replace(got, "  - name: db\n", "  - name: db\n    readyExpr: x\n  - name: web\n    namespace: infra\n", 1)
	p = krmtest.Package(t, map[string]string{"Kptfile": lockKptfile, fluxFile: strings.Replace(edited, "wait: true", "wait: false", 1)})
	lock.Flux = lock.Flux[1:]
	if err := tellFlux(p, lock); err != nil {
		t.Fatal(err)
	}
	got = text(t, p, fluxFile)
	has(t, got, "  - name: db\n    readyExpr: x\n  - name: web\n    namespace: infra\n")
	lacks(t, got, "path: ./db")
	lock.Flux = nil
	if err := tellFlux(p, lock); err != nil || text(t, p, fluxFile) != "" {
		t.Errorf("%v: it stays:\n%s", err, text(t, p, fluxFile))
	}
	bad := krmtest.Package(t, map[string]string{"a.yaml": strings.Replace(newKustomization, `name: ""`, "name: web", 1) + "  dependsOn: db\n"})
	lock.Flux = []decide.Kustomization{{Name: "web", Path: "./web", After: []string{"db"}}}
	if err := tellFlux(bad, lock); err == nil || !strings.Contains(err.Error(), "spec.dependsOn of Kustomization web must be a list") {
		t.Errorf("%v", err)
	}
	lock.Document = &v1alpha1.PackageLock{}
	if _, err := new(Builder).writeLock(lock, bad, mutate.Owner{}); err == nil || !strings.Contains(err.Error(), "must be a list") {
		t.Errorf("the lock was written: %v", err)
	}
}
