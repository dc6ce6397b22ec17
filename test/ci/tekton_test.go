package ci

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// task has the fields of Tekton's Task, v1, that the recipe uses; any other is
// a slip of the pen.
type task struct {
	APIVersion string                `json:"apiVersion"`
	Kind       string                `json:"kind"`
	Metadata   struct{ Name string } `json:"metadata"`
	Spec       struct {
		Description string `json:"description"`
		Params      []struct {
			Name, Type, Description string
			Default                 *string
		} `json:"params"`
		Workspaces []struct {
			Name, Description  string
			ReadOnly, Optional bool
		} `json:"workspaces"`
		Results      []struct{ Name, Description string } `json:"results"`
		StepTemplate struct {
			Image           string         `json:"image"`
			WorkingDir      string         `json:"workingDir"`
			SecurityContext map[string]any `json:"securityContext"`
		} `json:"stepTemplate"`
		Steps []struct {
			Name, Script string
			Env          []struct{ Name, Value string }
		} `json:"steps"`
	} `json:"spec"`
}

func readTasks(t *testing.T) map[string]task {
	t.Helper()
	out := map[string]task{}
	for doc := range bytes.SplitSeq(recipe(t, "tekton.yaml"), []byte("\n---\n")) {
		var k task
		if err := yaml.UnmarshalStrict(doc, &k); err != nil {
			t.Fatalf("docs/ci/tekton.yaml: %v", err)
		}
		out[k.Metadata.Name] = k
	}
	return out
}

var variable = regexp.MustCompile(`\$\(([a-z]+\.[a-z.]+)\)`)

// Every variable that a Task uses is one that it declares.
func TestTektonStructure(t *testing.T) {
	for name, k := range readTasks(t) {
		if k.APIVersion != "tekton.dev/v1" || k.Kind != "Task" || k.Spec.StepTemplate.SecurityContext["runAsNonRoot"] != true {
			t.Errorf("%s: %s %s, %v", name, k.APIVersion, k.Kind, k.Spec.StepTemplate.SecurityContext)
		}
		known := map[string]bool{}
		for _, p := range k.Spec.Params {
			known["params."+p.Name] = true
		}
		for _, w := range k.Spec.Workspaces {
			known["workspaces."+w.Name+".path"], known["workspaces."+w.Name+".bound"] = true, true
		}
		for _, r := range k.Spec.Results {
			known["results."+r.Name+".path"] = true
		}
		text, err := json.Marshal(k)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range variable.FindAllSubmatch(text, -1) {
			if !known[string(m[1])] {
				t.Errorf("%s: nothing is called %s", name, m[0])
			}
		}
		for _, s := range k.Spec.Steps {
			plainScript(t, name+" "+s.Name, s.Script)
			if !strings.HasPrefix(s.Script, "#!/usr/bin/env bash\nset -euo pipefail\n") {
				t.Errorf("%s: step %s goes on after a failure", name, s.Name)
			}
		}
	}
}

func TestTektonRecipe(t *testing.T) {
	need(t, "curl", "jq")
	tasks := readTasks(t)
	w := newWorld(t, "git")
	// What Tekton makes of a Secret that a ServiceAccount has for a Git server.
	server, err := url.Parse(w.srv.URL)
	if err != nil {
		t.Fatal(err)
	}
	server.User = url.UserPassword("git", gitToken)
	secret := t.TempDir()
	for file, text := range map[string]string{
		filepath.Join(w.home, ".gitconfig"):       "[credential]\n\thelper = store\n",
		filepath.Join(w.home, ".git-credentials"): server.String() + "\n",
		filepath.Join(secret, "token"):            commentToken + "\n",
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	f := newForge(t, "Authorization", "Bearer "+commentToken, func(f *forge, mux *http.ServeMux) {
		write := func(w http.ResponseWriter, r *http.Request) {
			var in struct{ Body string }
			if r.Header.Get("Content-Type") != "application/json" || json.NewDecoder(r.Body).Decode(&in) != nil {
				http.Error(w, "no JSON", http.StatusBadRequest)
				return
			}
			f.write(w, r, in.Body)
		}
		mux.HandleFunc("GET /repos/acme/fleet/issues/7/comments", f.list)
		mux.HandleFunc("POST /repos/acme/fleet/issues/7/comments", write)
		mux.HandleFunc("PATCH /repos/acme/fleet/issues/comments/{id}", write)
	})
	values := map[string]string{
		"params.api": f.URL, "params.repository": "acme/fleet", "params.number": "7",
		"workspaces.source.path": w.dir, "workspaces.cache.path": filepath.Join(w.home, "cache"),
		"workspaces.forge.path": secret, "workspaces.forge.bound": "true", "results.status.path": filepath.Join(w.home, "status"),
	}
	run := func(name string) func() result {
		return func() result {
			k := tasks[name]
			for _, p := range k.Spec.Params {
				if p.Default != nil && values["params."+p.Name] == "" {
					values["params."+p.Name] = *p.Default
				}
			}
			var all result
			for _, s := range k.Spec.Steps {
				env := map[string]string{}
				for _, e := range s.Env {
					env[e.Name] = variable.ReplaceAllStringFunc(e.Value, func(v string) string { return values[variable.FindStringSubmatch(v)[1]] })
				}
				r := w.bash(s.Script, env)
				if all = (result{r.status, all.out + r.out, all.err + r.err}); r.status != 0 {
					break
				}
			}
			return all
		}
	}
	var log string
	w.story(platform{
		plan: func() result { r := run("variform-plan")(); log = r.out; return r }, apply: run("variform-apply"),
		comments: f.bodies, shows: func() string { return log },
	})
}
