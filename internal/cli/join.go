package cli

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/variform/variform/api/config/v1alpha1"
	"github.com/variform/variform/api/config/v1alpha2"
	"github.com/variform/variform/internal/decide"
	"github.com/variform/variform/internal/fleet"
	"github.com/variform/variform/internal/observe"
	"github.com/variform/variform/internal/reconcile"
	"github.com/variform/variform/internal/review"
	"github.com/variform/variform/internal/shard"
	"github.com/variform/variform/internal/version"
)

// shardView says of what run a result is a part, and holds what the result of the
// whole is made of: what stands beside it is for who reads the part alone.
type shardView struct {
	Shard string `json:"shard"`
	// What must be one in all parts: the program, the management directory, and what
	// the command was told besides.
	Version string `json:"version"`
	Fleet   string `json:"fleet,omitempty"`
	Options string `json:"options"`

	Classes *review.Parts `json:"classes,omitempty"`
	Notes   []review.Note `json:"notes,omitempty"`
	Sets    []setState    `json:"sets,omitempty"`
	Items   []itemState   `json:"items,omitempty"`
}

// setState and itemState are what the status of sets follows from.
type setState struct {
	Namespace string   `json:"namespace"`
	Name      string   `json:"name"`
	Variants  int      `json:"variants"`
	Failures  []string `json:"failures,omitempty"`
}

type itemState struct {
	Variant   string    `json:"variant"`
	Namespace string    `json:"namespace"`
	Workspace string    `json:"workspace,omitempty"`
	Name      string    `json:"name"`
	Set       string    `json:"set"`
	Action    string    `json:"action"`
	Reasons   []string  `json:"reasons,omitempty"`
	Error     string    `json:"error,omitempty"`
	Since     time.Time `json:"since,omitzero"`
	When      time.Time `json:"when,omitzero"`
}

// part is what a result says of the shard that it is of, nil for a whole one. More are
// options that the fleet's flags do not have.
func (a *app) part(s *opening, more ...any) *shardView {
	if a.fleet.shard == "" {
		return nil
	}
	f := a.fleet
	f.location, f.cacheDir, f.shard, f.concurrency, f.maxRefs = "", "", "", 0, 0
	f.packages, f.preview, f.named = false, false, false
	return &shardView{
		Shard: a.fleet.shard, Version: version.Program(), Fleet: s.files.Digest(),
		Options: fmt.Sprintf("%x", sha256.Sum256(fmt.Appendf(nil, "%+v %v", f, more)))[:12],
	}
}

// states are what the status of sets follows from.
func (v *shardView) states(p *reconcile.Plan) {
	for _, s := range p.Sets {
		st := setState{Namespace: s.Namespace, Name: s.Name, Variants: s.Variants}
		for _, f := range s.Failures {
			st.Failures = append(st.Failures, f.Error())
		}
		v.Sets = append(v.Sets, st)
	}
	for _, i := range p.Items {
		if i.Set == "" || i.Variant == nil {
			continue
		}
		st := itemState{
			Variant: i.Identity.String(), Namespace: i.Namespace, Workspace: i.Workspace, Name: i.Name, Set: i.Set,
			Action: string(i.Action), Reasons: i.Reasons, Since: i.Since, When: i.When,
		}
		if i.Err != nil {
			st.Error = i.Err.Error()
		}
		v.Items = append(v.Items, st)
	}
}

// withoutDiffs leaves the examples' diffs out.
func (v *shardView) withoutDiffs() {
	if v == nil {
		return
	}
	for i := range v.Classes.Classes {
		v.Classes.Classes[i].Example.Diff = ""
	}
}

func identityOf(namespace, variant string) decide.Identity {
	repo, pkg, _ := strings.Cut(variant, "/")
	return decide.Identity{Namespace: namespace, Repository: repo, Package: pkg}
}

