package ci

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

// action is what the reference of GitHub's metadata names, as far as it is used.
type action struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Inputs      map[string]struct {
		Description string `json:"description"`
		Default     string `json:"default"`
		Required    bool   `json:"required"`
	} `json:"inputs"`
	Outputs map[string]struct {
		Description string `json:"description"`
		Value       string `json:"value"`
	} `json:"outputs"`
	Runs struct {
		Using string       `json:"using"`
		Steps []actionStep `json:"steps"`
	} `json:"runs"`
}

type actionStep struct {
	Name  string            `json:"name"`
	ID    string            `json:"id"`
	Uses  string            `json:"uses"`
	If    string            `json:"if"`
	Run   string            `json:"run"`
	Shell string            `json:"shell"`
	Env   map[string]string `json:"env"`
	With  map[string]any    `json:"with"`
}

func readAction(t *testing.T) (a action, text string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, "action.yml"))
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict(data, &a); err != nil {
		t.Fatal(err)
	}
	return a, string(data)
}

// The action at the repository's root names what there is.
func TestActionStructure(t *testing.T) {
	a, text := readAction(t)
	if a.Runs.Using != "composite" || a.Name == "" || a.Description == "" {
		t.Errorf("%+v", a)
	}
	used := map[string]bool{}
	for _, m := range regexp.MustCompile(`inputs\.([a-z]+)`).FindAllStringSubmatch(text, -1) {
		used[m[1]] = true
	}
	for name, in := range a.Inputs {
		if !used[name] || in.Description == "" || in.Required == (in.Default != "") {
			t.Errorf("input %s: used %t, %+v", name, used[name], in)
		}
		delete(used, name)
	}
	if len(used) > 0 {
		t.Errorf("inputs that are not there: %v", used)
	}
	wrote := a.Runs.Steps[len(a.Runs.Steps)-1].Run
	for name, out := range a.Outputs {
		if out.Value != "${{ steps.run.outputs."+name+" }}" || !strings.Contains(wrote, `"`+name+"=") {
			t.Errorf("output %s: %+v", name, out)
		}
	}
	for _, s := range a.Runs.Steps {
		plainScript(t, s.Name, s.Run)
		if s.Uses != "" && !pinned.MatchString(s.Uses) {
			t.Errorf("%s is not pinned to a commit", s.Uses)
		}
		if (s.Run != "") != (s.Shell == "bash") {
			t.Errorf("%s: shell %q", s.Name, s.Shell)
		}
	}
}

// Its script plans and applies, with the real command.
func TestAction(t *testing.T) {
	a, _ := readAction(t)
	w := newWorld(t, "x-access-token")
	files := map[string]string{"GITHUB_OUTPUT": filepath.Join(w.home, "output"), "GITHUB_STEP_SUMMARY": filepath.Join(w.home, "summary")}
	run := func(command string) (r result, output, summary string) {
		values := map[string]string{
			"inputs.command": command, "inputs.prune": a.Inputs["prune"].Default, "inputs.fleet": a.Inputs["fleet"].Default, "inputs.token": gitToken,
			"runner.temp": w.home, "github.workspace": w.dir, "github.server_url": w.srv.URL,
		}
		env := map[string]string{}
		for name, file := range files {
			if env[name] = file; os.WriteFile(file, nil, 0o600) != nil {
				t.Fatal(file)
			}
		}
		s := a.Runs.Steps[slices.IndexFunc(a.Runs.Steps, func(s actionStep) bool {
			return s.ID == "run"
		})]
		for k, v := range s.Env {
			env[k] = expression.ReplaceAllStringFunc(v, func(e string) string {
				value, ok := values[expression.FindStringSubmatch(e)[1]]
				if !ok {
					t.Errorf("no value for %s", e)
				}
				return value
			})
		}
		r = w.bash(s.Run, env)
		read := func(name string) string {
			data, err := os.ReadFile(files[name])
			if err != nil {
				t.Fatal(err)
			}
			return string(data)
		}
		return r, read("GITHUB_OUTPUT"), read("GITHUB_STEP_SUMMARY")
	}
	r, output, summary := run("plan")
	if want := "status=0\nreport=" + filepath.Join(w.home, "variform.json") + "\n"; r.status != 0 || output != want || !strings.Contains(summary, "2 variants: 2 to create") || len(w.drafts()) > 0 {
		t.Errorf("%+v\n%s\n%s", r, output, summary)
	}
	w.write("fleet/sets/broken.yaml", set("broken", "v9"))
	if r, output, summary = run("apply"); r.status != 1 || !strings.HasPrefix(output, "status=1\n") || !strings.Contains(summary, "### Variform apply") || !strings.Contains(r.out, "::error") {
		t.Errorf("%+v\n%s\n%s", r, output, summary)
	}
	if d := cmp.Diff([]string{"c1 web", "c2 web"}, w.drafts()); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	if r, _, _ = run("publish"); r.status != 2 || !strings.Contains(r.out, "and not publish") {
		t.Errorf("%+v", r)
	}
}

