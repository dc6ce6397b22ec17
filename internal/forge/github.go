package forge

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/variform/variform/internal/pulls"
)

// tenants are the hosts of GitHub's customers with data residency.
const tenants = ".ghe.com"

// GitHub's REST API, version 2022-11-28: of github.com, of its customers' own hosts
// there, and of GitHub Enterprise Server.
var github = kind{
	name:  GitHub,
	hosts: map[string]string{"github.com": "github.com", "ssh.github.com": "github.com", "www.github.com": "github.com"},
	api: func(root *url.URL) *url.URL {
		if host := strings.ToLower(root.Hostname()); root.Scheme == "https" && root.Port() == "" && (host == "github.com" || strings.HasSuffix(host, tenants)) {
			return &url.URL{Scheme: "https", Host: "api." + host, Path: "/"}
		}
		return root.JoinPath("api", "v3")
	},
	repo: reposOf,
	sign: func(r *http.Request, user, password string) {
		r.Header.Set("Accept", "application/vnd.github+json")
		r.Header.Set("X-GitHub-Api-Version", "2022-11-28")
		bearer(r, user, password)
	},
	tokens: []token{
		{name: "GH_TOKEN", servers: []string{"GH_HOST", "GITHUB_SERVER_URL"}, server: "https://github.com"},
		{name: "GITHUB_TOKEN", servers: []string{"GITHUB_SERVER_URL", "GH_HOST"}, server: "https://github.com"},
	},
	needs:       "the permissions pull requests, issues, commit statuses and contents to write (a classic one: repo)",
	advice:      "GitHub Actions' own GITHUB_TOKEN sees its own repository only",
	ownersFiles: []string{".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS"},
	ownersRules: githubOwners,
	adapter:     func(c *conn) pulls.Forge { return &githubRepo{c} },
}

type githubRepo struct{ *conn }

type githubBranch struct {
	Ref  string `json:"ref"`
	SHA  string `json:"sha"`
	Repo *struct {
		ID int64 `json:"id"`
	} `json:"repo"` // none where it is gone
}

type githubPull struct {
	Number   int          `json:"number"`
	HTMLURL  string       `json:"html_url"`
	Title    string       `json:"title"`
	Body     string       `json:"body"`
	State    string       `json:"state"`
	MergedAt string       `json:"merged_at"`
	Draft    bool         `json:"draft"`
	Head     githubBranch `json:"head"`
	Base     githubBranch `json:"base"`
	User     struct {
		Login string `json:"login"`
	} `json:"user"`
}

func (p *githubPull) open() pulls.Open {
	merged := p.MergedAt != ""
	return pulls.Open{
		Number: p.Number, URL: p.HTMLURL, Branch: p.Head.Ref, Commit: p.Head.SHA, Title: p.Title, Draft: p.Draft, Body: plain(p.Body),
		Author: p.User.Login, Closed: p.State == "closed" && !merged, Merged: merged,
	}
}

func (p *githubPull) own() bool {
	return p.Head.Repo != nil && p.Base.Repo != nil && p.Head.Repo.ID == p.Base.Repo.ID
}

// Requests implements pulls.Forge.
func (g *githubRepo) Requests(ctx context.Context, base string) ([]pulls.Open, error) {
	return both("open", "closed", func(state string, from, most int) ([]pulls.Open, error) {
		return g.requests(ctx, base, state, from, most)
	})
}

// Older implements pulls.Forge.
func (g *githubRepo) Older(ctx context.Context, base string) ([]pulls.Open, error) {
	return g.requests(ctx, base, "closed", 2, olderPages)
}

func (g *githubRepo) requests(ctx context.Context, base, state string, from, most int) (out []pulls.Open, err error) {
	q := url.Values{"page": {strconv.Itoa(from)}, "state": {state}, "base": {base}, "sort": {"updated"}, "direction": {"desc"}, "per_page": {"100"}}
	all, err := list[githubPull](ctx, g.conn, "pulls", q, most)
	for i := range all {
		if p := &all[i]; p.own() {
			out = append(out, p.open())
		}
	}
	return out, err
}

