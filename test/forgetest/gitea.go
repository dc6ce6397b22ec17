package forgetest

import (
	"net/http"
	"slices"
	"strconv"
)

// gitea answers as a server's own /api/swagger says.
func (s *Server) gitea(mux *http.ServeMux) {
	at := "/api/v1/repos/" + s.Path + "/"
	show := func(r *Request) object {
		_, draft := cutFold(r.Title, "WIP:", "[WIP]")
		return object{
			"number": r.Number, "html_url": s.URL + "/" + s.Path + "/pulls/" + itoa(r.Number), "title": r.Title, "body": r.Body, "state": closedOf(r),
			"merged": r.State == "merged", "draft": draft, "user": object{"login": r.Author},
			"head": object{"ref": r.Branch, "sha": s.tipOf(r), "repo_id": repo(r.Copy)},
			"base": object{"ref": r.Base, "repo_id": repo(false)},
		}
	}
	mux.HandleFunc("GET "+at+"pulls", func(w http.ResponseWriter, r *http.Request) {
		states := map[string][]string{"open": {"open", "locked"}, "closed": {"closed", "merged"}}[r.URL.Query().Get("state")]
		page(s, w, r, "limit", s.chosen("", states...), show) // as those do that know no base_branch yet
	})
	mux.HandleFunc("POST "+at+"pulls", func(w http.ResponseWriter, r *http.Request) {
		var in struct {
			Title         string   `json:"title"`
			Body          string   `json:"body"`
			Head          string   `json:"head"`
			Base          string   `json:"base"`
			Labels        []int    `json:"labels"`
			Assignees     []string `json:"assignees"`
			Reviewers     []string `json:"reviewers"`
			TeamReviewers []string `json:"team_reviewers"`
		}
		switch {
		case !read(w, r, &in):
		case s.Tip(in.Head) == "":
			say(w, http.StatusNotFound, object{"message": "The target couldn't be found."})
		case s.twin(in.Base, in.Head) != nil:
			say(w, http.StatusConflict, object{"message": "pull request already exists for these targets"})
		case slices.ContainsFunc(in.Assignees, stranger) || slices.ContainsFunc(in.Reviewers, stranger):
			say(w, http.StatusUnprocessableEntity, object{"message": "user does not exist"})
		default:
			made := &Request{Title: in.Title, Body: in.Body, Branch: in.Head, Base: in.Base, Assignees: in.Assignees, Reviewers: slices.Concat(in.Reviewers, in.TeamReviewers)}
			_, made.Draft = cutFold(in.Title, "WIP:", "[WIP]")
			for _, id := range in.Labels {
				made.Labels = append(made.Labels, s.labels[id-1])
			}
			twin := *made
			if s.Together {
				s.add(&twin)
			}
			s.add(made)
			if s.After {
				s.add(&twin)
			}
			say(w, http.StatusCreated, show(made))
		}
	})
	mux.HandleFunc("PATCH "+at+"pulls/{number}", func(w http.ResponseWriter, r *http.Request) {
		var in struct {
			Title *string `json:"title"`
			Body  *string `json:"body"`
			State *string `json:"state"`
		}
		if found := s.found(w, r); found != nil && read(w, r, &in) {
			s.change(found, func(r *Request) {
				put(&r.Title, in.Title)
				put(&r.Body, in.Body)
				put(&r.State, in.State)
				_, r.Draft = cutFold(r.Title, "WIP:", "[WIP]")
			})
			say(w, http.StatusCreated, show(found))
		}
	})
	mux.HandleFunc("POST "+at+"pulls/{number}/merge", func(w http.ResponseWriter, r *http.Request) {
		var in struct {
			Do     string `json:"Do"`
			When   bool   `json:"merge_when_checks_succeed"`
			Commit string `json:"head_commit_id"`
		}
		if found := s.found(w, r); found != nil && read(w, r, &in) {
			s.auto(w, found, in.Commit, in.Do, http.StatusCreated)
		}
	})
	mux.HandleFunc("POST "+at+"issues/{number}/comments", s.comment())
	label := func(name string) object { return object{"id": slices.Index(s.labels, name) + 1, "name": name} }
	mux.HandleFunc("GET "+at+"labels", func(w http.ResponseWriter, r *http.Request) { page(s, w, r, "limit", s.labels, label) })
	mux.HandleFunc("POST "+at+"labels", func(w http.ResponseWriter, r *http.Request) {
		var in struct {
			Name  string `json:"name"`
			Color string `json:"color"`
		}
		if read(w, r, &in) {
			s.labels = append(s.labels, in.Name)
			say(w, http.StatusCreated, label(in.Name))
		}
	})
	mux.HandleFunc("GET "+at+"commits/{sha}/status", s.combined(func(st Status) object {
		return object{"context": st.Context, "status": st.State, "description": st.Description, "target_url": st.URL}
	}))
	mux.HandleFunc("POST "+at+"statuses/{sha}", func(w http.ResponseWriter, r *http.Request) {
		var in struct {
			State       string `json:"state"`
			TargetURL   string `json:"target_url"`
			Description string `json:"description"`
			Context     string `json:"context"`
		}
		switch sha := r.PathValue("sha"); {
		case !read(w, r, &in):
		case !s.Has(sha):
			say(w, http.StatusNotFound, object{"message": "not found"})
		default:
			s.set(sha, Status{in.Context, in.State, in.Description, in.TargetURL})
			say(w, http.StatusCreated, object{})
		}
	})
}

// comment is a comment on a request, of GitHub and Gitea.
func (s *Server) comment() http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var in struct {
			Body string `json:"body"`
		}
		if found := s.found(w, r); found != nil && read(w, r, &in) {
			s.change(found, func(r *Request) { r.Comments = append(r.Comments, in.Body) })
			say(w, http.StatusCreated, object{"body": in.Body})
		}
	}
}

// combined are the statuses of a commit, of GitHub and Gitea.
func (s *Server) combined(show func(Status) object) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		list := []object{}
		for _, st := range s.newest(r.PathValue("sha")) {
			list = append(list, show(st))
		}
		say(w, http.StatusOK, object{"state": "pending", "statuses": list, "total_count": len(list)})
	}
}

func put(to, from *string) {
	if from != nil {
		*to = *from
	}
}

func itoa(n int) string { return strconv.Itoa(n) }

func stranger(user string) bool { return user != Ann && user != Bob }
