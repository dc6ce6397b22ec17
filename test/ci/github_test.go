package ci

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

// workflow is what the tests read of a GitHub workflow.
type workflow struct {
	Permissions map[string]string
	Env         map[string]string
	Jobs        map[string]struct {
		If          string
		Permissions map[string]string
		Concurrency map[string]any
		Steps       []struct {
			Name, ID, If, Uses, Run, Shell string
			Env                            map[string]string
			With                           map[string]any
		}
	}
}

func readWorkflow(t *testing.T) workflow {
	t.Helper()
	var w workflow
	if err := yaml.Unmarshal(recipe(t, "github-actions.yaml"), &w); err != nil {
		t.Fatal(err)
	}
	return w
}

// actionlint runs the linter, a module of its own, over a workflow.
func actionlint(t *testing.T, workflow []byte) (output string, clean bool) {
	t.Helper()
	cmd := exec.Command("go", "tool", "actionlint", "-no-color", "-stdin-filename", "workflow.yaml", "-")
	cmd.Dir = filepath.Join(root, "internal", "tools", "actionlint")
	cmd.Stdin = bytes.NewReader(workflow)
	out, err := cmd.CombinedOutput()
	if err == nil {
		return string(out), true
	}
	var exit *exec.ExitError
	if !errors.As(err, &exit) || !bytes.Contains(out, []byte("workflow.yaml:")) {
		t.Skipf("SKIPPED: actionlint cannot be built here, so that the GitHub recipe was not linted: %v\n%s", err, out)
	}
	return string(out), false
}

func TestGitHubLint(t *testing.T) {
	data := recipe(t, "github-actions.yaml")
	if out, clean := actionlint(t, data); !clean {
		t.Errorf("docs/ci/github-actions.yaml:\n%s", out)
	}
	for old, bad := range map[string]string{
		"steps.plan.outputs.status": "steps.plan.output.status",
		"pull-requests: write":      "pull-request: write",
		"runs-on: ubuntu-24.04":     "runs-on: ubuntu-4",
	} {
		if out, clean := actionlint(t, bytes.ReplaceAll(data, []byte(old), []byte(bad))); clean {
			t.Errorf("%q for %q goes unseen: %s", bad, old, out)
		}
	}
}

var pinned = regexp.MustCompile(`^[a-z-]+/[a-z-]+@[0-9a-f]{40}$`)

