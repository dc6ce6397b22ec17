package porter

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/variform/variform/resolver"
	"github.com/variform/variform/resolver/dialect"
	"github.com/variform/variform/test/proposaltest"
)

// example is what a block of PEP003 must read as, and what becomes of it.
type example struct {
	name     string
	warnings []string // each a part of one, in order; with its line
	check    func(t *testing.T, e *read)
}

// read is an example that was read, with all others of its document.
type read struct {
	*dialect.Documents
	text string
	all  []*read
}

// parent is the example's own package, named where the example does not.
func (e *read) parent() resolver.Package {
	p := e.Packages[0]
	if p.Package == "" {
		p.Package = "parent"
	}
	if p.Version == "" {
		p.Version = "1.0.0"
	}
	return p
}

// accountFor reads every block of a document and holds that each is expected.
func accountFor(t *testing.T, blocks []string, examples []example) {
	t.Helper()
	if len(blocks) != len(examples) {
		t.Fatalf("the document has %d blocks, and %d are accounted for", len(blocks), len(examples))
	}
	var all []*read
	for n, text := range blocks {
		// A credential that is hard-coded, which the format allows, is refused.
		text = strings.ReplaceAll(text, "CREDENTIAL_VALUE", "${bundle.credentials.NAME}")
		docs, err := Read([]byte(text))
		if err != nil {
			t.Fatalf("%s: %v\n%s", examples[n].name, err, text)
		}
		all = append(all, &read{docs, text, nil})
	}
	for n, e := range examples {
		all[n].all = all
		t.Run(e.name, func(t *testing.T) {
			var got []string
			for _, w := range all[n].Warnings {
				got = append(got, w.Error())
			}
			if len(got) != len(e.warnings) {
				t.Errorf("warnings %q, want %q", got, e.warnings)
			}
			for i := range min(len(got), len(e.warnings)) {
				if !strings.Contains(got[i], e.warnings[i]) {
					t.Errorf("warning %q, want %q", got[i], e.warnings[i])
				}
			}
			e.check(t, all[n])
		})
	}
}

// offer is a package version with outputs.
func offer(name, version string, outputs ...string) resolver.Package {
	p := resolver.Package{Package: name, Version: version}
	for _, o := range outputs {
		p.Outputs = append(p.Outputs, resolver.Field{Name: o})
	}
	return p
}

func installed(ref, pkg, version, group string) resolver.Installation {
	ns, name, _ := strings.Cut(ref, "/")
	return resolver.Installation{Namespace: ns, Name: name, Package: pkg, Version: version, Group: group}
}

// binds resolves the example in namespace dev and compares what its dependencies got.
func (e *read) binds(t *testing.T, have []resolver.Installation, catalog []resolver.Package, want ...string) *resolver.Resolution {
	t.Helper()
	p := e.parent()
	res, err := proposaltest.Resolve(t, resolver.Input{Installations: have}, append(catalog, p), resolver.Request{Name: "app", Package: p.Package, Namespace: "dev"})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, proposaltest.Bindings(res)); diff != "" {
		t.Error(diff)
	}
	return res
}

func reused(ref, pkg, version string) []resolver.Installation {
	return []resolver.Installation{installed(ref, pkg, version, "")}
}

