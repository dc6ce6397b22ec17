package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/variform/variform/internal/decide"
	"github.com/variform/variform/internal/fleet"
	"github.com/variform/variform/internal/page"
	"github.com/variform/variform/internal/reconcile"
	"github.com/variform/variform/internal/review"
	"github.com/variform/variform/internal/source"
)

// The formats for systems that show a run to people beside their changes.
const (
	markdownFormat = "markdown"
	githubFormat   = "github"
	gitlabFormat   = "gitlab"
	htmlFormat     = "html"
	chatFormat     = "chat"
)

// reports write a digest, each in its format: a new one is a line here.
var reports = []struct {
	format string
	write  func(w io.Writer, d *review.Digest) error
}{
	{markdownFormat, func(w io.Writer, d *review.Digest) error { return writeText(w, review.Markdown(d, 0), nil) }},
	{githubFormat, func(w io.Writer, d *review.Digest) error { return writeText(w, review.GitHub(d), nil) }},
	{gitlabFormat, func(w io.Writer, d *review.Digest) error {
		text, err := review.GitLab(d)
		return writeText(w, text, err)
	}},
	{htmlFormat, page.Write},
	{chatFormat, func(w io.Writer, d *review.Digest) error {
		text, err := review.Chat(d)
		return writeText(w, text, err)
	}},
}

// reportFormats are the names of reports, in their order.
var reportFormats = func() (names []string) {
	for _, r := range reports {
		names = append(names, r.format)
	}
	return names
}()

