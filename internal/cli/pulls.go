package cli

import (
	"context"
	"fmt"
	"os"
	"strconv"

	"github.com/variform/variform/internal/count"
	"github.com/variform/variform/internal/decide"
	"github.com/variform/variform/internal/fleet"
	"github.com/variform/variform/internal/forge"
	"github.com/variform/variform/internal/gitrepo"
	"github.com/variform/variform/internal/pulls"
	"github.com/variform/variform/internal/review"
)

// signIn finds a login for a forge.
func signIn(ctx context.Context, address string) (user, password string, err error) {
	if token := forge.TokenOf(address, os.Getenv); token != "" {
		return "", token, nil
	}
	return gitrepo.HelperCredentials(ctx, address)
}

// forges reaches the forges of Repositories.
func (a *app) forges() func(address, annotation string) (fleet.Forge, error) {
	servers := forge.NewServers(signIn, a.budget())
	return func(address, annotation string) (fleet.Forge, error) {
		place, err := forge.Locate(address, annotation)
		if err != nil {
			return nil, err
		}
		return servers.At(place), nil
	}
}

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
	pulls.ActionOpen: "opened", pulls.ActionUpdate: "updated", pulls.ActionNone: "unchanged", pulls.ActionKeep: "left as it is", pulls.ActionClose: "closed",
}

// pullRequests makes what is open the pull requests of its forges.
func (a *app) pullRequests(ctx context.Context, s *session, mode string, sel decide.Selection) error {
	m, err := pulls.ParseMode(mode)
	if err != nil {
		return fmt.Errorf("--pull-requests: %w", err)
	}
	list, problems, err := fleet.Propose(ctx, s.engine, fleet.PullRequests{Mode: m, Selection: sel, Forge: a.forges(), Concurrency: a.fleet.concurrency})
	if err != nil {
		return err
	}
	if err := a.printPulls(list); err != nil {
		return err
	}
	bad := len(problems)
	for _, p := range problems {
		a.fail("error: %v", p)
	}
	var notes []review.Note
	for _, p := range list {
		if p.Err != nil {
			notes = append(notes, review.Note{Kind: review.Failure, Message: p.Err.Error(), Variant: p.Repository})
		}
	}
	for _, f := range review.Group(notes) {
		bad++
		a.fail("error: %s: %s", folded(f.Members), f.Message)
	}
	if bad > 0 {
		return findings{count.Of(bad, "problem") + ": the rest is done"}
	}
	return nil
}

func (a *app) printPulls(list []fleet.Pulled) error {
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
	switch a.output {
	case "json", "yaml":
		return encodeAs(a.Out, a.output, "PullRequestList", map[string]any{"pullRequests": views})
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
	return a.table([]string{"REPOSITORY", "REQUEST", "TITLE", "NOW"}, rows)
}
