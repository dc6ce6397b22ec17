package ci

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

// sharded is a recipe for so many shards: the script of one, by an index from 0, and of
// what reports on all, with what it says; nil for none.
type sharded struct {
	shards int
	apply  func(w *world, index int) result
	report func(w *world) (result, string)
}

// TestShardRecipes runs the recipes that split a fleet: all shards together make what
// one apply makes, and what they print is joined.
func TestShardRecipes(t *testing.T) {
	for name, read := range map[string]func(*testing.T) sharded{"github": gitHubShards, "gitlab": gitLabShards, "kubernetes": kubernetesShards} {
		t.Run(name, func(t *testing.T) {
			recipe := read(t)
			w := newWorld(t, "oauth2")
			w.env["VARIFORM_FLEET"], w.env["VARIFORM_CACHE_DIR"], w.env["GITHUB_SERVER_URL"] = "fleet", w.home+"/cache", "https://github.com"
			if r := w.bash(`git config --global credential.helper '!f() { if [ "$1" = get ]; then printf "username=oauth2\npassword=%s\n" "$VARIFORM_GIT_TOKEN"; fi; }; f'`, nil); r.status != 0 {
				t.Fatal(r)
			}
			w.env["VARIFORM_GIT_TOKEN"] = gitToken
			made := 0
			for i := range recipe.shards {
				before := len(w.drafts())
				if r := recipe.apply(w, i); r.status != 0 {
					t.Fatalf("shard %d of %d: status %d:\n%s%s", i+1, recipe.shards, r.status, r.out, r.err)
				}
				made += len(w.drafts()) - before
			}
			if d := cmp.Diff([]string{"c1 web", "c2 web"}, w.drafts()); d != "" || made != 2 {
				t.Errorf("%d Drafts made (-want +got):\n%s", made, d)
			}
			if recipe.report == nil {
				return
			}
			if r, text := recipe.report(w); r.status != 0 || !strings.Contains(text, "2 variants: 2 created") {
				t.Errorf("status %d:\n%s%s%s", r.status, text, r.out, r.err)
			}
		})
	}
}

func decoded(t *testing.T, name string, into any) {
	t.Helper()
	if err := yaml.Unmarshal(recipe(t, name), into); err != nil {
		t.Fatalf("docs/ci/%s: %v", name, err)
	}
}

func gitHubShards(t *testing.T) sharded {
	data := recipe(t, "shards-github.yaml")
	if out, clean := actionlint(t, data); !clean {
		t.Errorf("docs/ci/shards-github.yaml:\n%s", out)
	}
	var w struct {
		Jobs map[string]struct {
			Strategy struct{ Matrix struct{ Shard []int } }
			Steps    []struct {
				Name, Uses, Run string
				Env             map[string]string
			}
		}
	}
	decoded(t, "shards-github.yaml", &w)
	script := func(job, step string) string {
		for _, s := range w.Jobs[job].Steps {
			plainScript(t, s.Name, s.Run)
			if s.Uses != "" && !pinned.MatchString(s.Uses) {
				t.Errorf("%s is not pinned to a commit", s.Uses)
			}
			if s.Name == step {
				return strings.ReplaceAll(s.Run, "gh auth setup-git\n", "")
			}
		}
		t.Fatalf("no step %s", step)
		return ""
	}
	n := len(w.Jobs["apply"].Strategy.Matrix.Shard)
	apply, report := script("apply", "Apply"), script("report", "Report")
	return sharded{n, func(w *world, i int) result {
		return w.bash(apply, map[string]string{"SHARD": fmt.Sprint(i), "SHARDS": fmt.Sprint(n)})
	}, func(w *world) (result, string) {
		r := w.bash(report, map[string]string{"GITHUB_STEP_SUMMARY": w.home + "/summary"})
		data, _ := os.ReadFile(w.home + "/summary")
		return r, string(data)
	}}
}

func gitLabShards(t *testing.T) sharded {
	var jobs map[string]struct {
		Extends  string
		Parallel int
		Script   []string
	}
	decoded(t, "shards-gitlab.yaml", &jobs)
	known := readGitLab(t).jobs
	for _, name := range slices.Sorted(maps.Keys(jobs)) {
		if _, ok := known[jobs[name].Extends]; !ok {
			t.Errorf("%s extends %q", name, jobs[name].Extends)
		}
		for _, s := range jobs[name].Script {
			plainScript(t, name, s)
		}
	}
	n := jobs["variform-apply"].Parallel
	return sharded{n, func(w *world, i int) result {
		return w.bash(strings.Join(jobs["variform-apply"].Script, "\n"), map[string]string{"CI_NODE_INDEX": fmt.Sprint(i + 1), "CI_NODE_TOTAL": fmt.Sprint(n)})
	}, func(w *world) (result, string) {
		r := w.bash(strings.Join(jobs["variform-report"].Script, "\n"), nil)
		return r, r.out
	}}
}

func kubernetesShards(t *testing.T) sharded {
	var job struct {
		Spec struct {
			CompletionMode           string
			Completions, Parallelism int
			Template                 struct {
				Spec struct {
					Containers []struct {
						Command []string
						Env     []struct{ Name, Value string }
					}
				}
			}
		}
	}
	decoded(t, "shards-kubernetes.yaml", &job)
	c := job.Spec.Template.Spec.Containers[0]
	if job.Spec.CompletionMode != "Indexed" || len(c.Command) != 3 {
		t.Fatalf("%+v", job)
	}
	return sharded{job.Spec.Completions, func(w *world, i int) result {
		env := map[string]string{"JOB_COMPLETION_INDEX": fmt.Sprint(i)}
		for _, e := range c.Env {
			if e.Name == "SHARDS" {
				env[e.Name] = e.Value
			}
		}
		return w.bash(c.Command[2], env)
	}, nil}
}
