package forgetest

import (
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"
)

// github answers as docs.github.com/en/rest says: pulls, issues, commits/statuses.
func (s *Server) github(mux *http.ServeMux) {
	at := "/api/v3/repos/" + s.Path + "/"
	show := func(r *Request) object {
		o := object{
			"number": r.Number, "node_id": "PR_" + itoa(r.Number), "html_url": s.URL + "/" + s.Path + "/pull/" + itoa(r.Number), "title": r.Title, "body": nil, "state": closedOf(r),
			"merged_at": nil, "draft": r.Draft, "user": object{"login": r.Author},
			"head": object{"ref": r.Branch, "sha": s.tipOf(r), "repo": object{"id": repo(r.Copy)}},
			"base": object{"ref": r.Base, "repo": object{"id": repo(false)}},
		}
		if r.Body != "" {
			o["body"] = r.Body
		}
		if r.State == "merged" {
			o["merged_at"] = "2026-01-02T03:04:05Z"
		}
		return o
	}
	invalid := func(w http.ResponseWriter, said string) {
		say(w, http.StatusUnprocessableEntity, object{"message": "Validation Failed", "errors": []object{{"resource": "PullRequest", "code": "custom", "message": said}}})
	}
	mux.HandleFunc("GET "+at+"pulls", func(w http.ResponseWriter, r *http.Request) {
		states := map[string][]string{"open": {"open", "locked"}, "closed": {"closed", "merged"}}[r.URL.Query().Get("state")]
		page(s, w, r, "per_page", s.chosen(r.URL.Query().Get("base"), states...), show)
	})
	mux.HandleFunc("POST "+at+"pulls", func(w http.ResponseWriter, r *http.Request) {
		var in struct {
			Title string `json:"title"`
			Body  string `json:"body"`
			Head  string `json:"head"`
			Base  string `json:"base"`
			Draft bool   `json:"draft"`
		}
		if !read(w, r, &in) {
			return
		}
		switch {
		case s.twin(in.Base, in.Head) != nil:
			invalid(w, "A pull request already exists for team:"+in.Head+".")
		case s.Tip(in.Head) == "":
			say(w, http.StatusUnprocessableEntity, object{"message": "Validation Failed", "errors": []object{{"resource": "PullRequest", "field": "head", "code": "invalid"}}})
		case s.Tip(in.Head) == s.Tip(in.Base):
			invalid(w, "No commits between "+in.Base+" and "+in.Head)
		default:
			say(w, http.StatusCreated, show(s.add(&Request{Title: in.Title, Body: in.Body, Branch: in.Head, Base: in.Base, Draft: in.Draft})))
		}
	})
	mux.HandleFunc("PATCH "+at+"pulls/{number}", func(w http.ResponseWriter, r *http.Request) {
		var in struct {
			Title *string `json:"title"`
			Body  *string `json:"body"`
			State *string `json:"state"`
		}
		if found := s.found(w, r); found != nil && read(w, r, &in) {
			s.change(found, func(r *Request) { put(&r.Title, in.Title); put(&r.Body, in.Body); put(&r.State, in.State) })
			say(w, http.StatusOK, show(found))
		}
	})
	mux.HandleFunc("GET "+at+"pulls/{number}", func(w http.ResponseWriter, r *http.Request) {
		if found := s.found(w, r); found != nil {
			say(w, http.StatusOK, show(found))
		}
	})
	mux.HandleFunc("PUT "+at+"pulls/{number}/merge", func(w http.ResponseWriter, r *http.Request) {
		var in struct {
			Method string `json:"merge_method"`
			SHA    string `json:"sha"`
		}
		found := s.found(w, r)
		switch {
		case found == nil || !read(w, r, &in):
		case in.SHA != s.tipOf(found):
			say(w, http.StatusConflict, object{"message": "Head branch was modified. Review and try the merge again."})
		default:
			found.Auto = in.Method
			s.settle(found)
			say(w, http.StatusOK, object{"merged": true})
		}
	})
	mux.HandleFunc("POST /api/graphql", func(w http.ResponseWriter, r *http.Request) {
		var in struct {
			Query     string `json:"query"`
			Variables struct {
				In struct {
					ID     string `json:"pullRequestId"`
					Method string `json:"mergeMethod"`
					Head   string `json:"expectedHeadOid"`
				} `json:"in"`
			} `json:"variables"`
		}
		if !read(w, r, &in) {
			return
		}
		i := slices.IndexFunc(s.requests, func(r *Request) bool { return in.Variables.In.ID == "PR_"+itoa(r.Number) })
		refuse := func(said string) {
			say(w, http.StatusOK, object{"data": nil, "errors": []object{{"type": "UNPROCESSABLE", "message": said}}})
		}
		switch {
		case i < 0 || !strings.Contains(in.Query, "enablePullRequestAutoMerge(input: $in)"):
			refuse("Could not resolve to a node with the global id of '" + in.Variables.In.ID + "'")
		case !slices.Contains([]string{"MERGE", "SQUASH", "REBASE"}, in.Variables.In.Method):
			refuse("Variable $in of type EnablePullRequestAutoMergeInput! was provided invalid value")
		case in.Variables.In.Head != s.tipOf(s.requests[i]):
			refuse("The head of the pull request is not the expected one")
		case s.free(s.requests[i]):
			refuse("Pull request Pull request is in clean status")
		default:
			s.requests[i].Auto = strings.ToLower(in.Variables.In.Method)
			say(w, http.StatusOK, object{"data": object{"enablePullRequestAutoMerge": object{"clientMutationId": nil}}})
		}
	})
	mux.HandleFunc("POST "+at+"issues/{number}/comments", s.comment())
	mux.HandleFunc("POST "+at+"issues/{number}/labels", func(w http.ResponseWriter, r *http.Request) {
		var in struct {
			Labels []string `json:"labels"`
		}
		if found := s.found(w, r); found != nil && read(w, r, &in) {
			s.change(found, func(r *Request) { r.Labels = append(r.Labels, in.Labels...) })
			say(w, http.StatusOK, []object{})
		}
	})
	mux.HandleFunc("POST "+at+"issues/{number}/assignees", func(w http.ResponseWriter, r *http.Request) {
		var in struct {
			Assignees []string `json:"assignees"`
		}
		if found := s.found(w, r); found != nil && read(w, r, &in) {
			s.change(found, func(r *Request) { r.Assignees = append(r.Assignees, in.Assignees...) })
			say(w, http.StatusCreated, object{"number": found.Number})
		}
	})
	mux.HandleFunc("POST "+at+"pulls/{number}/requested_reviewers", func(w http.ResponseWriter, r *http.Request) {
		var in struct {
			Reviewers     []string `json:"reviewers"`
			TeamReviewers []string `json:"team_reviewers"`
		}
		found := s.found(w, r)
		switch {
		case found == nil || !read(w, r, &in):
		case slices.ContainsFunc(in.Reviewers, stranger) || slices.ContainsFunc(in.TeamReviewers, func(t string) bool { return t != Team }):
			say(w, http.StatusUnprocessableEntity, object{"message": "Reviews may only be requested from collaborators. One or more of the users or teams you specified is not a collaborator of the team/c1 repository."})
		default:
			s.change(found, func(r *Request) { r.Reviewers = slices.Concat(r.Reviewers, in.Reviewers, in.TeamReviewers) })
			say(w, http.StatusCreated, show(found))
		}
	})
	status := func(st Status) object {
		return object{"context": st.Context, "state": st.State, "description": st.Description, "target_url": st.URL}
	}
	mux.HandleFunc("GET "+at+"commits/{sha}/status", s.combined(status))
	mux.HandleFunc("POST "+at+"statuses/{sha}", func(w http.ResponseWriter, r *http.Request) {
		var in struct {
			State       string  `json:"state"`
			TargetURL   *string `json:"target_url"`
			Description string  `json:"description"`
			Context     string  `json:"context"`
		}
		switch sha := r.PathValue("sha"); {
		case !read(w, r, &in):
		case !s.Has(sha):
			say(w, http.StatusUnprocessableEntity, object{"message": "No commit found for SHA: " + sha})
		case utf8.RuneCountInString(in.Description) > 140:
			say(w, http.StatusUnprocessableEntity, object{"message": "Validation Failed", "errors": []object{{"message": "description is too long (maximum is 140 characters)"}}})
		case in.TargetURL != nil && *in.TargetURL == "":
			say(w, http.StatusUnprocessableEntity, object{"message": "Validation Failed", "errors": []object{{"message": "target_url must use http(s) scheme"}}})
		case !slices.Contains([]string{"error", "failure", "pending", "success"}, in.State):
			say(w, http.StatusUnprocessableEntity, object{"message": "Validation Failed"})
		default:
			st := Status{Context: in.Context, State: in.State, Description: in.Description}
			put(&st.URL, in.TargetURL)
			s.set(sha, st)
			say(w, http.StatusCreated, status(st))
		}
	})
}
