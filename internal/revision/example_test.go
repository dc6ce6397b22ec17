package revision_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/variform/variform/internal/revision"
)

// tags are the names of a package's revisions in some store.
type tags map[string]string

func (t tags) Look(_ context.Context, _ revision.Rule, text string) (string, bool, error) {
	at, ok := t[text]
	return at, ok, nil
}

func (t tags) Versions(context.Context) ([]revision.Version, error) {
	var out []revision.Version
	for tag := range t {
		if v, ok := revision.ParseVersion(tag); ok {
			out = append(out, revision.Version{Tag: tag, Semver: v})
		}
	}
	return out, nil
}

func (t tags) None(_ context.Context, reason string, _ []string) error { return errors.New(reason) }

func Example() {
	names := tags{"v1.2.0": "11aa", "v1.3.0": "22bb", "v2.0.0": "33cc"}
	at, rule, err := revision.Find(context.Background(), revision.Query{Revision: "^1.2"}, revision.Git, names)
	fmt.Println(at, rule, err)
	// Output:
	// 22bb range <nil>
}