// Open implements pulls.Forge.
func (g *githubRepo) Open(ctx context.Context, base, branch string, c pulls.Content) (pulls.Open, error) {
	var p githubPull
	err := g.call(ctx, http.MethodPost, "pulls", map[string]any{"base": base, "head": branch, "title": c.Title, "body": c.Body, "draft": c.Draft}, &p)
	switch {
	case refuses(err, http.StatusUnprocessableEntity, "a pull request already exists"):
		return already(ctx, g, base, branch, err)
	case refuses(err, http.StatusUnprocessableEntity, "no commits between"):
		return pulls.Open{}, pulls.ErrNothing
	case err != nil:
		return pulls.Open{}, err
	}
	people, groups := teams(c.Reviewers)
	for _, more := range []struct {
		path string
		body map[string][]string
	}{
		{"issues/%d/labels", map[string][]string{"labels": c.Labels}},
		{"issues/%d/assignees", map[string][]string{"assignees": c.Assignees}},
		{"pulls/%d/requested_reviewers", map[string][]string{"reviewers": people, "team_reviewers": groups}},
	} {
		for key, names := range more.body {
			if len(names) == 0 {
				delete(more.body, key)
			}
		}
		if len(more.body) == 0 {
			continue
		}
		if err := g.call(ctx, http.MethodPost, fmt.Sprintf(more.path, p.Number), more.body, nil); err != nil {
			return p.open(), fmt.Errorf("it is open, and the rest is to be done by hand: %w", err)
		}
	}
	return p.open(), nil
}

// Update implements pulls.Forge.
func (g *githubRepo) Update(ctx context.Context, o pulls.Open, title, body string) error {
	return g.call(ctx, http.MethodPatch, fmt.Sprintf("pulls/%d", o.Number), map[string]any{"title": title, "body": body}, nil)
}

// AutoMerge implements pulls.Forge. GitHub's REST API cannot, its GraphQL can; and that
// refuses a request that nothing stands in the way of, which is merged then.
func (g *githubRepo) AutoMerge(ctx context.Context, o pulls.Open, style string) error {
	at := fmt.Sprintf("pulls/%d", o.Number)
	var p struct {
		NodeID string `json:"node_id"`
	}
	if err := g.call(ctx, http.MethodGet, at, nil, &p); err != nil {
		return err
	}
	var said struct {
		Errors []struct {
			Message string `json:"message"`
		} `json:"errors"`
	}
	err := g.call(ctx, http.MethodPost, graphql, map[string]any{
		"query": "mutation($in: EnablePullRequestAutoMergeInput!) { enablePullRequestAutoMerge(input: $in) { clientMutationId } }",
		"variables": map[string]any{"in": map[string]any{
			"pullRequestId": p.NodeID, "mergeMethod": strings.ToUpper(style), "expectedHeadOid": o.Commit,
		}},
	}, &said)
	switch {
	case err != nil || len(said.Errors) == 0:
		return err
	case strings.Contains(said.Errors[0].Message, "clean status"):
		return g.call(ctx, http.MethodPut, at+"/merge", map[string]any{"merge_method": style, "sha": o.Commit}, nil)
	}
	return &Error{
		Method: http.MethodPost, What: g.shown(graphql), Status: http.StatusOK, Says: oneLine(said.Errors[0].Message, 300),
		Help: "the repository's settings have to allow auto-merge and this style, and a token needs " + g.kind.needs,
	}
}

// Close implements pulls.Forge.
func (g *githubRepo) Close(ctx context.Context, number int, body, why string) error {
	return closeAsIssue(ctx, g.conn, number, body, why)
}

// Status implements pulls.Forge.
func (g *githubRepo) Status(ctx context.Context, commit string, s pulls.Status) error {
	const most = 140 // it takes no more
	return setStatus(ctx, g.conn, commit, s, most)
}