// The workflow that wakes a run is linted, and wakes what the recipe listens to.
func TestWake(t *testing.T) {
	wake := recipe(t, "wake-github.yaml")
	if out, clean := actionlint(t, wake); !clean {
		t.Errorf("docs/ci/wake-github.yaml:\n%s", out)
	}
	var listens struct {
		On struct {
			Dispatch struct{ Types []string } `json:"repository_dispatch"`
		} `json:"on"`
	}
	if err := yaml.Unmarshal(bytes.Replace(recipe(t, "github-actions.yaml"), []byte("\non:\n"), []byte("\n\"on\":\n"), 1), &listens); err != nil {
		t.Fatal(err)
	}
	for _, kind := range listens.On.Dispatch.Types {
		if !bytes.Contains(wake, []byte("event_type="+kind+" ")) {
			t.Errorf("nothing wakes by %s", kind)
		}
	}
	if len(listens.On.Dispatch.Types) != 1 {
		t.Errorf("%v", listens)
	}
	var jobs map[string]struct {
		Rules   []struct{ If string } `json:"rules"`
		Inherit struct{ Variables bool }
		Trigger struct{ Project, Branch string }
	}
	if err := yaml.UnmarshalStrict(recipe(t, "wake-gitlab.yaml"), &jobs); err != nil {
		t.Fatal(err)
	}
	if j := jobs["variform-wake"]; j.Trigger.Project == "" || len(j.Rules) != 1 {
		t.Errorf("%+v", jobs)
	}
}

// The component has the recipe's jobs, with its inputs in place of global variables.
func TestComponent(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(root, "templates", "variform.yml"))
	if err != nil {
		t.Fatal(err)
	}
	head, body, ok := strings.Cut(string(data), "\n---\n")
	var spec struct {
		Spec struct {
			Inputs map[string]struct{ Description, Default string } `json:"inputs"`
		} `json:"spec"`
	}
	if err := yaml.UnmarshalStrict([]byte(head), &spec); err != nil || !ok {
		t.Fatalf("%v, %t", err, ok)
	}
	for name, in := range spec.Spec.Inputs {
		if !strings.Contains(body, "$[[ inputs."+name+" ]]") {
			t.Errorf("input %s is not used", name)
		}
		body = strings.ReplaceAll(body, "$[[ inputs."+name+" ]]", in.Default)
	}
	if strings.Contains(body, "$[[") {
		t.Error("an input is used that is not there")
	}
	var got, want map[string]map[string]any
	if err := yaml.Unmarshal([]byte(body), &got); err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(recipe(t, "gitlab-ci.yaml"), &want); err != nil {
		t.Fatal(err)
	}
	globals := map[string]any{}
	for k, v := range want["variables"] {
		globals[k] = v
	}
	want[".variform"]["variables"] = globals
	delete(want, "variables")
	delete(want, "workflow")
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("docs/ci/gitlab-ci.yaml and templates/variform.yml differ (-want +got):\n%s", d)
	}
}
