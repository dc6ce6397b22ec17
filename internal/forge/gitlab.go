package forge

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/variform/variform/api/variform/v1alpha1"
	"github.com/variform/variform/internal/pulls"
)

// GitLab's REST API, version 4.
var gitlab = kind{
	name:  GitLab,
	hosts: map[string]string{"gitlab.com": "gitlab.com", "altssh.gitlab.com": "gitlab.com"},
	under: true,
	api:   func(root *url.URL) *url.URL { return root.JoinPath("api", "v4") },
	repo:  func(path string) string { return "projects/" + url.PathEscape(path) },
	sign:  bearer,
	tokens: []token{
		{name: "GITLAB_TOKEN", servers: []string{"GITLAB_HOST", "CI_SERVER_URL"}, server: "https://gitlab.com"},
	},
	needs:       "the scope api, and the role Developer in the project",
	advice:      "A job's own CI_JOB_TOKEN can open no merge requests: give it a project's or a group's access token",
	ownersFiles: []string{"CODEOWNERS", "docs/CODEOWNERS", ".gitlab/CODEOWNERS"},
	ownersRules: gitlabOwners,
	adapter:     func(c *conn) pulls.Forge { return &gitlabProject{c} },
}

type gitlabProject struct{ *conn }

type gitlabRequest struct {
	IID          int    `json:"iid"`
	WebURL       string `json:"web_url"`
	Title        string `json:"title"`
	Description  string `json:"description"`
	State        string `json:"state"` // opened, locked while it is merged, closed, merged
	Draft        bool   `json:"draft"`
	SourceBranch string `json:"source_branch"`
	TargetBranch string `json:"target_branch"`
	Source       int64  `json:"source_project_id"`
	Target       int64  `json:"target_project_id"`
	SHA          string `json:"sha"`
	Author       struct {
		Username string `json:"username"`
	} `json:"author"`
}

const gitlabDraft = "Draft:"

func (r *gitlabRequest) open() pulls.Open {
	return pulls.Open{
		Number: r.IID, URL: r.WebURL, Branch: r.SourceBranch, Commit: r.SHA,
		Title: undraft(r.Title, r.Draft, gitlabDraft, "[Draft]", "(Draft)"), Draft: r.Draft, Body: plain(r.Description),
		Author: r.Author.Username, Closed: r.State == "closed", Merged: r.State == "merged",
	}
}

// Requests implements pulls.Forge.
func (g *gitlabProject) Requests(ctx context.Context, base string) ([]pulls.Open, error) {
	return both("opened", "all", func(state string, from, most int) ([]pulls.Open, error) {
		return g.requests(ctx, base, state, from, most)
	}) // what is being merged is not among the open
}

// Older implements pulls.Forge.
func (g *gitlabProject) Older(ctx context.Context, base string) ([]pulls.Open, error) {
	return g.requests(ctx, base, "closed", 1, olderPages)
}

func (g *gitlabProject) requests(ctx context.Context, base, state string, from, most int) (out []pulls.Open, err error) {
	q := url.Values{"page": {strconv.Itoa(from)}, "state": {state}, "target_branch": {base}, "order_by": {"updated_at"}, "sort": {"desc"}, "per_page": {"100"}}
	all, err := list[gitlabRequest](ctx, g.conn, "merge_requests", q, most)
	for i := range all {
		if r := &all[i]; r.Source == r.Target {
			out = append(out, r.open())
		}
	}
	return out, err
}

// Open implements pulls.Forge.
func (g *gitlabProject) Open(ctx context.Context, base, branch string, c pulls.Content) (pulls.Open, error) {
	people, groups := teams(c.Reviewers)
	if len(groups) > 0 {
		return pulls.Open{}, fmt.Errorf("GitLab asks no group to review, and %s is one: name people, or make it a code owner or an approval rule", strings.Join(groups, ", "))
	}
	reviewers, err := g.people(ctx, people)
	if err != nil {
		return pulls.Open{}, err
	}
	assignees, err := g.people(ctx, c.Assignees)
	if err != nil {
		return pulls.Open{}, err
	}
	var r gitlabRequest
	err = g.call(ctx, http.MethodPost, "merge_requests", map[string]any{
		"target_branch": base, "source_branch": branch, "title": drafted(c.Title, c.Draft, gitlabDraft), "description": c.Body,
		"labels": strings.Join(c.Labels, ","), "reviewer_ids": reviewers, "assignee_ids": assignees,
	}, &r)
	var e *Error
	if errors.As(err, &e) && e.Status == http.StatusConflict {
		return already(ctx, g, base, branch, err)
	}
	return r.open(), err
}

