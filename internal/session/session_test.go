package session_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/variform/variform/internal/gitrepo"
	"github.com/variform/variform/internal/ocirepo"
	"github.com/variform/variform/internal/reconcile"
	"github.com/variform/variform/internal/session"
	"github.com/variform/variform/internal/source"
)

// TestOpen: every door has the same engine for the same fleet, and the same errors.
func TestOpen(t *testing.T) {
	repository := map[string]any{"apiVersion": "config.porch.kpt.dev/v1alpha1", "kind": "Repository", "metadata": map[string]any{"name": "a"}, "spec": map[string]any{"git": map[string]any{"repo": t.TempDir()}}}
	for name, tc := range map[string]struct {
		objects []map[string]any
		manager string
		prune   bool
		want    string
	}{
		"a fleet":            {objects: []map[string]any{repository}, manager: "me"},
		"nothing":            {manager: "me", want: "objects holds no Repository"},
		"what was rejected":  {objects: []map[string]any{{"apiVersion": "config.porch.kpt.dev/v1alpha1", "kind": "Repository", "metadata": map[string]any{"name": "a"}}}, manager: "me"},
		"pruned and unnamed": {objects: []map[string]any{repository}, prune: true, want: "no name of its own"},
	} {
		t.Run(name, func(t *testing.T) {
			var texts []source.Text
			for _, o := range tc.objects {
				texts = append(texts, source.TextOf(o))
			}
			read, err := source.OfObjects("objects", texts, source.Options{Manager: tc.manager}).Fleet(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			registries := ocirepo.NewStore(ocirepo.Options{})
			s, err := session.Open(read, session.Options{
				Config: reconcile.Config{Prune: tc.prune, AllowKinds: []string{"Secret"}}, Cache: t.TempDir(), State: t.TempDir(), Git: gitrepo.NewStore(gitrepo.Options{}), OCI: registries, Dependencies: true, Upgrade: []string{"*"},
			})
			if tc.want != "" {
				if err == nil || !strings.Contains(err.Error(), tc.want) || errors.Is(err, session.ErrNothing) != (name == "nothing") {
					t.Errorf("got %v, want %s", err, tc.want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			c := s.Config
			if c.Manager != "me" || c.Unnamed || c.Origin != "" || c.Memo == nil || c.Known == nil || c.OCI == nil || c.Renderer != nil || c.Dependencies == nil || len(c.Dependencies.Refresh) != 1 || len(c.AllowKinds) != 1 || len(c.Fleet.Repositories) != len(read.Repositories) {
				t.Errorf("%+v", c)
			}
			if !s.OnlyRefs() {
				t.Error("no registry was opened and nothing ran")
			}
		})
	}
}

func TestAllowedImages(t *testing.T) {
	if got := session.AllowedImages("mine/*"); len(got) != 4 || got[3] != "mine/*" {
		t.Error(got)
	}
}