func newJoin(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:   "join FILE...",
		Short: "join the results of shards into the result of one run",
		Long: `Join reads the output of "plan -o json --shard I/N" (or of apply, review or status)
of each of N shards. It writes what one run over the whole fleet prints: every
variant in its place, each class once with all its members, each finding once. It
needs all N results, of one fleet, one program and the same options. A class's ID is
that of the whole; approve accepts it without --shard.

-o json and yaml work for plan, apply, review and status, the formats of report for
plan, apply and review, and markdown and html for review.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			list := make([]*joinFile, len(args))
			for i, name := range args {
				var err error
				if list[i], err = a.readPart(name); err != nil {
					return err
				}
			}
			if err := complete(list); err != nil {
				return err
			}
			slices.SortFunc(list, func(x, y *joinFile) int { return x.shard.Index - y.shard.Index })
			switch list[0].Kind {
			case "Plan":
				return a.joinPlans(list)
			case "Review":
				return a.joinReviews(list)
			}
			return a.joinStatus(list)
		},
	}
	a.addFormats(c, "json", append([]string{"json", "yaml"}, reportFormats...))
	return c
}

// joinFile is what a shard printed.
type joinFile struct {
	name  string
	data  []byte
	shard shard.Shard

	Kind    string     `json:"kind"`
	Command string     `json:"command"`
	Part    *shardView `json:"shard"`

	Source review.Source `json:"source"`
}

func (a *app) readPart(name string) (*joinFile, error) {
	f := &joinFile{name: name}
	var err error
	if f.name, f.data, err = a.readInput(name); err != nil {
		return nil, err
	}
	if err = json.Unmarshal(f.data, f); err == nil {
		switch {
		case !slices.Contains([]string{"Plan", "Review", "List"}, f.Kind):
			err = errors.New("its kind is no Plan, Review or List")
		case f.Part == nil:
			err = errors.New("it is of a whole run")
		default:
			f.shard, err = shard.Parse(f.Part.Shard)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%s is not what plan, apply, review or status prints with -o json and --shard: %w", f.name, err)
	}
	return f, nil
}

// complete refuses what are not all shards of one run.
func complete(list []*joinFile) error {
	first := list[0]
	seen := map[int]*joinFile{}
	for _, f := range list {
		var what string
		switch {
		case f.Kind != first.Kind || f.Command != first.Command:
			what = "of another command"
		case f.shard.Of != first.shard.Of:
			what = fmt.Sprintf("shard %s, not one of %d", f.shard, first.shard.Of)
		case f.Part.Version != first.Part.Version:
			what = fmt.Sprintf("of another program (%s, not %s)", f.Part.Version, first.Part.Version)
		case f.Part.Fleet != first.Part.Fleet:
			what = "of another management directory, or another commit of it"
		case f.Part.Options != first.Part.Options:
			what = "of a run with other options"
		}
		if what != "" {
			return fmt.Errorf("%s is %s than %s: run all shards alike", f.name, what, first.name)
		}
		if twin := seen[f.shard.Index]; twin != nil {
			return fmt.Errorf("%s and %s are both shard %s", twin.name, f.name, f.shard)
		}
		seen[f.shard.Index] = f
	}
	var missing []string
	for i := 1; i <= first.shard.Of; i++ {
		if seen[i] == nil {
			missing = append(missing, shard.Shard{Index: i, Of: first.shard.Of}.String())
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("what of shard %s? Give the results of all %d", strings.Join(decide.Limit(missing, 5), ", "), first.shard.Of)
	}
	return nil
}

// classes are those of the whole.
func classes(list []*joinFile) (*review.Report, error) {
	parts := make([]*review.Parts, len(list))
	for i, f := range list {
		if parts[i] = f.Part.Classes; parts[i] == nil {
			return nil, fmt.Errorf("%s has no classes in its field \"shard\"", f.name)
		}
	}
	return review.Join(parts...)
}

func notes(list []*joinFile) (out []review.Note) {
	for _, f := range list {
		out = append(out, f.Part.Notes...)
	}
	return out
}

func (a *app) joinPlans(list []*joinFile) error {
	var out planView
	shown := &reconcile.Plan{} // as much of it as its summary tells
	for i, f := range list {
		var v planView
		if err := json.Unmarshal(f.data, &v); err != nil {
			return fmt.Errorf("reading %s: %w", f.name, err)
		}
		if i == 0 {
			out = planView{Digest: review.Digest{Command: v.Command, Fleet: v.Digest.Fleet, Source: list[0].Source}, Variants: []itemView{}}
		}
		out.Variants = append(out.Variants, v.Variants...)
		out.PullRequests = append(out.PullRequests, v.PullRequests...)
		out.Problems, out.Warnings = append(out.Problems, v.Problems...), append(out.Warnings, v.Warnings...)
		for _, b := range v.PruneBlocked {
			if !slices.Contains(out.PruneBlocked, b) {
				out.PruneBlocked = append(out.PruneBlocked, b)
			}
		}
	}
	sortPulls(out.PullRequests)
	slices.SortStableFunc(out.Variants, func(x, y itemView) int {
		return cmp.Or(identityOf(x.Namespace, x.Variant).Compare(identityOf(y.Namespace, y.Variant)), cmp.Compare(x.Workspace, y.Workspace))
	})
	for _, v := range out.Variants {
		shown.Items = append(shown.Items, fleet.ItemOf(identityOf(v.Namespace, v.Variant), decide.Action(v.Action), v.Lifecycle))
	}
	out.Problems, out.Warnings = eachOnce(out.Problems), eachOnce(out.Warnings)
	out.Summary, out.Findings = summary(shown, out.Command == "apply"), review.Group(notes(list))
	var err error
	if out.Changes, err = classes(list); err != nil {
		return err
	}
	if slices.Contains(reportFormats, a.output) {
		return a.printDigest(&out.Digest)
	}
	return encodeAs(a.Out, a.output, "Plan", out)
}

// sortPulls sorts requests by Repository.
func sortPulls(list []pullView) {
	slices.SortStableFunc(list, func(x, y pullView) int { return cmp.Compare(x.Repository, y.Repository) })
}

// eachOnce sorts what a run says of no one variant: shards say it in no one order.
func eachOnce(texts []string) []string { return slices.Compact(slices.Sorted(slices.Values(texts))) }

func (a *app) joinReviews(list []*joinFile) error {
	if slices.Contains([]string{githubFormat, gitlabFormat, chatFormat}, a.output) {
		return fmt.Errorf("--output %s: a review is json, yaml, %s or %s", a.output, markdownFormat, htmlFormat)
	}
	report, err := classes(list)
	if err != nil {
		return err
	}
	return a.printReview(reviewView{Source: list[0].Source, Report: report, Findings: review.Group(notes(list))}, true)
}

func (a *app) joinStatus(list []*joinFile) error {
	if a.output != "json" && a.output != "yaml" {
		return fmt.Errorf("--output %s: status is json or yaml", a.output)
	}
	var items []*reconcile.Item
	type printed struct {
		of     decide.Identity
		object any
	}
	var variants []printed
	var sets []any
	for i, f := range list {
		for _, st := range f.Part.Items {
			item := &reconcile.Item{
				Identity: identityOf(st.Namespace, st.Variant), Workspace: st.Workspace, Name: st.Name, Set: st.Set, Variant: &v1alpha1.PackageVariant{},
				Action: decide.Action(st.Action), Reasons: st.Reasons, Since: st.Since, When: st.When,
			}
			if st.Error != "" {
				item.Err = errors.New(st.Error)
			}
			items = append(items, item)
		}
		var v struct {
			Items []map[string]any `json:"items"`
		}
		if err := json.Unmarshal(f.data, &v); err != nil {
			return fmt.Errorf("reading %s: %w", f.name, err)
		}
		for _, o := range v.Items {
			if o["kind"] != v1alpha2.KindPackageVariantSet {
				variants = append(variants, printed{downstreamOf(o), o})
			} else if i == 0 {
				sets = append(sets, o)
			}
		}
	}
	reconcile.SortItems(items)
	slices.SortStableFunc(variants, func(x, y printed) int { return x.of.Compare(y.of) })
	for _, o := range sets {
		setStatus(o.(map[string]any), list[0].Part.Sets, items)
	}
	for _, v := range variants {
		sets = append(sets, v.object)
	}
	return objectsOf(a.Out, a.output, sets, list[0].Source, nil)
}

// downstreamOf is the identity of a variant that was printed.
func downstreamOf(o any) decide.Identity {
	var v v1alpha1.PackageVariant
	data, err := json.Marshal(o)
	if err != nil || json.Unmarshal(data, &v) != nil || v.Spec.Downstream == nil {
		return decide.Identity{}
	}
	return decide.Identity{Namespace: v.Namespace, Repository: v.Spec.Downstream.Repo, Package: v.Spec.Downstream.Package}
}

// setStatus makes the conditions of a set that was printed those of the whole.
func setStatus(o map[string]any, states []setState, items []*reconcile.Item) {
	meta, _ := o["metadata"].(map[string]any)
	for _, st := range states {
		if meta["name"] != st.Name || cmp.Or(fmt.Sprint(meta["namespace"]), "") != st.Namespace {
			continue
		}
		status := reconcile.SetStatus{Set: observe.Set{Namespace: st.Namespace, Name: st.Name, Variants: st.Variants}}
		for _, f := range st.Failures {
			status.Failures = append(status.Failures, errors.New(f))
		}
		set := &v1alpha2.PackageVariantSet{ObjectMeta: metav1.ObjectMeta{Name: st.Name, Namespace: st.Namespace}}
		if g, ok := meta["generation"].(float64); ok {
			set.Generation = int64(g)
		}
		o["status"] = status.WithStatus(set, items).Status
	}
}

// readInput reads a file, or stdin where it is named "-" or not at all.
func (a *app) readInput(name string) (called string, data []byte, err error) {
	if name == "" || name == "-" {
		data, err = io.ReadAll(a.In)
		if err != nil {
			err = fmt.Errorf("reading stdin: %w", err)
		}
		return "stdin", data, err
	}
	data, err = os.ReadFile(name)
	return name, data, err
}