// TestImplementable reads every block of Porter PEP003 and resolves it as that says.
func TestImplementable(t *testing.T) {
	infra := offer("localhost:5000/myinfra", "0.1.0", "mysql-connstr", "ip")
	infra.Credentials, infra.Parameters = []resolver.Field{{Name: "token"}}, []resolver.Field{{Name: "database"}, {Name: "logLevel"}}
	myapp := offer("localhost:5000/myapp", "1.2.3", "port")
	myapp.Credentials, myapp.Parameters = []resolver.Field{{Name: "db-connstr"}}, []resolver.Field{{Name: "logLevel"}}
	dns := offer("example.com/dns-bundle", "1.2.3")
	dns.Parameters = []resolver.Field{{Name: "cname"}}
	redis := offer("getporter/redis", "1.0.0")
	redis.Credentials = []resolver.Field{{Name: "kubeconfig"}}
	mysql := offer("getporter/mysql", "5.7.13", "connection-string")
	getApp := offer("getporter/myapp", "1.0.0")
	getApp.Parameters = []resolver.Field{{Name: "connstr"}}

	accountFor(t, proposaltest.Unfenced(proposaltest.Text(t, proposaltest.Porter)), []example{
		{"the format, with words for values", nil, func(t *testing.T, e *read) {
			r := e.parent().Requires[0]
			if r.Interface.Reference == "" || r.Interface.Document == nil || len(r.Parameters)*len(r.Credentials)*len(r.Outputs) != 1 {
				t.Errorf("a field of the format was not read: %+v", r)
			}
			p := e.parent()
			_, err := proposaltest.Resolve(t, resolver.Input{}, []resolver.Package{p}, resolver.Request{Package: p.Package})
			if err == nil || !strings.Contains(err.Error(), "SEMVER_RANGE") || !strings.Contains(err.Error(), "both reference and document") {
				t.Error(err)
			}
		}},
		{"wiring of two dependencies", nil, func(t *testing.T, e *read) {
			res := e.binds(t, nil, []resolver.Package{infra, myapp},
				"app: new localhost:5000/myapp 1.2.3 dev/myapp", "infra: new localhost:5000/myinfra 0.1.0 dev/myinfra")
			if !proposaltest.Before(res, infra.Package, myapp.Package) || !proposaltest.Before(res, myapp.Package, "parent") {
				t.Errorf("the plan is %v", res.Plan)
			}
			got := res.Render(map[string]string{"infra.outputs.ip": "10.0.0.1", "infra.outputs.mysql-connstr": "c", "app.outputs.port": "80"})
			if got["app.outputs.endpoint"] != "https://10.0.0.1:80/myapp" || got["myapp.credentials.db-connstr"] != "c" {
				t.Error(got)
			}
		}},
		{"the same as bundle.json", []string{"closing bracket too many"}, func(t *testing.T, e *read) {
			sorted := func(p resolver.Package) []resolver.Requirement {
				return slices.SortedFunc(slices.Values(p.Requires), func(a, b resolver.Requirement) int { return strings.Compare(a.Alias, b.Alias) })
			}
			if diff := cmp.Diff(sorted(e.all[1].parent()), sorted(e.parent())); diff != "" {
				t.Error(diff)
			}
			if line := strings.Split(e.text, "\n")[e.Warnings[0].Line-1]; strings.TrimSpace(line) != "}" {
				t.Errorf("the warning names the line %q", line)
			}
		}},
		{"a parent that knows an identifier", nil, func(t *testing.T, e *read) {
			fits := e.all[4].parent()
			fits.Package = "aks"
			request := resolver.Request{Package: "parent", Overrides: []resolver.Override{{Alias: "cluster", Reference: "aks"}}}
			res, err := proposaltest.Resolve(t, resolver.Input{}, []resolver.Package{e.parent(), fits}, request)
			if err != nil || res.Binding("cluster").Package != "aks" {
				t.Error(err)
			}
			if _, err := proposaltest.Resolve(t, resolver.Input{}, []resolver.Package{e.parent(), offer("aks", "1.0.0")}, request); err == nil {
				t.Error("a bundle without the credential was taken")
			}
		}},
		{"its dependency with the identifier", nil, func(t *testing.T, e *read) {
			if got := e.Packages[0].Credentials; len(got) != 1 || got[0].Name != "admin-kubeconfig" || got[0].ID == "" {
				t.Error(got)
			}
		}},
		{"an installation in a sharing group", nil, func(t *testing.T, e *read) {
			i := e.Installations[0]
			i.Namespace, i.Package, i.Version = "dev", "getporter/redis", "1.0.2"
			for group, want := range map[string]resolver.Use{"my-application-group": resolver.UseExisting, "other": resolver.UseNew} {
				parent := resolver.Package{Package: "p", Version: "1.0.0", Requires: []resolver.Requirement{{Alias: "r", Package: i.Package, Share: resolver.Share{Group: group}}}}
				res, err := proposaltest.Resolve(t, resolver.Input{Installations: []resolver.Installation{i}}, []resolver.Package{parent, offer(i.Package, i.Version)}, resolver.Request{Package: "p", Namespace: "dev"})
				if err != nil || res.Binding("r").Use != want {
					t.Errorf("group %s: %v", group, err)
				}
			}
		}},
		{"a credential of the parent", nil, func(t *testing.T, e *read) {
			res := e.binds(t, nil, []resolver.Package{redis}, "redis: new getporter/redis 1.0.0 dev/redis")
			if diff := cmp.Diff(map[string]resolver.Inputs{"root": {Credentials: []string{"kubeconfig"}}}, res.Asked); diff != "" {
				t.Error(diff)
			}
		}},
		{"an output for another dependency", nil, func(t *testing.T, e *read) {
			res := e.binds(t, nil, []resolver.Package{getApp, mysql},
				"myapp: new getporter/myapp 1.0.0 dev/myapp", "mysql: new getporter/mysql 5.7.13 dev/mysql")
			if !proposaltest.Before(res, "getporter/mysql", "getporter/myapp") {
				t.Errorf("the plan is %v", res.Plan)
			}
		}},
		{"unshared, one service", nil, func(t *testing.T, e *read) {
			e.binds(t, nil, []resolver.Package{dns}, "dns: new example.com/dns-bundle 1.2.3 dev/dns-bundle")
		}},
		{"unshared, the other service", nil, func(t *testing.T, e *read) {
			a, b := e.all[8].parent(), e.parent()
			a.Package, b.Package = "mysvc-a", "mysvc-b"
			res, err := proposaltest.Resolve(t, resolver.Input{}, []resolver.Package{a, b, dns},
				resolver.Request{Package: "mysvc-a", Namespace: "dev"}, resolver.Request{Package: "mysvc-b", Namespace: "dev"})
			if err != nil {
				t.Fatal(err)
			}
			if len(res.Instances) != 4 {
				t.Errorf("%d instances, want each service and its own dns", len(res.Instances))
			}
		}},
		{"mode none", nil, func(t *testing.T, e *read) {
			res := e.binds(t, reused("dev/redis", "getporter/redis", "1.0.2"), []resolver.Package{offer("getporter/redis", "1.0.2")},
				"redis: new getporter/redis 1.0.2 dev/app-redis")
			if i := res.Find("dev/app-redis"); i.Share.Mode != resolver.ModeNone {
				t.Error(i.Share)
			}
		}},
		{"shared", nil, func(t *testing.T, e *read) {
			catalog := []resolver.Package{offer("getporter/flux", "2.1.3"), offer("getporter/flux", "2.0.0"), offer("getporter/flux", "3.0.0"), offer("getporter/flux", "1.0.0")}
			local, global := installed("dev/flux", "getporter/flux", "2.0.0", ""), installed("/flux", "getporter/flux", "2.0.0", "")
			e.binds(t, []resolver.Installation{global, local}, catalog, "flux: existing getporter/flux 2.0.0 dev/flux")
			e.binds(t, []resolver.Installation{global}, catalog, "flux: existing getporter/flux 2.0.0 flux")
			e.binds(t, nil, catalog, "flux: new getporter/flux 2.1.3 dev/flux")
			e.binds(t, reused("dev/old", "getporter/flux", "1.0.0"), catalog, "flux: new getporter/flux 2.1.3 dev/flux")
		}},
		{"prefer local", nil, func(t *testing.T, e *read) {
			catalog := []resolver.Package{offer("getporter/postgres", "2.3.4")}
			e.binds(t, []resolver.Installation{installed("dev/pg", "getporter/postgres", "2.3.4", "my-application")}, catalog, "postgres: existing getporter/postgres 2.3.4 dev/pg")
			e.binds(t, reused("dev/pg", "getporter/postgres", "2.3.4"), catalog, "postgres: new getporter/postgres 2.3.4 dev/postgres")
		}},
		{"shared within a namespace", nil, func(t *testing.T, e *read) {
			catalog := []resolver.Package{offer("getporter/keyvault", "1.2.3")}
			res := e.binds(t, nil, catalog, "keyvault: new getporter/keyvault 1.2.3 dev/keyvault")
			if got := res.Find("dev/keyvault").Share.Group; got != "dev" {
				t.Errorf("the group is %q", got)
			}
			after := slices.DeleteFunc(res.Installations(nil), func(i resolver.Installation) bool { return i.Name == "app" })
			e.binds(t, after, catalog, "keyvault: existing getporter/keyvault 1.2.3 dev/keyvault")
		}},
		{"shared by a group", nil, func(t *testing.T, e *read) {
			e.binds(t, []resolver.Installation{installed("dev/otel", "getporter/otel", "1.2.3", "myapp")}, []resolver.Package{offer("getporter/otel", "1.2.3")},
				"otel: existing getporter/otel 1.2.3 dev/otel")
		}},
		{"an unmanaged resource", nil, func(t *testing.T, e *read) {
			if p := e.parent(); p.Package != "shared-dev-sql-server" || p.Outputs[0].ID == "" || p.Parameters[0].Type != "string" {
				t.Errorf("%+v", p)
			}
		}},
		{"its user", nil, func(t *testing.T, e *read) {
			server := e.all[15].parent()
			catalog := []resolver.Package{server, {Package: "azure/sqlserver", Version: "1.2.68", Outputs: server.Outputs}}
			res := e.binds(t, reused("/shared-dev-sql-server", server.Package, server.Version), catalog, "sqlserver: existing shared-dev-sql-server 1.0.0 shared-dev-sql-server")
			if diff := cmp.Diff(map[string]string{"dbCon": "connection-string"}, res.Binding("sqlserver").OutputMap); diff != "" {
				t.Error(diff)
			}
			e.binds(t, nil, catalog, "sqlserver: new azure/sqlserver 1.2.68 dev/sqlserver")
		}},
		{"a bundle interface", []string{"line 15: it reads the output dbCon of sqlserver, but no dependency is called so (hint: the dependencies are mysql)"}, func(t *testing.T, e *read) {
			if line := strings.Split(e.text, "\n")[e.Warnings[0].Line-1]; !strings.Contains(line, "sqlserver") {
				t.Errorf("the warning names the line %q", line)
			}
			var needs *resolver.NeedsInputError
			_, err := proposaltest.Resolve(t, resolver.Input{}, []resolver.Package{e.parent()}, resolver.Request{Package: "parent"})
			if !errors.As(err, &needs) {
				t.Errorf("nobody was asked: %v", err)
			}
			db := resolver.Package{Package: "helm/mysql", Version: "1.0.0", Outputs: []resolver.Field{{Name: "c", ID: e.parent().Requires[0].Interface.Outputs[0].ID}}}
			e.binds(t, reused("dev/db", db.Package, db.Version), []resolver.Package{db}, "mysql: existing helm/mysql 1.0.0 dev/db")
		}},
	})
}
