package ci

import (
	"encoding/json"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// gitlabJob has the keywords of GitLab's jobs that the recipe uses; any other
// is a slip of the pen.
type gitlabJob struct {
	Extends       string                `json:"extends"`
	Image         string                `json:"image"`
	Timeout       string                `json:"timeout"`
	Interruptible bool                  `json:"interruptible"`
	ResourceGroup string                `json:"resource_group"`
	BeforeScript  []string              `json:"before_script"`
	Script        []string              `json:"script"`
	Variables     map[string]string     `json:"variables"`
	Rules         []struct{ If string } `json:"rules"`
	Cache         struct {
		Key   string   `json:"key"`
		Paths []string `json:"paths"`
	} `json:"cache"`
	Artifacts struct {
		When    string            `json:"when"`
		Paths   []string          `json:"paths"`
		Reports map[string]string `json:"reports"`
	} `json:"artifacts"`
}

type gitlabCI struct {
	variables map[string]string
	jobs      map[string]gitlabJob
}

func readGitLab(t *testing.T) gitlabCI {
	t.Helper()
	var raw map[string]json.RawMessage
	if err := yaml.Unmarshal(recipe(t, "gitlab-ci.yaml"), &raw); err != nil {
		t.Fatal(err)
	}
	out := gitlabCI{jobs: map[string]gitlabJob{}}
	for name, data := range raw {
		var err error
		switch name {
		case "workflow":
			err = yaml.UnmarshalStrict(data, &struct{ Rules []struct{ If string } }{})
		case "variables":
			err = yaml.UnmarshalStrict(data, &out.variables)
		default:
			var job gitlabJob
			err = yaml.UnmarshalStrict(data, &job)
			out.jobs[name] = job
		}
		if err != nil {
			t.Errorf("docs/ci/gitlab-ci.yaml: %s: %v", name, err)
		}
	}
	return out
}

var byDigest = regexp.MustCompile(`^[a-z./-]+:[a-z0-9.-]+@sha256:[0-9a-f]{64}$`)

func TestGitLabStructure(t *testing.T) {
	ci := readGitLab(t)
	for name, job := range ci.jobs {
		if image := job.Image + ci.jobs[job.Extends].Image; !byDigest.MatchString(image) {
			t.Errorf("%s: image %q is not named by tag and digest", name, image)
		}
		for _, script := range slices.Concat(job.BeforeScript, job.Script) {
			plainScript(t, name, script)
		}
		if strings.HasPrefix(name, ".") {
			continue
		}
		if _, ok := ci.jobs[job.Extends]; !ok || len(job.Script) == 0 || len(job.Rules) != 1 {
			t.Errorf("%s: extends %q, %d scripts, %d rules", name, job.Extends, len(job.Script), len(job.Rules))
		}
		token, want := job.Variables["VARIFORM_GIT_TOKEN"], "$VARIFORM_READ_TOKEN"
		if name == "variform-apply" {
			want = "$VARIFORM_WRITE_TOKEN"
			if job.ResourceGroup == "" || job.Interruptible {
				t.Error("two runs of apply may overlap, or one may be cut")
			}
		}
		if token != want {
			t.Errorf("%s has %s, want %s", name, token, want)
		}
	}
	base := ci.jobs[".variform"]
	if cache := os.Expand(ci.variables["VARIFORM_CACHE_DIR"], func(string) string { return "" }); !slices.Contains(base.Cache.Paths, strings.TrimPrefix(cache, "/")) {
		t.Errorf("the cache in %s is not kept: %v", cache, base.Cache.Paths)
	}
}

func TestGitLabRecipe(t *testing.T) {
	need(t, "curl", "jq")
	ci := readGitLab(t)
	w := newWorld(t, "oauth2")
	f := newForge(t, "Private-Token", commentToken, func(f *forge, mux *http.ServeMux) {
		const notes = "/api/v4/projects/12/merge_requests/7/notes"
		mux.HandleFunc("GET /api/v4/user", func(w http.ResponseWriter, _ *http.Request) { _ = json.NewEncoder(w).Encode(map[string]int{"id": us}) })
		mux.HandleFunc("GET "+notes, f.list)
		mux.HandleFunc("POST "+notes, func(w http.ResponseWriter, r *http.Request) { f.write(w, r, r.FormValue("body")) })
		mux.HandleFunc("PUT "+notes+"/{id}", func(w http.ResponseWriter, r *http.Request) { f.write(w, r, r.FormValue("body")) })
	})
	f.notes[3].Body = marker + "a forgery"
	given := map[string]string{
		"CI_PROJECT_DIR": w.dir, "CI_SERVER_URL": w.srv.URL, "CI_API_V4_URL": f.URL + "/api/v4", "CI_PROJECT_ID": "12", "CI_MERGE_REQUEST_IID": "7",
		"VARIFORM_READ_TOKEN": gitToken, "VARIFORM_WRITE_TOKEN": gitToken, "VARIFORM_COMMENT_TOKEN": commentToken,
	}
	run := func(name string) func() result {
		return func() result {
			job := ci.jobs[name]
			env := map[string]string{}
			for _, vars := range []map[string]string{ci.variables, job.Variables} {
				for k, v := range vars {
					env[k] = os.Expand(v, func(name string) string { return given[name] })
				}
			}
			for k, v := range given {
				env[k] = v
			}
			var script []string
			for _, s := range slices.Concat(ci.jobs[job.Extends].BeforeScript, job.Script) {
				if !strings.HasPrefix(s, "apt-get ") && !strings.HasPrefix(s, "go install ") { // nothing is published that it could install
					script = append(script, s)
				}
			}
			_ = os.Remove(w.dir + "/gl-code-quality-report.json") // a job begins without
			return w.bash(strings.Join(script, "\n"), env)
		}
	}
	w.story(platform{
		plan: run("variform-plan"), apply: run("variform-apply"), drift: run("variform-drift"), comments: f.bodies,
		shows: func() string { return w.read("gl-code-quality-report.json") },
	})

	// Without a token for comments the report and the status are all there is.
	delete(given, "VARIFORM_COMMENT_TOKEN")
	if err := os.Rename(w.dir+"/gone", w.dir+"/fleet"); err != nil {
		t.Fatal(err)
	}
	before := f.bodies()
	if r := run("variform-plan")(); r.status != 0 || !slices.Equal(before, f.bodies()) {
		t.Errorf("status %d:\n%s%s", r.status, r.out, r.err)
	}
}
