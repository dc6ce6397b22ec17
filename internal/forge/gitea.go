package forge

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/variform/variform/internal/pulls"
)

// Gitea's and Forgejo's API, version 1, as their servers describe it (/api/swagger).
var gitea = kind{
	name:  Gitea,
	hosts: map[string]string{"codeberg.org": "codeberg.org", "gitea.com": "gitea.com"},
	api:   func(root *url.URL) *url.URL { return root.JoinPath("api", "v1") },
	repo:  reposOf,
	sign: func(r *http.Request, user, password string) {
		switch {
		case user != "":
			r.SetBasicAuth(user, password)
		case password != "":
			r.Header.Set("Authorization", "token "+password)
		}
	},
	tokens:      []token{{name: "GITEA_TOKEN", servers: []string{"GITEA_SERVER_URL"}}},
	needs:       "to read and write repositories and issues",
	ownersFiles: []string{"CODEOWNERS", "docs/CODEOWNERS", ".gitea/CODEOWNERS", ".forgejo/CODEOWNERS"},
	ownersRules: giteaOwners,
	adapter:     func(c *conn) pulls.Forge { return &giteaRepo{c} },
}

type giteaRepo struct{ *conn }

type giteaBranch struct {
	Ref    string `json:"ref"`
	SHA    string `json:"sha"`
	RepoID int64  `json:"repo_id"`
}

type giteaPull struct {
	Number  int         `json:"number"`
	HTMLURL string      `json:"html_url"`
	Title   string      `json:"title"`
	Body    string      `json:"body"`
	State   string      `json:"state"`
	Merged  bool        `json:"merged"`
	Draft   bool        `json:"draft"`
	Head    giteaBranch `json:"head"`
	Base    giteaBranch `json:"base"`
	User    struct {
		Login string `json:"login"`
	} `json:"user"`
}

// giteaDraft makes a draft of what is called so, where nothing else is configured.
const giteaDraft = "WIP:"

func (p *giteaPull) open() pulls.Open {
	return pulls.Open{
		Number: p.Number, URL: p.HTMLURL, Branch: p.Head.Ref, Commit: p.Head.SHA,
		Title: undraft(p.Title, p.Draft, giteaDraft, "[WIP]"), Draft: p.Draft, Body: plain(p.Body),
		Author: p.User.Login, Closed: p.State == "closed" && !p.Merged, Merged: p.Merged,
	}
}

// Requests implements pulls.Forge.
func (g *giteaRepo) Requests(ctx context.Context, base string) ([]pulls.Open, error) {
	return both("open", "closed", func(state string, from, most int) ([]pulls.Open, error) {
		return g.requests(ctx, base, state, from, most)
	})
}

// Older implements pulls.Forge.
func (g *giteaRepo) Older(ctx context.Context, base string) ([]pulls.Open, error) {
	return g.requests(ctx, base, "closed", 2, olderPages)
}

func (g *giteaRepo) requests(ctx context.Context, base, state string, from, most int) (out []pulls.Open, err error) {
	q := url.Values{"page": {strconv.Itoa(from)}, "state": {state}, "base_branch": {base}, "sort": {"recentupdate"}, "limit": {"50"}}
	all, err := list[giteaPull](ctx, g.conn, "pulls", q, most)
	for i := range all { // older servers filter nothing
		if p := &all[i]; p.Base.Ref == base && p.Head.RepoID == p.Base.RepoID {
			out = append(out, p.open())
		}
	}
	return out, err
}

// Open implements pulls.Forge.
func (g *giteaRepo) Open(ctx context.Context, base, branch string, c pulls.Content) (pulls.Open, error) {
	people, groups := teams(c.Reviewers)
	labels, err := g.labels(ctx, c.Labels)
	if err != nil {
		return pulls.Open{}, err
	}
	var p giteaPull
	err = g.call(ctx, http.MethodPost, "pulls", map[string]any{
		"base": base, "head": branch, "title": drafted(c.Title, c.Draft, giteaDraft), "body": c.Body,
		"labels": labels, "assignees": c.Assignees, "reviewers": people, "team_reviewers": groups,
	}, &p)
	var e *Error
	if errors.As(err, &e) && e.Status == http.StatusConflict {
		return already(ctx, g, base, branch, err)
	}
	if err != nil {
		return p.open(), err
	}
	return g.first(ctx, base, p.open())
}

// first is the first open request of a branch: Gitea opens two for runs that ask in the
// same moment, and the later one is closed, by whoever sees both: the first may be there
// only after the later one. Without its mark nobody turned it down.
func (g *giteaRepo) first(ctx context.Context, base string, made pulls.Open) (pulls.Open, error) {
	open, err := g.requests(ctx, base, "open", 1, 1) // those that moved last
	if err != nil {
		return made, err
	}
	first, later := made, []pulls.Open(nil)
	for _, o := range open {
		switch {
		case o.Branch != made.Branch || o.Number == made.Number:
		case o.Number < first.Number:
			first, later = o, append(later, first)
		default:
			later = append(later, o)
		}
	}
	for _, o := range later {
		err = errors.Join(err, g.Close(ctx, o.Number, "", fmt.Sprintf("Variform closes this: another run opened #%d of the same branch.", first.Number)))
	}
	return first, err
}

// labels are the numbers of labels, which are made where they are missing.
func (g *giteaRepo) labels(ctx context.Context, names []string) ([]int64, error) {
	type label struct {
		ID   int64  `json:"id"`
		Name string `json:"name"`
	}
	if len(names) == 0 {
		return nil, nil
	}
	there, err := list[label](ctx, g.conn, "labels", url.Values{"limit": {"50"}}, maxPages)
	if err != nil {
		return nil, err
	}
	var out []int64
	for _, name := range names {
		i := slices.IndexFunc(there, func(l label) bool { return l.Name == name })
		if i < 0 {
			var made label
			if err := g.call(ctx, http.MethodPost, "labels", map[string]any{"name": name, "color": "#ededed"}, &made); err != nil {
				return nil, err
			}
			i, there = len(there), append(there, made)
		}
		out = append(out, there[i].ID)
	}
	return out, nil
}

// Update implements pulls.Forge.
func (g *giteaRepo) Update(ctx context.Context, o pulls.Open, title, body string) error {
	return g.soon(ctx, func() error {
		return g.call(ctx, http.MethodPatch, fmt.Sprintf("pulls/%d", o.Number), map[string]any{"title": drafted(title, o.Draft, giteaDraft), "body": body}, nil)
	})
}

// AutoMerge implements pulls.Forge. The branch goes where the repository says so.
func (g *giteaRepo) AutoMerge(ctx context.Context, o pulls.Open, style string) error {
	err := g.soon(ctx, func() error {
		return g.call(ctx, http.MethodPost, fmt.Sprintf("pulls/%d/merge", o.Number), map[string]any{"Do": style, "merge_when_checks_succeed": true, "head_commit_id": o.Commit}, nil)
	})
	if refuses(err, http.StatusConflict, "already scheduled") {
		return nil
	}
	return err
}

// Close implements pulls.Forge.
func (g *giteaRepo) Close(ctx context.Context, number int, body, why string) error {
	return closeAsIssue(ctx, g.conn, number, body, why)
}

// Status implements pulls.Forge.
func (g *giteaRepo) Status(ctx context.Context, commit string, s pulls.Status) error {
	const most = 255 // as much as is shown
	return setStatus(ctx, g.conn, commit, s, most)
}