func newReport(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:   "report [FILE]",
		Short: "turn the JSON of plan or apply into a report",
		Long: `Report reads the output of "plan -o json" or "apply -o json" from FILE or from
stdin and writes a report. A pipeline thus plans once and shows the result in
several places.

  markdown   a comment of at most 65,000 bytes: deletions, lost edits and
             failures, then each class of identical change once, outliers first
  github     workflow commands, which GitHub Actions shows at files and lines
  gitlab     a Code Quality report, which GitLab shows in the merge request
  html       a page in one file, for a browser: an artifact of the pipeline
  chat       the JSON of a message for a webhook of Slack, Mattermost or Teams

Its exit status is 0, however the run ended.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			d, err := a.readDigest(args)
			if err != nil {
				return err
			}
			return a.printDigest(d)
		},
	}
	a.addFormats(c, markdownFormat, reportFormats)
	c.AddCommand(newJoin(a))
	return c
}

// readDigest reads the file that args name, or stdin.
func (a *app) readDigest(args []string) (*review.Digest, error) {
	name, data, err := a.readInput(slices.Concat(args, []string{""})[0])
	if err != nil {
		return nil, err
	}
	var d review.Digest
	if err = json.Unmarshal(data, &d); err == nil && d.Command == "" {
		err = errors.New(`it has no field "command"`)
	}
	if err != nil {
		return nil, fmt.Errorf("%s is not what plan -o json or apply -o json prints: %w", name, err)
	}
	return &d, nil
}

// printDigest writes a digest in one of reportFormats.
func (a *app) printDigest(d *review.Digest) error {
	i := slices.Index(reportFormats, a.output)
	return reports[i].write(a.Out, d)
}

func writeText(w io.Writer, text string, err error) error {
	if err != nil {
		return err
	}
	_, err = io.WriteString(w, text)
	return err
}

// digest says what a plan, or what came of it, holds for a reader; of a shard, part gets
// what it is made of.
func (s *opening) digest(p *reconcile.Plan, done bool, part *shardView) (*review.Digest, error) {
	d := &review.Digest{Command: "plan", Summary: summary(p, done), Fleet: s.folder(), Source: s.from()}
	if done {
		d.Command = "apply"
	}
	classes := review.Classifier{Sets: p.SetSizes()}
	var notes []review.Note
	for _, i := range p.Items {
		if c, ok := i.Change(); ok && i.Action != decide.ActionRelease {
			compared, err := review.Compare(c)
			if err != nil {
				return nil, err
			}
			classes.Add(c.Variant, compared)
		}
		notes = append(notes, s.notesOf(i)...)
	}
	notes = append(notes, s.notesOfPlan(p)...)
	d.Findings = review.Group(notes)
	var err error
	if part != nil {
		part.Notes = notes
		if part.Classes, err = classes.Parts(); err != nil {
			return nil, err
		}
	}
	d.Changes, err = classes.Report()
	return d, err
}

// told is what a reader is told of actions; those that are not here show in
// the changes.
var told = map[decide.Action]struct {
	kind review.Kind
	what string
}{
	decide.ActionDiscard: {review.Deletion, "the open Draft goes"},
	decide.ActionRetire:  {review.Deletion, "the Published package is proposed for deletion"},
	decide.ActionRestore: {review.Notice, "its proposed deletion is taken back"},
	decide.ActionTrim:    {review.Deletion, "old revisions go"},
	decide.ActionRelease: {review.Deletion, "ownership is given up"},
	decide.ActionForget:  {review.Notice, "what was said of it goes"},
	decide.ActionRecord:  {review.Notice, "the record alone changes"},
	decide.ActionWait:    {review.Waiting, "not published"},
	decide.ActionKeep:    {review.Waiting, "kept"},
	decide.ActionTag:     {review.Notice, "tagged as Published"},
	decide.ActionPublish: {review.Notice, "published without review"},
}

func (s *opening) notesOf(i *reconcile.Item) []review.Note {
	var out []review.Note
	at := fleet.Origin(s.fleet, i)
	add := func(kind review.Kind, message string, at source.Origin) {
		out = append(out, review.Note{
			Kind: kind, Message: message, Variant: i.Identity.String(), Aliases: i.Aliases(), File: s.path(at.File), Line: at.Line,
		})
	}
	if i.Err != nil {
		where, message := fleet.PlaceOf(i.Err)
		add(review.Failure, message, where)
	}
	for _, what := range i.Invalid {
		add(review.Failure, decide.DoesNotValidate+what, at)
	}
	if t, ok := told[i.Action]; ok {
		add(t.kind, strings.TrimSuffix(t.what+": "+strings.Join(i.Reasons, "; "), ": "), at)
	}
	for _, l := range i.Lost {
		add(review.Conflict, l.File+": "+l.String(), at)
	}
	for _, c := range i.Conflicts {
		if !c.LosesEdit() {
			add(review.Notice, c.String(), at)
		}
	}
	for _, w := range i.Warnings {
		add(review.Warning, w, at)
	}
	return out
}

func (s *opening) notesOfPlan(p *reconcile.Plan) []review.Note {
	var out []review.Note
	for _, c := range fleet.Causes(p) {
		at, message := fleet.PlaceOf(c.Err)
		out = append(out, review.Note{Kind: review.Failure, Message: c.With(message), File: s.path(at.File), Line: at.Line})
	}
	for _, w := range warningsOf(p) {
		out = append(out, review.Note{Kind: review.Warning, Message: w})
	}
	for _, b := range p.PruneBlocked {
		out = append(out, review.Note{Kind: review.Warning, Message: "nothing is deleted in this run: " + b})
	}
	return out
}

// folder is the management directory as a path that a person in the working
// directory would follow: relative where it is below; in a Git repository the
// folder there.
func (s *opening) folder() string {
	at, err := source.ParseLocation(s.fleet.Location)
	if err != nil || at.Git() {
		return at.Dir
	}
	if wd, err := os.Getwd(); err == nil && filepath.IsAbs(at.Folder) {
		if rel, err := filepath.Rel(wd, at.Folder); err == nil && filepath.IsLocal(rel) {
			at.Folder = rel
		}
	}
	return filepath.ToSlash(at.Folder)
}

func (s *opening) path(file string) string {
	if file == "" {
		return ""
	}
	return path.Join(s.folder(), file)
}
