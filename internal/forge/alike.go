package forge

import (
	"context"
	"fmt"
	"net/http"
	"net/url"

	"github.com/variform/variform/internal/pulls"
)

// olderPages are those that Older reads.
const olderPages = 20

// both reads requests that are open, all of them, and of another state the first page:
// those that moved last.
func both(open, other string, read func(state string, from, most int) ([]pulls.Open, error)) ([]pulls.Open, error) {
	all, err := read(open, 1, maxPages)
	if err != nil {
		return nil, err
	}
	moved, err := read(other, 1, 1)
	return latest(all, moved), err
}

// closeAsIssue closes a request where it is an issue, too: at GitHub, and at Gitea,
// whose API follows GitHub's.
func closeAsIssue(ctx context.Context, c *conn, number int, body, why string) error {
	if err := c.call(ctx, http.MethodPost, fmt.Sprintf("issues/%d/comments", number), map[string]any{"body": why}, nil); err != nil {
		return err
	}
	return c.soon(ctx, func() error {
		return c.call(ctx, http.MethodPatch, fmt.Sprintf("pulls/%d", number), map[string]any{"state": "closed", "body": body}, nil)
	})
}

type commitStatus struct {
	Context     string `json:"context"`
	State       string `json:"state"`
	Description string `json:"description"`
	TargetURL   string `json:"target_url,omitempty"`
}

// setStatus sets a commit's status at GitHub and Gitea, its description no longer than
// most.
func setStatus(ctx context.Context, c *conn, commit string, s pulls.Status, most int) error {
	at := "/" + url.PathEscape(commit)
	var there struct {
		Statuses []struct {
			commitStatus
			Status string `json:"status"` // what Gitea calls the state that it is given
		} `json:"statuses"`
	}
	if err := c.call(ctx, http.MethodGet, "commits"+at+"/status?per_page=100", nil, &there); err != nil {
		return err
	}
	var old []commitStatus
	for _, s := range there.Statuses {
		if s.Status != "" {
			s.State = s.Status
		}
		old = append(old, s.commitStatus)
	}
	return set(ctx, c, "statuses"+at, old, commitStatus{s.Context, string(s.State), oneLine(s.Description, most), s.URL})
}
