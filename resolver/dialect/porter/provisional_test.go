package porter

import (
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/variform/variform/resolver"
	"github.com/variform/variform/test/proposaltest"
)

// TestProvisional reads every YAML block of PEP003's provisional form and resolves it as that says. Its other blocks are
// shell sessions.
func TestProvisional(t *testing.T) {
	labelled := func(ref, pkg, version, key, value string) []resolver.Installation {
		i := installed(ref, pkg, version, "")
		i.Labels = map[string]string{key: value}
		return []resolver.Installation{i}
	}
	sqlserver := []resolver.Package{offer("azure/sqlserver", "1.2.0", "connection-string"), offer("azure/sqlserver", "1.2.9", "connection-string"), offer("azure/sqlserver", "1.3.0", "connection-string")}
	logger := []resolver.Package{offer("myorg/mylogger", "1.2.3"), offer("myorg/mylogger", "1.3.0")}

	accountFor(t, proposaltest.Fenced(proposaltest.Text(t, proposaltest.PorterProvisional), "yaml"), []example{
		{"exclusive", nil, func(t *testing.T, e *read) {
			catalog := []resolver.Package{offer("redis", "1.0.0")}
			res := e.binds(t, labelled("dev/redis", "redis", "1.0.0", "owner", "other"), catalog, "redis: new redis 1.0.0 dev/app-redis")
			if diff := cmp.Diff(map[string]string{"owner": "app"}, res.Find("dev/app-redis").Labels); diff != "" {
				t.Error(diff)
			}
			e.binds(t, labelled("dev/mine", "redis", "1.0.0", "owner", "app"), catalog, "redis: existing redis 1.0.0 dev/mine")
		}},
		{"global", nil, func(t *testing.T, e *read) {
			catalog := []resolver.Package{offer("olm", "1.0.0")}
			e.binds(t, reused("/olm", "olm", "1.0.0"), catalog, "olm: existing olm 1.0.0 olm")
			e.binds(t, nil, catalog, "olm: new olm 1.0.0 olm")
		}},
		{"scoped", nil, func(t *testing.T, e *read) {
			catalog := []resolver.Package{offer("postgres", "1.0.0")}
			res := e.binds(t, nil, catalog, "postgres: new postgres 1.0.0 dev/postgres")
			after := slices.DeleteFunc(res.Installations(nil), func(i resolver.Installation) bool { return i.Name == "app" })
			e.binds(t, after, catalog, "postgres: existing postgres 1.0.0 dev/postgres")
			e.binds(t, labelled("/postgres", "postgres", "1.0.0", "app", "another"), catalog, "postgres: new postgres 1.0.0 dev/postgres")
		}},
		{"provided by the user", nil, func(t *testing.T, e *read) {
			e.binds(t, nil, sqlserver, "sqlserver: new azure/sqlserver 1.2.9 sqlserver")
			shared, p := e.all[4].parent(), e.parent()
			for output, want := range map[string]resolver.Use{"connection-string": resolver.UseExisting, "other": ""} {
				shared.Outputs = []resolver.Field{{Name: output}}
				res, err := proposaltest.Resolve(t, resolver.Input{Installations: reused("/shared", shared.Package, shared.Version)}, append(sqlserver, p, shared),
					resolver.Request{Package: p.Package, Namespace: "dev", Overrides: []resolver.Override{{Alias: "sqlserver", Installation: "shared"}}})
				var c *resolver.ConflictError
				switch {
				case want == "" && (!errors.As(err, &c) || c.Kind != resolver.InterfaceMismatch):
					t.Errorf("one without the output was taken: %v", err)
				case want != "" && (err != nil || res.Binding("sqlserver").Use != want):
					t.Errorf("it was not taken: %v", err)
				}
			}
		}},
		{"the bundle that shares it", nil, func(t *testing.T, e *read) {
			if p := e.parent(); p.Package != "shared-dev-sql-server" || len(p.Parameters)*len(p.Outputs) != 1 {
				t.Errorf("%+v", p)
			}
		}},
		{"an implementation of an interface", nil, func(t *testing.T, e *read) {
			if diff := cmp.Diff([]resolver.Provide{{Interface: "io.cnab.interface.mysql", Version: "5.7.12"}}, e.parent().Provides); diff != "" {
				t.Error(diff)
			}
		}},
		{"its user", nil, func(t *testing.T, e *read) {
			mysql, p := e.all[5].parent(), e.parent()
			e.binds(t, reused("/db", mysql.Package, mysql.Version), []resolver.Package{mysql}, "mysql: existing azure-mysql 1.0.0 db")
			cat, err := resolver.NewCatalog([]resolver.Package{mysql, p}, resolver.WithDefaults(map[string]string{"io.cnab.interface.mysql": mysql.Package}))
			if err != nil {
				t.Fatal(err)
			}
			res, err := resolver.Resolve(t.Context(), resolver.Input{Catalog: cat, Want: []resolver.Request{{Package: p.Package}}})
			if err != nil || res.Binding("mysql").Use != resolver.UseNew {
				t.Fatal(err)
			}
			if got := res.Render(nil)["azure-mysql.parameters.database-name"]; got != "wordpress" {
				t.Errorf("the database is called %q", got)
			}
		}},
		{"managed", nil, func(t *testing.T, e *read) {
			e.binds(t, nil, logger, "logger: new myorg/mylogger 1.2.3 mylogger")
			if l := e.parent().Requires[0].Lifecycle; !l.Does(l.Upgrade) || !l.Does(l.Invoke) || !l.Does(l.Uninstall) {
				t.Errorf("%+v", l)
			}
		}},
		{"managed but for uninstalling", nil, func(t *testing.T, e *read) {
			e.binds(t, nil, logger, "logger: new myorg/mylogger 1.2.3 mylogger")
			if l := e.parent().Requires[0].Lifecycle; !l.Does(l.Upgrade) || !l.Does(l.Invoke) || l.Does(l.Uninstall) {
				t.Errorf("%+v", l)
			}
		}},
	})
}