func TestGitHubPermissions(t *testing.T) {
	w := readWorkflow(t)
	if len(w.Permissions) != 0 {
		t.Errorf("all jobs have %v", w.Permissions)
	}
	have, apps := map[string]map[string]string{}, map[string]any{}
	for name, job := range w.Jobs {
		have[name] = job.Permissions
		for _, s := range job.Steps {
			plainScript(t, name+" "+s.Name, s.Run)
			if s.Uses != "" && !pinned.MatchString(s.Uses) {
				t.Errorf("%s: %s is not pinned to a commit", name, s.Uses)
			}
			if strings.HasPrefix(s.Uses, "actions/checkout@") && s.With["persist-credentials"] != false {
				t.Errorf("%s: the checkout leaves its token in the folder", name)
			}
			for k, v := range s.With {
				if strings.HasPrefix(k, "permission-") {
					apps[name+" "+k] = v
				}
			}
		}
	}
	wantJobs := map[string]map[string]string{
		"plan": {"contents": "read", "pull-requests": "write"}, "apply": {"contents": "read"}, "drift": {"contents": "read"},
	}
	wantApps := map[string]any{
		"plan permission-contents": "read", "drift permission-contents": "read", "apply permission-contents": "write",
		"apply permission-issues": "write", "apply permission-pull-requests": "write", "apply permission-statuses": "write",
	}
	if d := cmp.Diff(wantJobs, have) + cmp.Diff(wantApps, apps); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// comment is one of GitHub's.
type comment struct {
	ID   int               `json:"id"`
	User map[string]string `json:"user"`
	Body string            `json:"body"`
}

// gh plays the parts of GitHub's command that the recipe uses: it hands its
// token to Git as the real one does, and keeps comments in the file GH_COMMENTS.
func gh(args []string) int {
	if err := ghCommand(args); err != nil {
		fmt.Fprintln(os.Stderr, "gh:", err)
		return 1
	}
	return 0
}

func ghCommand(args []string) error {
	switch strings.Join(args[:min(2, len(args))], " ") {
	case "auth setup-git":
		return exec.Command("git", "config", "--global", "credential."+os.Getenv("GITHUB_SERVER_URL")+".helper", "!gh auth git-credential").Run()
	case "auth git-credential":
		if args[2] == "get" {
			fmt.Printf("username=x-access-token\npassword=%s\n", os.Getenv("GH_TOKEN"))
		}
		return nil
	}
	if args[0] != "api" || os.Getenv("GH_TOKEN") != commentToken {
		return fmt.Errorf("%v with token %q", args, os.Getenv("GH_TOKEN"))
	}
	method, endpoint, query, body := "GET", "", "", ""
	for i := 1; i < len(args); i++ {
		switch a := args[i]; a {
		case "--paginate", "--silent":
		case "--method", "--jq", "-F":
			i++
			switch a {
			case "--method":
				method = args[i]
			case "--jq":
				query = args[i]
			default:
				data, err := os.ReadFile(strings.TrimPrefix(args[i], "body=@"))
				if err != nil {
					return err
				}
				body = string(data)
			}
		default:
			endpoint = a
		}
	}
	return ghComments(method, endpoint, query, body)
}

func ghComments(method, endpoint, query, body string) error {
	file := os.Getenv("GH_COMMENTS")
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var list []comment
	if err := json.Unmarshal(data, &list); err != nil {
		return err
	}
	const all = "repos/acme/fleet/issues/7/comments"
	switch {
	case method == "GET" && endpoint == all:
		jq := exec.Command("jq", "-r", query)
		jq.Stdin, jq.Stdout, jq.Stderr = bytes.NewReader(data), os.Stdout, os.Stderr
		return jq.Run()
	case method == "POST" && endpoint == all:
		list = append(list, comment{ID: 1000 + len(list), User: map[string]string{"login": "github-actions[bot]"}, Body: body})
	case method == "PATCH":
		found := false
		for i := range list {
			if endpoint == fmt.Sprintf("repos/acme/fleet/issues/comments/%d", list[i].ID) && list[i].User["login"] == "github-actions[bot]" {
				list[i].Body, found = body, true
			}
		}
		if !found {
			return errors.New("HTTP 403")
		}
	default:
		return fmt.Errorf("%s %s: HTTP 404", method, endpoint)
	}
	if data, err = json.Marshal(list); err != nil {
		return err
	}
	return os.WriteFile(file, data, 0o644)
}

var expression = regexp.MustCompile(`\$\{\{ (.+?) \}\}`)

// job runs the scripts of a job as they stand, one process each, until one fails.
func (w *world) job(name string, values map[string]string) result {
	w.t.Helper()
	flow := readWorkflow(w.t)
	fill := func(env map[string]string) map[string]string {
		out := map[string]string{}
		for k, v := range env {
			out[k] = expression.ReplaceAllStringFunc(v, func(e string) string {
				value, ok := values[expression.FindStringSubmatch(e)[1]]
				if !ok {
					w.t.Errorf("%s: no value for %s", name, e)
				}
				return value
			})
		}
		return out
	}
	env := fill(flow.Env)
	env["GITHUB_OUTPUT"] = filepath.Join(w.home, "output")
	env["GITHUB_STEP_SUMMARY"] = filepath.Join(w.home, "summary")
	var all result
	for _, s := range flow.Jobs[name].Steps {
		if s.Run == "" || s.Name == "Install" { // nothing is published that it could install
			continue
		}
		if value, ok := values[s.If]; s.If != "" && !ok {
			w.t.Fatalf("%s: no value for %s", name, s.If)
		} else if value == "false" {
			continue
		}
		merged := fill(s.Env)
		for k, v := range env {
			merged[k] = v
		}
		if err := os.WriteFile(env["GITHUB_OUTPUT"], nil, 0o644); err != nil {
			w.t.Fatal(err)
		}
		r := w.bash(s.Run, merged)
		all = result{r.status, all.out + r.out, all.err + r.err}
		data, err := os.ReadFile(env["GITHUB_OUTPUT"])
		if err != nil {
			w.t.Fatal(err)
		}
		for _, line := range strings.Fields(string(data)) {
			k, v, _ := strings.Cut(line, "=")
			values["steps."+s.ID+".outputs."+k] = v
		}
		if r.status != 0 {
			break
		}
	}
	return all
}

// ownRepository is the condition that tells pull requests from forks apart.
const ownRepository = "github.event.pull_request.head.repo.full_name == github.repository"

func TestGitHubRecipe(t *testing.T) {
	need(t, "jq")
	w := newWorld(t, "x-access-token")
	w.env["GITHUB_SERVER_URL"], w.env["GITHUB_REPOSITORY"] = w.srv.URL, "acme/fleet"
	w.env["GH_COMMENTS"] = filepath.Join(w.home, "comments.json")
	foreign := []comment{{1, map[string]string{"login": "ann"}, marker + "a forgery"}, {2, map[string]string{"login": "github-actions[bot]"}, "another job's"}}
	data, err := json.Marshal(foreign)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(w.env["GH_COMMENTS"], data, 0o644); err != nil {
		t.Fatal(err)
	}
	var annotations string
	own := "true"
	run := func(name string) func() result {
		return func() result {
			r := w.job(name, map[string]string{
				"github.workspace": w.dir, "github.token": commentToken, "github.event.pull_request.number": "7",
				"steps.token.outputs.token": gitToken, "steps.token.outputs.token || github.token": gitToken, ownRepository: own,
			})
			annotations = r.out
			return r
		}
	}
	comments := func() []string {
		data, err := os.ReadFile(w.env["GH_COMMENTS"])
		if err != nil {
			t.Fatal(err)
		}
		var list []comment
		if err := json.Unmarshal(data, &list); err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, c := range list {
			out = append(out, c.Body)
		}
		return out
	}
	own = "false"
	if r := run("plan")(); r.status != 0 || len(comments()) != len(foreign) {
		t.Errorf("from a fork: status %d, %d comments\n%s%s", r.status, len(comments()), r.out, r.err)
	}
	own = "true"
	w.story(platform{
		plan: run("plan"), apply: run("apply"), drift: run("drift"), comments: comments,
		shows: func() string { return annotations },
	})
	summary, err := os.ReadFile(filepath.Join(w.home, "summary"))
	if err != nil || !bytes.Contains(summary, []byte("### Variform plan")) || !bytes.Contains(summary, []byte("### Variform apply")) {
		t.Errorf("the summary of the job: %v\n%s", err, summary)
	}
}
