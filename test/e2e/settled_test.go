package e2e

import (
	"io"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/registry"

	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/ocirepo"
	"github.com/variform/variform/test/gittest"
)

// settle runs apply until nothing is left to do, and marks what it remembers of that:
// a run that looks at refs alone says the marked text.
func (w *world) settle(args ...string) {
	w.t.Helper()
	for range 2 {
		w.mustRun(0, append([]string{"apply"}, args...)...)
	}
	names, err := filepath.Glob(filepath.Join(w.dir, "state", "settled", "*.json"))
	if err != nil || len(names) != 1 {
		w.t.Fatalf("%v of a settled fleet, %v", names, err)
	}
	data, err := os.ReadFile(names[0])
	if err != nil {
		w.t.Fatal(err)
	}
	text := strings.Replace(string(data), `"Out":"`, `"Out":"again: `, 1)
	if err := os.WriteFile(names[0], []byte(text), 0o600); err != nil || text == string(data) {
		w.t.Fatal(err, text)
	}
	if !w.settled(args...) {
		w.t.Fatal("a settled fleet was looked at once more")
	}
}

// settled runs apply, and says whether it looked at refs alone.
func (w *world) settled(args ...string) bool {
	w.t.Helper()
	return strings.Contains(w.mustRun(0, append([]string{"apply"}, args...)...).out, "\n\nagain: ")
}

// A fleet in which nothing was left to do is looked at anew as soon as anything moves
// that it follows from.
func TestSettled(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(w *world) (args []string){
		"a Draft is edited": func(w *world) []string {
			w.edit("c1", "drafts/web/packagevariant-1", "web/deployment.yaml", "replicas: 2", "replicas: 6")
			return nil
		},
		"a branch comes": func(w *world) []string {
			w.repos["c2"].Git(w.t, "branch", "topic", "main")
			return nil
		},
		"a tag comes to the catalog": func(w *world) []string {
			w.publishWeb(webV2, "v2")
			return nil
		},
		"HEAD moves": func(w *world) []string {
			w.repos["c1"].Git(w.t, "branch", "trunk", "main")
			w.settle()
			w.repos["c1"].Git(w.t, "symbolic-ref", "HEAD", "refs/heads/trunk")
			return nil
		},
		"the record goes": func(w *world) []string {
			for line := range strings.Lines(w.repos["c1"].Git(w.t, "for-each-ref", "--format=%(refname)", "refs/variform")) {
				w.repos["c1"].Git(w.t, "update-ref", "-d", strings.TrimSpace(line))
			}
			return nil
		},
		"a set wants more": func(w *world) []string {
			w.write("sets/more.yaml", listSet("more", "web", "v1", "c1", "other"))
			return nil
		},
		"a variant goes": func(w *world) []string {
			if err := os.Remove(filepath.Join(w.fleet(), "sets", "web.yaml")); err != nil {
				w.t.Fatal(err)
			}
			return nil
		},
		"a file is left out": func(w *world) []string {
			w.write(".krmignore", "sets/\n")
			return nil
		},
		"a comment": func(w *world) []string {
			w.write("sets/note.yaml", "# nothing\n")
			return nil
		},
		"another option": func(*world) []string { return []string{"--max-delete", "5"} },
		"the cache knows more": func(w *world) []string {
			f, err := os.OpenFile(filepath.Join(w.dir, "cache", "git", "git", "trees"), os.O_APPEND|os.O_WRONLY|os.O_CREATE, 0o600)
			if err != nil {
				w.t.Fatal(err)
			}
			_, err = f.Write(make([]byte, 56))
			if err != nil || f.Close() != nil {
				w.t.Fatal(err)
			}
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "c1", "c2")
			w.write("sets/web.yaml", webSet)
			w.settle()
			if w.settled(change(w)...) {
				t.Error("nothing was looked at")
			}
		})
	}
}

// What is not in files and refs is looked at in each run: registries, programs of the
// machine; what a run warns of or waits for is said in each.
func TestNeverSettled(t *testing.T) {
	t.Parallel()
	for name, prepare := range map[string]func(w *world) (args []string){
		"a function of the machine": func(w *world) []string {
			program := filepath.Join(w.dir, "same")
			if err := os.WriteFile(program, []byte("#!/bin/sh\ncat\n"), 0o755); err != nil {
				w.t.Fatal(err)
			}
			w.publishWeb(merged(webV1, gittest.Text{"web/Kptfile": "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: web\npipeline:\n  mutators:\n    - exec: " + program + "\n"}), "v3")
			w.write("sets/web.yaml", strings.Replace(webSet, "revision: v1", "revision: v3", 1))
			return []string{"--allow-exec"}
		},
		"a registry": func(w *world) []string {
			srv := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
			w.t.Cleanup(srv.Close)
			address := strings.TrimPrefix(srv.URL, "http://") + "/packages"
			p, err := krm.Parse([]krm.File{{Path: "Kptfile", Data: []byte("apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: web\n")}})
			if err == nil {
				_, err = ocirepo.NewStore(ocirepo.Options{}).Push(w.t.Context(), address+"/web:v1", p, ocirepo.PushOptions{})
			}
			if err != nil {
				w.t.Fatal(err)
			}
			w.write("images.yaml", "apiVersion: config.porch.kpt.dev/v1alpha1\nkind: Repository\nmetadata: {name: images}\nspec:\n  type: oci\n  oci: {registry: "+address+"}\n")
			w.write("variants/image.yaml", strings.Replace(variantOf("image", "v1", "c1", "image", ""), "repo: catalog", "repo: images", 1))
			return nil
		},
		"a variant that is held": func(w *world) []string {
			w.mustRun(0, "apply")
			w.mustRun(0, "hold", "c1/web", "--reason", "a freeze")
			return nil
		},
		"another output": func(*world) []string { return []string{"-o", "wide"} },
		"a failure": func(w *world) []string {
			w.write("variants/bad.yaml", variantOf("bad", "v9", "c1", "bad", ""))
			return nil
		},
		"a variant that is to be rendered again": func(*world) []string { return []string{"--rerender", "c1/web"} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "c1", "c2")
			w.write("sets/web.yaml", webSet)
			args := append([]string{"apply"}, prepare(w)...)
			for range 2 {
				if r := w.run(args...); r.status != 0 && name != "a failure" {
					t.Fatal(r)
				}
			}
			if names, err := filepath.Glob(filepath.Join(w.dir, "state", "settled", "*.json")); err != nil || len(names) > 0 {
				t.Error(names, err)
			}
		})
	}
}

// A settled fleet costs one request for each repository, and says what a run says that
// looks at everything.
func TestSettledCost(t *testing.T) {
	t.Parallel()
	w := newHTTPWorld(t, "c1", "c2")
	w.write("sets/web.yaml", webSet)
	w.mustRun(0, "apply")
	want := w.mustRun(0, "apply")
	w.srv.ResetCounts()
	if got := w.mustRun(0, "apply"); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if n := w.srv.Count(gittest.ReadRefs); n != 3 || w.srv.Count(gittest.Fetch) > 0 {
		t.Errorf("%d requests for refs and %d for objects, want one for each of 3 repositories", n, w.srv.Count(gittest.Fetch))
	}
	if got := runIn(t.TempDir(), "apply", "-f", w.fleet()); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}
