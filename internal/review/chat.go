package review

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/variform/variform/internal/count"
)

// mostChat is the number of findings and classes in a chat message.
const mostChat = 12

// chatEscapes are what Slack requires. Inside a span of code, a backtick would end it.
var chatEscapes = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "`", "'")

// Chat writes a digest as the JSON of a chat message: {"text": …}, which the incoming webhooks of
// Slack, Mattermost and Microsoft Teams accept. The text is the summary, then what a person
// must look at, the changes and the next command, in at most 16 lines. Text from packages is in
// spans of code, where nothing is a link or mentions anybody.
func Chat(d *Digest) (string, error) {
	command := d.command()
	lines := []string{"Variform " + command}
	if at := strings.TrimSpace(d.Source.Name + " " + d.Source.At()); at != "" {
		lines[0] += " " + chatCode(at)
	}
	lines[0] += ": " + chatCode(d.Summary)
	var all []string
	for i := range d.Findings {
		f := &d.Findings[i]
		if slices.Index(Kinds, f.Kind) > slices.Index(Kinds, Waiting) {
			continue
		}
		first, _, _ := strings.Cut(strings.TrimSpace(f.Message), "\n")
		all = append(all, fmt.Sprintf("• %s, %s: %s", f.Kind, f.who(), chatCode(first)))
	}
	if d.Changes != nil {
		classes := slices.Clone(d.Changes.Classes)
		slices.SortStableFunc(classes, func(a, b Class) int { return a.Compare(&b) })
		for _, c := range classes {
			all = append(all, fmt.Sprintf("• change, %s: %s", count.Of(len(c.Members), "variant"), chatCode(c.Headline())))
		}
	}
	lines = append(lines, all[:min(mostChat, len(all))]...)
	if more := len(all) - mostChat; more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more: run %s", more, chatCode(advice(command))))
	}
	if command == "apply" && d.Changes != nil && len(d.Changes.Classes) > 0 {
		lines = append(lines, "Next: "+chatCode("variform review"))
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(map[string]string{"text": strings.Join(lines, "\n")})
	return b.String(), err
}

// chatCode returns a text as a span of code.
func chatCode(s string) string { return "`" + chatEscapes.Replace(oneLine(s)) + "`" }
