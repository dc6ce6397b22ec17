package oci

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/crane"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/variform/variform/api/config/v1alpha1"
	"github.com/variform/variform/internal/decide"
	"github.com/variform/variform/internal/gitrepo"
	"github.com/variform/variform/internal/injection"
	"github.com/variform/variform/internal/observe"
	"github.com/variform/variform/internal/ocirepo"
	"github.com/variform/variform/internal/reconcile"
	"github.com/variform/variform/test/gittest"
)

// packageImage is an image as others make them: a folder of files, and a time.
func packageImage(t *testing.T, level, created string) v1.Image {
	t.Helper()
	img, err := crane.Image(map[string][]byte{
		"Kptfile":       []byte("apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: web\n"),
		"settings.yaml": []byte("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: settings\ndata:\n  level: " + level + "\n"),
	})
	if err != nil {
		t.Fatal(err)
	}
	return mutate.Annotations(img, map[string]string{"org.opencontainers.image.created": created}).(v1.Image)
}

// One Engine that runs again sees where a tag points now; into an empty
// repository a commit takes the time of the image, or 1970 where that is none.
func TestEngineRunsAgain(t *testing.T) {
	ctx := context.Background()
	f := newFront(t, registries["process"](t))
	tag, err := name.NewTag(f.addr + "/again/web:stable")
	if err != nil {
		t.Fatal(err)
	}
	git := gittest.NewServer(t)
	repo := git.NewRepo(t, "c1")
	registered := func(name string, spec v1alpha1.RepositorySpec) *v1alpha1.Repository {
		r := &v1alpha1.Repository{Spec: spec}
		r.Namespace, r.Name = "default", name
		return r
	}
	pv := &v1alpha1.PackageVariant{Spec: v1alpha1.PackageVariantSpec{
		Upstream:   &v1alpha1.Upstream{Repo: "catalog", Package: "web", Revision: "stable"},
		Downstream: &v1alpha1.Downstream{Repo: "c1", Package: "web"},
	}}
	pv.Namespace, pv.Name = "default", "web"
	objects, err := injection.NewContext(nil)
	if err != nil {
		t.Fatal(err)
	}
	e := reconcile.New(reconcile.Config{
		Fleet: reconcile.Fleet{
			Repositories: []*v1alpha1.Repository{
				registered("catalog", v1alpha1.RepositorySpec{Type: v1alpha1.RepositoryOCI, OCI: &v1alpha1.OCIRepository{Registry: f.addr + "/again"}}),
				registered("c1", v1alpha1.RepositorySpec{Type: v1alpha1.RepositoryGit, Git: &v1alpha1.GitRepository{Repo: git.RepoURL("c1"), Branch: "main", CreateBranch: true}}),
			},
			Variants: []*v1alpha1.PackageVariant{pv}, Context: objects,
		},
		Git: observe.Git(gitrepo.NewStore(gitrepo.Options{CacheDir: t.TempDir()})), OCI: observe.OCI(ocirepo.NewStore(ocirepo.Options{})), Manager: "fleet",
	})
	steps := []struct {
		level, created string
		action         decide.Action
		when           time.Time
	}{
		{"info", "1969-01-01T00:00:00Z", decide.ActionCreate, time.Unix(0, 0)},
		{"info", "1969-01-01T00:00:00Z", decide.ActionNone, time.Unix(0, 0)},
		{"debug", "2026-01-05T10:00:00+01:00", decide.ActionUpdate, time.Date(2026, 1, 5, 9, 0, 0, 0, time.UTC)},
	}
	for _, s := range steps {
		if err := remote.Write(tag, packageImage(t, s.level, s.created)); err != nil {
			t.Fatal(err)
		}
		plan, err := e.Plan(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if len(plan.Items) != 1 || plan.Items[0].Err != nil || plan.Items[0].Action != s.action {
			t.Fatalf("%+v: planned %+v, %v", s, plan.Items, plan.Items[0].Err)
		}
		if err := e.Apply(ctx, plan); err != nil || plan.Failed() {
			t.Fatal(err, plan.Items[0].Err)
		}
		const draft = "refs/heads/drafts/web/packagevariant-1"
		if got := repo.Show(t, draft, "web/settings.yaml"); !strings.Contains(got, "level: "+s.level) {
			t.Errorf("want level %s, got:\n%s", s.level, got)
		}
		if got, want := repo.Git(t, "log", "-1", "--format=%ct", draft), strconv.FormatInt(s.when.Unix(), 10); got != want {
			t.Errorf("%s: the commit is of %s, want %s", s.level, got, want)
		}
		repo.Fsck(t)
	}
}
