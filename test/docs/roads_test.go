package docs

import (
	"bytes"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/variform/variform/test/forgetest"
	"github.com/variform/variform/test/gittest"
)

// roads are the pages that a reader follows from top to bottom: files are
// written where their first line says, commands run in one shell, and what is
// shown below commands is what they print.
var roads = []string{"docs/tutorial.md", "docs/how-to/*.md"}

// part is a block of a road.
type part struct {
	block
	language string
}

var fileName = regexp.MustCompile(`^# (\S+/\S+)\n`)

// others are programs that a machine may lack, where a road calls them.
var others = regexp.MustCompile(`(?m)^(kpt|curl) `)

func TestRoads(t *testing.T) {
	gittest.RequireGit(t)
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("SKIPPED: bash is not on the PATH, so that the roads were not gone")
	}
	for _, pattern := range roads {
		files, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(pattern)))
		if err != nil || len(files) == 0 {
			t.Errorf("%s: no page: %v", pattern, err)
		}
		for _, file := range files {
			t.Run(filepath.Base(file), func(t *testing.T) {
				t.Parallel()
				data, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				for _, m := range others.FindAllSubmatch(data, -1) {
					if _, err := exec.LookPath(string(m[1])); err != nil {
						t.Skipf("SKIPPED: %s is not on the PATH, which this road calls", m[1])
					}
				}
				text := string(data)
				if strings.Contains(text, forgeHost) {
					text = strings.ReplaceAll(text, forgeHost, forge(t))
				}
				if err := walk(bash, t.TempDir(), text); err != nil {
					t.Errorf("%s%v", strings.TrimPrefix(file, root+"/"), err)
				}
			})
		}
	}
}

// forgeHost is the forge of the roads, with one repository, whose main is protected.
const forgeHost = "https://git.example.com"

// forge plays it, and answers its merge button besides what a run asks for.
func forge(t *testing.T) (url string) {
	t.Helper()
	api, git := forgetest.New("gitea", "team/c1"), gittest.NewServer(t)
	repo := git.NewRepo(t, api.Path)
	repo.Commit(t, "main", "Start", gittest.Text{"README.md": "# c1\n"})
	repo.Hook(t, "update", "[ $1 != refs/heads/main ] || { echo protected branch >&2; exit 1; }\n")
	api.Tip = func(branch string) string { return repo.Refs(t)["refs/heads/"+branch] }
	api.Has = func(commit string) bool { return slices.Contains(slices.Collect(maps.Values(repo.Refs(t))), commit) }
	mux := http.NewServeMux()
	mux.Handle("/", git)
	mux.Handle("/api/", api)
	mux.HandleFunc("POST /api/v1/repos/team/c1/pulls/{number}/merge", func(_ http.ResponseWriter, r *http.Request) {
		for _, request := range api.All() {
			if strconv.Itoa(request.Number) == r.PathValue("number") {
				squashed := repo.Git(t, "-c", "user.name=Bob", "-c", "user.email=bob@example.com", "commit-tree", request.Branch+"^{tree}", "-p", request.Base, "-m", request.Title)
				repo.Git(t, "update-ref", "refs/heads/"+request.Base, squashed)
				api.Merge(t, request.Number)
			}
		}
	})
	web := httptest.NewServer(mux)
	t.Cleanup(web.Close)
	api.URL = web.URL
	return web.URL
}

// walk goes one road in an empty folder. A block whose commands are to fail ends
// with "# exit N".
func walk(bash, dir, text string) error {
	home := filepath.Join(dir, "home")
	if err := os.Mkdir(home, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(home, ".gitconfig"), []byte("[user]\n\tname = Rae Viewer\n\temail = rae@example.com\n[init]\n\tdefaultBranch = main\n"), 0o600); err != nil {
		return err
	}
	said, state := "", filepath.Join(home, "state")
	before := ""
	for _, p := range parts(text) {
		last := before
		before = p.language
		switch p.language {
		case "yaml":
			m := fileName.FindStringSubmatch(p.text)
			if m == nil {
				return fmt.Errorf(":%d: its first line names no file", p.line)
			}
			if err := put(bash, dir, state, m[1], p.text); err != nil {
				return fmt.Errorf(":%d: %w", p.line, err)
			}
		case "sh":
			var err error
			if said, err = shell(bash, dir, state, p.text); err != nil {
				return fmt.Errorf(":%d: %w\n%s", p.line, err, said)
			}
		case "text":
			if line := missing(p.text, said); line != "" && last == "sh" { // others need what is not here, such as a cluster
				return fmt.Errorf(":%d: %q is not printed, in this order, but\n%s", p.line, line, said)
			}
		}
	}
	return nil
}

