package forgetest

import (
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"
)

// gitlab answers as docs.gitlab.com/api says: merge_requests, notes, commits, users.
func (s *Server) gitlab(mux *http.ServeMux) {
	at := "/api/v4/projects/{project}/"
	project := func(do http.HandlerFunc) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if r.PathValue("project") != s.Path {
				say(w, http.StatusNotFound, object{"message": "404 Project Not Found"})
				return
			}
			do(w, r)
		}
	}
	drafts := []string{"Draft:", "[Draft]", "(Draft)"}
	states := map[string]string{"open": "opened"}
	show := func(r *Request) object {
		_, draft := cutFold(r.Title, drafts...)
		state := r.State
		if states[state] != "" {
			state = states[state]
		}
		return object{
			"iid": r.Number, "web_url": s.URL + "/" + s.Path + "/-/merge_requests/" + itoa(r.Number), "title": r.Title, "description": r.Body, "state": state,
			"draft": draft, "source_branch": r.Branch, "target_branch": r.Base, "source_project_id": repo(r.Copy), "target_project_id": repo(false),
			"sha": s.tipOf(r), "author": object{"username": r.Author},
		}
	}
	mux.HandleFunc("GET "+at+"merge_requests", project(func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		wanted := []string{"open", "closed", "locked", "merged"}
		if state := q.Get("state"); state != "all" {
			wanted = []string{strings.TrimSuffix(state, "ed")}
			if state != "opened" {
				wanted = []string{state}
			}
		}
		page(s, w, r, "per_page", s.chosen(q.Get("target_branch"), wanted...), show)
	}))
	users := []string{Ann, Bob}
	names := func(ids []int) (out []string) {
		for _, id := range ids {
			out = append(out, users[id-1])
		}
		return out
	}
	mux.HandleFunc("POST "+at+"merge_requests", project(func(w http.ResponseWriter, r *http.Request) {
		var in struct {
			Title       string `json:"title"`
			Description string `json:"description"`
			Source      string `json:"source_branch"`
			Target      string `json:"target_branch"`
			Labels      string `json:"labels"`
			Assignees   []int  `json:"assignee_ids"`
			Reviewers   []int  `json:"reviewer_ids"`
		}
		if !read(w, r, &in) {
			return
		}
		if s.Tip(in.Source) == "" {
			say(w, http.StatusBadRequest, object{"message": object{"source_branch": []string{"does not exist"}}})
			return
		}
		if twin := s.twin(in.Target, in.Source); twin != nil {
			say(w, http.StatusConflict, object{"message": []string{"Another open merge request already exists for this source branch: !" + itoa(twin.Number)}})
			return
		}
		made := &Request{Title: in.Title, Body: in.Description, Branch: in.Source, Base: in.Target, Assignees: names(in.Assignees), Reviewers: names(in.Reviewers)}
		_, made.Draft = cutFold(in.Title, drafts...)
		if in.Labels != "" {
			made.Labels = strings.Split(in.Labels, ",")
		}
		say(w, http.StatusCreated, show(s.add(made)))
	}))
	mux.HandleFunc("PUT "+at+"merge_requests/{number}", project(func(w http.ResponseWriter, r *http.Request) {
		var in struct {
			Title       *string `json:"title"`
			Description *string `json:"description"`
			Event       string  `json:"state_event"`
		}
		if found := s.found(w, r); found != nil && read(w, r, &in) {
			s.change(found, func(r *Request) {
				put(&r.Title, in.Title)
				put(&r.Body, in.Description)
				if in.Event == "close" {
					r.State = "closed"
				}
				_, r.Draft = cutFold(r.Title, drafts...)
			})
			say(w, http.StatusOK, show(found))
		}
	}))
	mux.HandleFunc("PUT "+at+"merge_requests/{number}/merge", project(func(w http.ResponseWriter, r *http.Request) {
		var in struct {
			Auto    bool   `json:"auto_merge"`
			AutoOld bool   `json:"merge_when_pipeline_succeeds"`
			Squash  bool   `json:"squash"`
			SHA     string `json:"sha"`
		}
		if found := s.found(w, r); found != nil && read(w, r, &in) {
			s.auto(w, found, in.SHA, map[bool]string{true: "squash", false: "merge"}[in.Squash], http.StatusOK)
		}
	}))
	mux.HandleFunc("POST "+at+"merge_requests/{number}/notes", project(s.comment()))
	mux.HandleFunc("GET /api/v4/users", func(w http.ResponseWriter, r *http.Request) {
		list := []object{}
		if i := slices.Index(users, r.URL.Query().Get("username")); i >= 0 {
			list = append(list, object{"id": i + 1, "username": users[i]})
		}
		say(w, http.StatusOK, list)
	})
	status := func(st Status) object {
		return object{"name": st.Context, "status": st.State, "description": st.Description, "target_url": st.URL}
	}
	mux.HandleFunc("GET "+at+"repository/commits/{sha}/statuses", project(func(w http.ResponseWriter, r *http.Request) {
		var list []Status
		for _, st := range s.newest(r.PathValue("sha")) {
			if name := r.URL.Query().Get("name"); name == "" || name == st.Context {
				list = append(list, st)
			}
		}
		page(s, w, r, "per_page", list, status)
	}))
	mux.HandleFunc("POST "+at+"statuses/{sha}", project(func(w http.ResponseWriter, r *http.Request) {
		var in struct {
			State       string `json:"state"`
			Name        string `json:"name"`
			TargetURL   string `json:"target_url"`
			Description string `json:"description"`
		}
		if !read(w, r, &in) {
			return
		}
		sha := r.PathValue("sha")
		i := slices.IndexFunc(s.statuses[sha], func(st Status) bool { return st.Context == in.Name })
		switch {
		case !s.Has(sha):
			say(w, http.StatusNotFound, object{"message": "404 Commit Not Found"})
		case !slices.Contains([]string{"pending", "running", "success", "failed", "canceled"}, in.State):
			say(w, http.StatusBadRequest, object{"error": "state does not have a valid value"})
		case utf8.RuneCountInString(in.Description) > 255:
			say(w, http.StatusBadRequest, object{"message": object{"description": []string{"is too long (maximum is 255 characters)"}}})
		case i >= 0 && in.State == "pending" && s.statuses[sha][i].State == "pending":
			say(w, http.StatusBadRequest, object{"message": "Cannot transition status via :enqueue from :pending (Reason(s): Status cannot transition via \"enqueue\")"})
		default:
			st := Status{in.Name, in.State, in.Description, in.TargetURL}
			s.set(sha, st)
			say(w, http.StatusCreated, status(st))
		}
	}))
}
