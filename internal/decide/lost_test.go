package decide

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/lifecycle"
	"github.com/variform/variform/internal/merge"
)

// replicated is a package whose Deployment has so many replicas, "" for none.
func replicated(t *testing.T, replicas string) *krm.Package {
	t.Helper()
	spec := "{}"
	if replicas != "" {
		spec = "{replicas: " + replicas + "}"
	}
	p, err := krm.Parse([]krm.File{{Path: "d.yaml", Data: []byte("apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: " + spec + "\n")}})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// kptfile is a package whose Kptfile, which has no name, has one more field.
func kptfile(t *testing.T, field string) *krm.Package {
	t.Helper()
	p, err := krm.Parse([]krm.File{{Path: "Kptfile", Data: []byte("apiVersion: kpt.dev/v1\nkind: Kptfile\n" + field + "\n")}})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// gates is the conflict of a deletion of all of info.
func gates(upstream string) merge.Conflict {
	return merge.Conflict{Path: "Kptfile", Resource: krm.ID{Group: "kpt.dev", Kind: "Kptfile"}, Field: "info", Fate: merge.Overruled, Winner: merge.Upstream, Upstream: upstream}
}

func TestLostEdits(t *testing.T) {
	web := krm.ID{Group: "apps", Kind: "Deployment", Name: "web"}
	met := func(fate merge.Fate, winner merge.Side, local, upstream, by string) merge.Conflict {
		return merge.Conflict{Path: "d.yaml", Resource: web, Field: "spec.replicas", Fate: fate, Winner: winner, Local: local, Upstream: upstream, By: by}
	}
	lost := met(merge.Lost, merge.Upstream, "9", "3", "Ux (fbcc0d5)")
	kept := met(merge.Kept, merge.Local, "9", "3", "Ux (fbcc0d5)")
	has := func(replicas string, conflicts ...merge.Conflict) Update {
		return Update{conflicts, replicated(t, replicas)}
	}
	for reason, tc := range map[string]struct {
		updates  []Update
		branch   string
		onBranch bool
		want     string
	}{
		"upstream replaced it":                             {[]Update{has("3", lost)}, "9", true, "loses 1 edit: spec.replicas 9 → 3 (by Ux) of Deployment web"},
		"it is about to":                                   {[]Update{{Conflicts: []merge.Conflict{lost}}}, "9", true, "loses 1 edit: spec.replicas 9 → 3 (by Ux) of Deployment web"},
		"an earlier update did":                            {[]Update{has("3"), has("3", lost)}, "9", true, "loses 1 edit: spec.replicas 9 → 3 (by Ux) of Deployment web"},
		"another value replaced it since":                  {[]Update{has("4"), has("4", lost)}, "9", true, "loses 1 edit: spec.replicas 9 → 4 (by Ux) of Deployment web"},
		"the field is no more":                             {[]Update{has("", lost)}, "9", true, "loses 1 edit: spec.replicas 9 → (none) (by Ux) of Deployment web"},
		"two updates say so, and it is one":                {[]Update{has("3", lost), has("3", lost)}, "9", true, "loses 1 edit: spec.replicas 9 → 3 (by Ux) of Deployment web"},
		"the newest update keeps it":                       {[]Update{{Conflicts: []merge.Conflict{kept}}, has("3", lost)}, "9", true, ""},
		"a person put it back into the Draft":              {[]Update{has("9", lost)}, "9", true, ""},
		"people took it back on the branch":                {[]Update{has("3"), has("3", lost)}, "2", true, ""},
		"it was made on the Draft, not on a branch":        {[]Update{has("3"), has("3", lost)}, "2", false, "loses 1 edit: spec.replicas 9 → 3 (by Ux) of Deployment web"},
		"the pipeline sets it back":                        {[]Update{has("3", met(merge.Overruled, merge.Upstream, "9", "3", ""))}, "9", true, "loses 1 edit: spec.replicas 9 → 3 of Deployment web"},
		"the edit deleted the field":                       {[]Update{has("3", met(merge.Lost, merge.Upstream, "", "3", ""))}, "", true, "loses 1 edit: spec.replicas (none) → 3 of Deployment web"},
		"it was kept":                                      {[]Update{has("9", kept)}, "9", true, ""},
		"both added it, and upstream's stands":             {[]Update{has("3", met(merge.BothAdded, merge.Upstream, "9", "3", ""))}, "9", true, "loses 1 edit: spec.replicas 9 → 3 of Deployment web"},
		"what records the upstream":                        {[]Update{has("3", merge.Conflict{Path: "Kptfile", Resource: krm.ID{Group: "kpt.dev", Kind: "Kptfile", Name: "web"}, Field: "upstreamLock", Fate: merge.Lost, Winner: merge.Upstream, Local: "v1", Upstream: "v2"})}, "3", true, ""},
		"the machine owns gates":                           {[]Update{has("3", merge.Conflict{Path: "Kptfile", Resource: krm.ID{Group: "kpt.dev", Kind: "Kptfile", Name: "web"}, Field: "info.readinessGates", Fate: merge.Overruled, Winner: merge.Upstream, Upstream: "[]"})}, "3", true, ""},
		"gates alone return where all of info was deleted": {[]Update{{Conflicts: []merge.Conflict{gates("readinessGates:\n- conditionType: x\n")}}}, "3", true, ""},
		"the Draft has nothing but the gates":              {[]Update{{[]merge.Conflict{gates("(cut short)")}, kptfile(t, "info: {readinessGates: [{conditionType: x}]}")}}, "3", true, ""},
		"more of info returns":                             {[]Update{{Conflicts: []merge.Conflict{gates("{description: a, readinessGates: []}")}}}, "3", true, "loses 1 edit: info (none) → {description: a, readinessGates: []} of Kptfile"},
		"the Draft has more of info":                       {[]Update{{[]merge.Conflict{gates("readinessGates: []")}, kptfile(t, "info: {description: a, readinessGates: []}")}}, "3", true, "loses 1 edit: info (none) → {description: a, readinessGates: []} of Kptfile"},
		"the machine owns conditions":                      {[]Update{has("3", merge.Conflict{Path: "Kptfile", Resource: krm.ID{Group: "kpt.dev", Kind: "Kptfile", Name: "web"}, Field: "status.conditions[type=x]", Fate: merge.Overruled, Winner: merge.Upstream, Upstream: "{}"})}, "3", true, ""},
		"the machine sets a field of an added resource":    {[]Update{has("3", merge.Conflict{Path: "d.yaml", Resource: web, Fate: merge.Overruled, Winner: merge.Upstream, Local: "(resource)", Upstream: "2"})}, "9", true, ""},
		"an added resource is gone":                        {[]Update{has("3", merge.Conflict{Path: "d.yaml", Resource: krm.ID{Kind: "ConfigMap", Name: "more"}, Fate: merge.Overruled, Winner: merge.Upstream, Local: "(resource)"})}, "9", true, "loses 1 edit: ConfigMap more (resource) → (none)"},
		"two updates replaced it, one after the other":     {[]Update{has("4", met(merge.Lost, merge.Upstream, "3", "4", "")), has("4", lost)}, "9", true, "loses 1 edit: spec.replicas 9 → 4 (by Ux) of Deployment web"},
		"the second put it back":                           {[]Update{has("9", met(merge.Lost, merge.Upstream, "3", "9", "")), has("9", lost)}, "9", true, ""},
		"people edited in between":                         {[]Update{has("4", met(merge.Lost, merge.Upstream, "5", "4", "Vi (abcc0d5)")), has("4", lost)}, "9", true, "loses 1 edit: spec.replicas 5 → 4 (by Vi) of Deployment web"},
		"a value of another package was left out":          {[]Update{has("3", met(merge.LeftOut, merge.Upstream, "9", "3", ""))}, "9", true, ""},
		"what was left out is put back":                    {[]Update{has("9", met(merge.Overruled, merge.Upstream, "3", "9", "")), has("9", met(merge.LeftOut, merge.Upstream, "9", "3", ""))}, "9", true, ""},
		"another value than was left out is put there":     {[]Update{has("8", met(merge.Overruled, merge.Upstream, "3", "8", "")), has("8", met(merge.LeftOut, merge.Upstream, "9", "3", ""))}, "9", true, ""},
		"people edited what was left out":                  {[]Update{has("9", met(merge.Overruled, merge.Upstream, "7", "9", "Vi (abcc0d5)")), has("9", met(merge.LeftOut, merge.Upstream, "9", "3", ""))}, "9", true, "loses 1 edit: spec.replicas 7 → 9 (by Vi) of Deployment web"},
		"no update met an edit":                            {[]Update{has("3")}, "3", true, ""},
		"a credential that is gone":                        {[]Update{has("9", merge.Conflict{Path: "d.yaml", Resource: web, Field: "spec.token", Fate: merge.Lost, Winner: merge.Upstream, Local: "(redacted)", Upstream: "(redacted)"})}, "9", true, "loses 1 edit: spec.token (redacted) → (none) of Deployment web"},
		"a whole resource":                                 {[]Update{has("3", merge.Conflict{Path: "d.yaml", Resource: krm.ID{Kind: "ConfigMap", Name: "more"}, Fate: merge.Lost, Winner: merge.Upstream, Local: "(resource)"})}, "9", true, "loses 1 edit: ConfigMap more (resource) → (none)"},
		"a text file":                                      {[]Update{has("3", merge.Conflict{Path: "notes.txt", Field: "line 3", Fate: merge.Lost, Winner: merge.Upstream, Local: "a", Upstream: "b"})}, "9", true, "loses 1 edit: line 3 a → b of notes.txt"},
	} {
		t.Run(reason, func(t *testing.T) {
			got := LostEdits(tc.updates, replicated(t, tc.branch), func(c merge.Conflict) (string, bool) { return c.By, tc.onBranch })
			if diff := cmp.Diff(tc.want, Loses(got)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A revision that loses an edit is published only by who saw that, or says so.
func TestRefuseLost(t *testing.T) {
	lost := []LostEdit{{File: "d.yaml", Field: "spec.replicas", Was: "9", Now: "3"}}
	for reason, tc := range map[string]struct {
		c      Candidate
		accept bool
		want   string
	}{
		"nobody saw it":             {Candidate{From: lifecycle.Draft, Lost: lost}, false, "loses 1 edit: spec.replicas 9 → 3"},
		"it was proposed":           {Candidate{From: lifecycle.Proposed, Lost: lost}, false, "loses 1 edit: spec.replicas 9 → 3"},
		"its class showed it":       {Candidate{From: lifecycle.Draft, Lost: lost, Class: "0123456789ab"}, false, ""},
		"the loss is accepted":      {Candidate{From: lifecycle.Draft, Lost: lost}, true, ""},
		"nothing is lost":           {Candidate{From: lifecycle.Draft}, false, ""},
		"the package is to go":      {Candidate{From: lifecycle.DeletionProposed, Lost: lost}, false, ""},
		"it is refused for another": {Candidate{From: lifecycle.Draft, Lost: lost, Err: errors.New("held")}, false, "held"},
	} {
		t.Run(reason, func(t *testing.T) {
			RefuseLost([]*Candidate{&tc.c}, tc.accept)
			switch got := tc.c.Err; {
			case tc.want == "" && got != nil, tc.want != "" && (got == nil || !strings.HasPrefix(got.Error(), tc.want)):
				t.Errorf("%v, want %q", got, tc.want)
			}
		})
	}
}