// people are the numbers of users.
func (g *gitlabProject) people(ctx context.Context, names []string) ([]int64, error) {
	out := []int64{}
	for _, name := range names {
		var found []struct {
			ID int64 `json:"id"`
		}
		if err := g.call(ctx, http.MethodGet, "/users?"+url.Values{"username": {name}}.Encode(), nil, &found); err != nil {
			return nil, err
		}
		if len(found) == 0 {
			return nil, fmt.Errorf("%s has no user %s", g.root, name)
		}
		out = append(out, found[0].ID)
	}
	return out, nil
}

// Update implements pulls.Forge.
func (g *gitlabProject) Update(ctx context.Context, o pulls.Open, title, body string) error {
	return g.call(ctx, http.MethodPut, fmt.Sprintf("merge_requests/%d", o.Number), map[string]any{"title": drafted(title, o.Draft, gitlabDraft), "description": body}, nil)
}

// AutoMerge implements pulls.Forge. How commits come to the branch is the project's own
// setting there: only whether they are squashed is a request's.
func (g *gitlabProject) AutoMerge(ctx context.Context, o pulls.Open, style string) error {
	if style == v1alpha1.AutoMergeRebase {
		return fmt.Errorf("GitLab rebases where its project says so, and not for a request: give %s %s or %s", v1alpha1.ReviewAutoMergeAnnotation, v1alpha1.AutoMergeMerge, v1alpha1.AutoMergeSquash)
	}
	return g.soon(ctx, func() error {
		return g.call(ctx, http.MethodPut, fmt.Sprintf("merge_requests/%d/merge", o.Number), map[string]any{
			"auto_merge": true, "merge_when_pipeline_succeeds": true, // the name before 17.11
			"squash": style == v1alpha1.AutoMergeSquash, "sha": o.Commit,
		}, nil)
	})
}

// Close implements pulls.Forge.
func (g *gitlabProject) Close(ctx context.Context, number int, body, why string) error {
	at := fmt.Sprintf("merge_requests/%d", number)
	if err := g.call(ctx, http.MethodPost, at+"/notes", map[string]any{"body": why}, nil); err != nil {
		return err
	}
	return g.call(ctx, http.MethodPut, at, map[string]any{"state_event": "close", "description": body}, nil)
}

type gitlabStatus struct {
	Name        string `json:"name"`
	State       string `json:"state"`
	Description string `json:"description"`
	TargetURL   string `json:"target_url,omitempty"`
}

// Status implements pulls.Forge.
func (g *gitlabProject) Status(ctx context.Context, commit string, s pulls.Status) error {
	there, err := list[struct {
		gitlabStatus
		State string `json:"status"`
	}](ctx, g.conn, "repository/commits/"+url.PathEscape(commit)+"/statuses", url.Values{"name": {s.Context}, "per_page": {"100"}}, 1)
	if err != nil {
		return err
	}
	states := map[pulls.State]string{pulls.StateFailure: "failed", pulls.StateError: "failed"}
	const most = 255 // it takes no more
	want := gitlabStatus{s.Context, string(s.State), oneLine(s.Description, most), s.URL}
	if state := states[s.State]; state != "" {
		want.State = state
	}
	var old []gitlabStatus
	for _, s := range there {
		if s.gitlabStatus.State = s.State; s.State == "pending" && want.State == s.State && s.Name == want.Name {
			return nil // what is pending cannot become that again, whatever else it says
		}
		old = append(old, s.gitlabStatus)
	}
	return set(ctx, g.conn, "statuses/"+url.PathEscape(commit), old, want)
}
