package e2e

import "testing"

// Whose a package is says its Kptfile as it stands on the branch: a person who
// writes another manager's variant there, or none, has given it away, and it is
// let be, until they take that back.
func TestGivenAwayInTheKptfile(t *testing.T) {
	t.Parallel()
	const (
		ours   = "    variform.dev/variant: variform/default/web\n"
		theirs = "    variform.dev/variant: platform-b/default/web\n"
		stays  = "its Kptfile says that it is of no variant of this fleet"
	)
	for name, tt := range map[string]struct {
		now    string // the line of the owner
		tagged bool   // a person tags what they committed
		open   bool   // a Draft is open before
		gone   bool   // the variant is taken away
		action string
		says   string
	}{
		"wanted":             {theirs, false, false, false, "fail", "platform-b/default/web: its Kptfile on the registered branch says so by Ann Tester"},
		"wanted, tagged":     {theirs, true, false, false, "fail", "belongs to the variant platform-b/default/web (Published v2), of another manager"},
		"wanted, a Draft":    {theirs, false, true, false, "fail", "platform-b/default/web: its Kptfile on the registered branch says so by Ann Tester"},
		"gone":               {theirs, false, false, true, "", stays},
		"gone, tagged":       {theirs, true, false, true, "", ""},
		"gone, a Draft":      {theirs, false, true, true, "discard", ""},
		"gone, of nobody":    {"", false, false, true, "", stays},
		"wanted, of nobody":  {"", false, false, false, "redraft", ""},
		"wanted, as it was":  {ours, false, false, false, "redraft", ""},
		"gone, as it was":    {ours, false, false, true, "retire", ""},
		"gone, of a sibling": {"    variform.dev/variant: variform/default/other\n", false, false, true, "retire", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "c1")
			w.write("v.yaml", variantOf("web", "v1", "c1", "web", ""))
			w.mustApply()
			w.mustRun(0, "approve", "--all")
			w.publishWeb(webV2, "v2")
			wanted := variantOf("web", "v2", "c1", "web", "")
			if tt.open {
				w.write("v.yaml", wanted)
				w.mustApply()
			}
			before := w.repos["c1"].Git(t, "rev-parse", "main")
			if tt.now != ours {
				w.edit("c1", "main", "web/Kptfile", ours, tt.now)
			}
			if tt.tagged {
				w.repos["c1"].Git(t, "tag", "web/v2", "main")
			}
			w.write("v.yaml", wanted)
			if tt.gone {
				w.write("v.yaml", "# nothing\n")
			}
			want := map[string]string{}
			if tt.action != "" {
				want = all(tt.action, "c1/web")
			}
			r := w.run("plan", "--prune")
			w.contains(r.out+r.err, tt.says)
			p := w.apply("--prune")
			w.wantActions(p, want)
			w.contains(p.out, tt.says)
			if tt.action != "fail" {
				return
			}
			if tt.open {
				w.contains(w.mustRun(1, "approve", "c1/web").out, "platform-b/default/web: its Kptfile on the registered branch says so")
			}
			w.repos["c1"].Git(t, "update-ref", "-d", "refs/tags/web/v2")
			w.repos["c1"].Git(t, "update-ref", "refs/heads/main", before)
			if want = all("redraft", "c1/web"); tt.open {
				want = map[string]string{}
			}
			w.wantActions(w.mustApply(), want)
		})
	}
}

// Who a package was given to in its Kptfile takes it over, with what stands there, and
// without asking to adopt what is another's.
func TestReceivedInTheKptfile(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		policy   string
		lost     bool // the record of who had it is deleted
		unwanted bool // by who had it: it was taken away there first
	}{
		"adoptNone":              {"", false, false},
		"adoptExisting":          {adopting("adoptExisting"), false, false},
		"its record is lost":     {"", true, false},
		"taken away there first": {"", false, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newHTTPWorld(t, "c1")
			w.publishWeb(webV2, "v2")
			w.write("v.yaml", variantOf("web", "v1", "c1", "web", ""))
			w.mustApply()
			w.mustRun(0, "approve", "--all")
			w.edit("c1", "main", "web/settings.yaml", "level: info", "level: debug") // what a person set goes along
			w.edit("c1", "main", "web/Kptfile", "variform.dev/variant: variform/default/web", "variform.dev/variant: platform-b/default/mine")
			if tt.unwanted {
				w.write("v.yaml", "# nothing\n")
				w.wantActions(w.mustApply("--prune"), map[string]string{})
			}
			if tt.lost {
				w.repos["c1"].Git(t, "update-ref", "-d", recordRef)
			}
			w.manager("platform-b")
			w.write("v.yaml", variantOf("mine", "v2", "c1", "web", tt.policy))
			w.wantActions(w.mustApply(), all("redraft", "c1/web"))
			w.wantActions(w.mustApply(), map[string]string{})
			w.mustRun(0, "approve", "--all")
			w.wantActions(w.mustApply(), map[string]string{})
			w.contains(w.show("c1", "main", "web/Kptfile"), "platform-b/default/mine", "ref: web/v2")
			w.contains(w.show("c1", "main", "web/settings.yaml"), "level: debug")
			w.contains(w.show("c1", "main", "web/deployment.yaml"), "web:2.0")

			w.manager("variform") // who had it lets it be, and says so where it is wanted still
			w.write("v.yaml", variantOf("web", "v2", "c1", "web", ""))
			w.contains(w.apply().out, "belongs to the variant platform-b/default/mine")
			w.write("v.yaml", "# nothing\n")
			w.wantActions(w.mustApply("--prune"), map[string]string{})
		})
	}
}

// What a forge merged as a person left it is not approved unbuilt: the next run makes
// a revision of it.
func TestApproveAfterAMergeOfAnEditedDraft(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "c1")
	w.draftWithSetter()
	w.edit("c1", "drafts/web/packagevariant-1", "web/cm.yaml", `b: "5"`, `b: "7"`)
	w.forgeMerge("c1", "drafts/web/packagevariant-1", "merge", false)
	before := w.refs()
	w.contains(w.mustRun(1, "approve", "c1/web").out, "it was merged on main as a person left it: run apply")
	w.unchanged(before)
	w.contains(w.apply().out, `"action": "tag"`)
}
