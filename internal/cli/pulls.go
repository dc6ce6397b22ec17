package cli

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/variform/variform/internal/count"
	"github.com/variform/variform/internal/decide"
	"github.com/variform/variform/internal/fleet"
	"github.com/variform/variform/internal/pulls"
	"github.com/variform/variform/internal/reconcile"
	"github.com/variform/variform/internal/review"
	"github.com/variform/variform/internal/session"
)

// pullView is a pull request as json and yaml print it.
type pullView struct {
	Repository string   `json:"repository"`
	Action     string   `json:"action,omitempty"`
	Number     int      `json:"number,omitempty"`
	URL        string   `json:"url,omitempty"`
	Title      string   `json:"title,omitempty"`
	Members    []string `json:"members,omitempty"`
	Reason     string   `json:"reason,omitempty"`
	Error      string   `json:"error,omitempty"`
}

var pullActions = map[pulls.Action]string{
	pulls.ActionOpen: "opened", pulls.ActionUpdate: "updated", pulls.ActionNone: "unchanged", pulls.ActionKeep: "left as it is", pulls.ActionClose: "closed", pulls.ActionLater: "left for later",
}

// usualMode is what --pull-requests means without a mode: what the Repository says in
// variform.dev/review, and else class.
const usualMode = "default"

// pullRequests makes what is open the pull requests of its forges.
func (a *app) pullRequests(ctx context.Context, s *opening, mode string, sel decide.Selection) error {
	o := fleet.PullRequests{Mode: pulls.ByClass, Selection: sel, Asked: true}
	if mode != usualMode {
		var err error
		if o.Mode, err = pulls.ParseMode(mode); err != nil {
			return fmt.Errorf("--pull-requests: %w", err)
		}
		o.Given = true
	}
	list, problems, err := a.request(ctx, s, o)
	if err != nil {
		return err
	}
	a.printTaken(s.engine, true)
	if err := a.printPulls(s.from(), list); err != nil {
		return err
	}
	for _, p := range problems {
		a.fail("error: %v", p)
	}
	if bad := len(problems) + a.printUnpulled(list); bad > 0 {
		return findings{count.Of(bad, "problem") + ": the rest is done"}
	}
	return nil
}

// requestConcurrency is how many repositories' requests are worked on at once: forges
// take many writes of one user at a time for abuse.
const requestConcurrency = 8

func (a *app) request(ctx context.Context, s *opening, o fleet.PullRequests) ([]fleet.Pulled, []error, error) {
	o.Forge, o.Concurrency, o.Fleet, o.Page, o.MaxWrites = session.Forges(a.budget(), nil, a.app), min(a.repositories, requestConcurrency), s.fleet, a.fleet.page, a.fleet.maxWrites
	list, problems, err := fleet.Propose(ctx, s.engine, o)
	later := 0
	for _, p := range list {
		if p.Action == pulls.ActionLater {
			later++
		}
	}
	if later > 0 {
		a.note("%s left for the next run: --max-writes is %d", count.Of(later, "pull request"), o.MaxWrites)
	}
	return list, problems, err
}

// unpulled are the requests that failed, what several have in common once.
func unpulled(list []fleet.Pulled) []review.Finding {
	var notes []review.Note
	for _, p := range list {
		if p.Err != nil {
			notes = append(notes, review.Note{Kind: review.Failure, Message: p.Err.Error(), Variant: p.Repository})
		}
	}
	return review.Group(notes)
}

// printUnpulled says which requests failed, and counts that.
func (a *app) printUnpulled(list []fleet.Pulled) int {
	found := unpulled(list)
	for _, f := range found {
		a.fail("error: %s: %s", folded(f.Members), f.Message)
	}
	return len(found)
}

// viewsOf are requests as they are printed, and the rows of a table.
func viewsOf(list []fleet.Pulled) ([]pullView, [][]string) {
	views := make([]pullView, 0, len(list))
	var rows [][]string
	for _, p := range list {
		v := pullView{Repository: p.Repository, Action: string(p.Action), URL: p.URL, Reason: p.Why}
		now := pullActions[p.Action]
		if p.Open != nil {
			v.Number, v.Title = p.Open.Number, p.Open.Title
		}
		if p.Request != nil {
			v.Title = p.Request.Title
			for _, d := range p.Request.Drafts {
				v.Members = append(v.Members, d.Name)
			}
		}
		switch {
		case p.Err != nil:
			v.Error, now = p.Err.Error(), "failed"
		case p.Why != "":
			now += ": " + p.Why
		}
		number := ""
		if v.Number > 0 {
			number = "#" + strconv.Itoa(v.Number)
		}
		views = append(views, v)
		rows = append(rows, []string{v.Repository, number, v.Title, now})
	}
	return views, rows
}

var pullHeader = []string{"REPOSITORY", "REQUEST", "TITLE", "NOW"}

func (a *app) printPulls(from review.Source, list []fleet.Pulled) error {
	views, rows := viewsOf(list)
	switch a.output {
	case "json", "yaml":
		return encodeAs(a.Out, a.output, "PullRequestList", map[string]any{"source": from, "pullRequests": views})
	case "name":
		for _, v := range views {
			if v.URL != "" {
				if _, err := fmt.Fprintln(a.Out, v.URL); err != nil {
					return err
				}
			}
		}
		return nil
	}
	return a.table(pullHeader, rows)
}

// printKept tells of the requests that a run of apply did not find as they are to be.
func (a *app) printKept(list []fleet.Pulled) error {
	list = slices.DeleteFunc(slices.Clone(list), func(p fleet.Pulled) bool { return p.Err == nil && p.Action == pulls.ActionNone })
	if len(list) == 0 {
		return nil
	}
	_, rows := viewsOf(list)
	return a.table(pullHeader, rows)
}

// printTaken tells what became of people's commits on heads, and of those that are
// left there where that is told nowhere else.
func (a *app) printTaken(e *reconcile.Engine, left bool) {
	for _, t := range e.Taken() {
		if t.Err == nil || left {
			a.note("%s", t)
		}
	}
}

// addPulls adds the flags of the commands that make pull requests.
func (a *app) addPulls(c *cobra.Command) {
	c.Flags().IntVar(&a.fleet.maxWrites, "max-writes", 0, "write at most `N` times for pull requests, pushes of their branches counted; the next run goes on (default: no bound)")
	c.Flags().StringVar(&a.fleet.page, "page-url", "", "`address` of a page, such as a published report, that the check on pull requests leads to")
}