// put writes a file below the shell's folder.
func put(bash, dir, state, name, text string) error {
	out, err := shell(bash, dir, state, fmt.Sprintf("mkdir -p \"$(dirname %[1]s)\" && cat > %[1]s <<'END OF FILE'\n%[2]sEND OF FILE\n", name, text))
	if err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	return nil
}

var exit = regexp.MustCompile(`(?m)^(.*\S) +# exit (\d+)$`)

// shell runs commands where those before them ended, with their functions and
// what they exported.
func shell(bash, dir, state, commands string) (string, error) {
	commands = exit.ReplaceAllString(commands, `{ status=0; $1 || status=$$?; [ $$status = $2 ]; }`)
	cmd := exec.Command(bash, "-eo", "pipefail", "-c", "[ ! -e "+state+" ] || . "+state+"\n"+commands+"\n{ declare -f; export -p; echo cd \"$PWD\"; } > "+state)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HOME="+filepath.Dir(state), "VARIFORM_CACHE_DIR="+filepath.Join(filepath.Dir(state), "cache"),
		"GIT_CONFIG_GLOBAL="+filepath.Join(filepath.Dir(state), ".gitconfig"), "GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0", "NO_COLOR=1")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	return out.String(), err
}

// missing is the first line of what is shown that is not said after those before
// it; "…" stands for anything, and spaces are all alike.
func missing(shown, said string) string {
	lines := strings.Split(said, "\n")
	for line := range strings.Lines(shown) {
		line = strings.TrimSpace(line)
		if line == "" || line == "…" {
			continue
		}
		pattern := strings.ReplaceAll(regexp.QuoteMeta(strings.Join(strings.Fields(line), " ")), "…", ".*")
		want := regexp.MustCompile("^" + pattern + "$")
		for len(lines) > 0 && !want.MatchString(strings.Join(strings.Fields(lines[0]), " ")) {
			lines = lines[1:]
		}
		if len(lines) == 0 {
			return line
		}
		lines = lines[1:]
	}
	return ""
}

func parts(text string) []part {
	var out []part
	open := false
	for i, line := range strings.Split(text, "\n") {
		m := fence.FindStringSubmatch(line)
		switch {
		case !open && m != nil:
			open = true
			out = append(out, part{block{line: i + 2}, m[2]})
		case open && strings.TrimSpace(line) == "```":
			open = false
		case open:
			out[len(out)-1].text += line + "\n"
		}
	}
	return out
}

// TestWalk holds that a road with a fault is found out.
func TestWalk(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("SKIPPED: bash is not on the PATH")
	}
	for text, want := range map[string]string{
		"```sh\nmkdir a && cd a\nf() { echo \"one  $1\"; }\n```\n```yaml\n# b/c.yaml\nd: e\n```\n```sh\ncat b/c.yaml\nf 2\n```\n```text\nd: e\none …\n```\n": "",
		"```sh\nfalse\ntrue\n```\n":                        ":2: exit status 1",
		"```sh\nfalse # exit 1\n```\n":                     "",
		"```sh\ntrue # exit 1\n```\n":                      ":2: exit status 1",
		"```sh\necho b\necho a\n```\n```text\na\nb\n```\n": `:6: "b" is not printed`,
		"```yaml\na: b\n```\n":                             ":2: its first line names no file",
	} {
		got := walk(bash, t.TempDir(), text)
		if (got == nil) != (want == "") || got != nil && !strings.HasPrefix(got.Error(), want) {
			t.Errorf("%q: %v, want %s", text, got, want)
		}
	}
}
