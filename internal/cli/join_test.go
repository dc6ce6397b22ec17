package cli

import (
	"strings"
	"testing"

	"github.com/variform/variform/internal/shard"
)

// Results are joined only where they are all shards of one run.
func TestComplete(t *testing.T) {
	part := func(i, n int, change ...func(*joinFile)) *joinFile {
		s := shard.Shard{Index: i, Of: n}
		f := &joinFile{name: s.String() + ".json", shard: s, Kind: "Plan", Command: "plan", Part: &shardView{Version: "v1", Fleet: "f", Options: "o"}}
		for _, c := range change {
			c(f)
		}
		return f
	}
	for name, tt := range map[string]struct {
		list []*joinFile
		want string // in the error
	}{
		"all":             {[]*joinFile{part(2, 3), part(1, 3), part(3, 3)}, ""},
		"one of one":      {[]*joinFile{part(1, 1)}, ""},
		"one is missing":  {[]*joinFile{part(1, 4), part(2, 4), part(4, 4)}, "what of shard 3/4? Give the results of all 4"},
		"several missing": {[]*joinFile{part(2, 4)}, "shard 1/4, 3/4, 4/4?"},
		"one twice":       {[]*joinFile{part(1, 2), part(1, 2)}, "1/2.json and 1/2.json are both shard 1/2"},
		"other numbers":   {[]*joinFile{part(1, 2), part(2, 3)}, "2/3.json is shard 2/3, not one of 2 than"},
		"another fleet":   {[]*joinFile{part(1, 2), part(2, 2, func(f *joinFile) { f.Part.Fleet = "g" })}, "2/2.json is of another management directory, or another commit of it than 1/2.json"},
		"another program": {[]*joinFile{part(1, 2), part(2, 2, func(f *joinFile) { f.Part.Version = "v2" })}, "of another program (v2, not v1)"},
		"other options":   {[]*joinFile{part(1, 2), part(2, 2, func(f *joinFile) { f.Part.Options = "p" })}, "of a run with other options"},
		"another command": {[]*joinFile{part(1, 2), part(2, 2, func(f *joinFile) { f.Command = "apply" })}, "of another command"},
		"another kind":    {[]*joinFile{part(1, 2), part(2, 2, func(f *joinFile) { f.Kind = "Review" })}, "of another command"},
	} {
		if err := complete(tt.list); (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
	}
}
