package render

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/variform/variform/internal/krm"
)

// registry answers with a digest for each image, and counts the questions.
type registry struct {
	mu    sync.Mutex
	asked map[string]int
}

func (r *registry) digest(_ context.Context, image string) (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked[image]++
	if strings.Contains(image, "gone") {
		return "", errors.New("not found")
	}
	return fakeDigest(image), nil
}

func fakeDigest(image string) string {
	return "sha256:" + strings.Repeat(string("0123456789abcdef"[len(image)%16]), 64)
}

const pinned = "@sha256:00000000000000000000000000000000000000000000000000000000000000aa"

func TestPin(t *testing.T) {
	root := "# top\n" + kptfileOf("root", "pipeline:  # ours\n  mutators:\n"+
		"  - image: 'set-labels:v0.2'   # labels\n    configMap: {k: v}\n\n"+
		"  - {image: example.com/fn:v1, name: one}\n  - exec: ./fn\n"+
		"  validators:\n    - configMap: {}\n      image: \"example.com/fn:v1\" # again\n    - image: example.com/done:v1"+pinned+"\n# end\n")
	sub := kptfileOf("sub", "pipeline:\r\n  mutators:\r\n  - image: example.com/untagged\r\n")
	p := pkg(t, map[string]string{"Kptfile": root, "a/b/Kptfile": sub, "a.yaml": configMap("a")})
	reg := &registry{asked: map[string]int{}}
	o := Options{AllowedImages: []string{"example.com/*", DefaultRegistry + "/*"}}

	got, err := Pin(context.Background(), p, o, reg.digest)
	if err != nil {
		t.Fatal(err)
	}
	labels, fn, untagged := "@"+fakeDigest(DefaultRegistry+"/set-labels:v0.2"), "@"+fakeDigest("example.com/fn:v1"), "@"+fakeDigest("example.com/untagged")
	want := []Pinned{
		{File: "Kptfile", Field: "pipeline.mutators[0].image", Was: "set-labels:v0.2", Image: DefaultRegistry + "/set-labels" + labels, Builtin: true},
		{File: "Kptfile", Field: "pipeline.mutators[1].image", Was: "example.com/fn:v1", Image: "example.com/fn" + fn},
		{File: "Kptfile", Field: "pipeline.validators[0].image", Was: "example.com/fn:v1", Image: "example.com/fn" + fn},
		{File: "Kptfile", Field: "pipeline.validators[1].image", Was: "example.com/done:v1" + pinned, Image: "example.com/done:v1" + pinned},
		{File: "a/b/Kptfile", Field: "pipeline.mutators[0].image", Was: "example.com/untagged", Image: "example.com/untagged" + untagged},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	wantFiles := map[string]string{
		"Kptfile":     strings.NewReplacer("set-labels:v0.2'", DefaultRegistry+"/set-labels"+labels+"'", "fn:v1,", "fn"+fn+",", "fn:v1\"", "fn"+fn+"\"").Replace(root),
		"a/b/Kptfile": strings.Replace(sub, "untagged", "untagged"+untagged, 1), "a.yaml": configMap("a"),
	}
	if diff := cmp.Diff(wantFiles, contents(t, p)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]int{DefaultRegistry + "/set-labels:v0.2": 1, "example.com/fn:v1": 1, "example.com/untagged": 1}, reg.asked); diff != "" {
		t.Errorf("questions to registries (-want +got):\n%s", diff)
	}

	// Again: nothing is asked, nothing changes, and a renderer takes the image as pinned.
	reg.asked = map[string]int{}
	again, err := Pin(context.Background(), p, o, reg.digest)
	if diff := cmp.Diff(wantFiles, contents(t, p)); err != nil || len(reg.asked) != 0 || diff != "" {
		t.Errorf("a second time: %v, asked %v (-want +got):\n%s", err, reg.asked, diff)
	}
	for _, f := range again {
		if f.Was != f.Image {
			t.Errorf("pinned again: %+v", f)
		}
	}
	ref, err := parseImage(got[0].Image)
	if err != nil || "@"+ref.digest != labels {
		t.Errorf("%q is read as %+v, %v", got[0].Image, ref, err)
	}
}

// TestPinRefuses: all that cannot be pinned at once, and nothing is.
// TestPinThroughAlias holds that an image written as an alias is pinned where it
// is written out.
func TestPinThroughAlias(t *testing.T) {
	text := kptfileOf("a", "pipeline:\n  mutators: &fns\n  - image: &fn example.com/fn:v1\n  - image: *fn\n  validators: *fns\n")
	p := pkg(t, map[string]string{"Kptfile": text})
	if _, err := Pin(context.Background(), p, Options{}, (&registry{asked: map[string]int{}}).digest); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"Kptfile": strings.Replace(text, "fn:v1", "fn@"+fakeDigest("example.com/fn:v1"), 1)}
	if diff := cmp.Diff(want, contents(t, p)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestPinRefuses(t *testing.T) {
	files := map[string]string{
		"x/Kptfile": kptfileOf("x", "pipeline:\n  mutators:\n  - image: example.com/gone:v1\n  - image: evil.example.com/fn:v1\n  - image: example.com/fn\n    tag: ~1\n  - image: example.com/good:v1\n"),
		"y/Kptfile": kptfileOf("y", "pipeline:\n  validators:\n  - image: 'NOT AN IMAGE'\n"),
		"z/Kptfile": "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: [\n",
	}
	p := pkg(t, files)
	got, err := Pin(context.Background(), p, Options{AllowedImages: []string{"example.com/*"}}, (&registry{asked: map[string]int{}}).digest)
	if err == nil || got != nil {
		t.Fatalf("pinned: %v", got)
	}
	for _, want := range []string{
		`package "x": pipeline.mutators[0] example.com/gone:v1: not found`, `pipeline.mutators[1] evil.example.com/fn:v1`, "--allow-image",
		`pipeline.mutators[2]`, "remove the field tag", `"y"`, "NOT AN IMAGE", `"z"`,
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in:\n%v", want, err)
		}
	}
	if diff := cmp.Diff(files, contents(t, p)); diff != "" {
		t.Errorf("the files have changed:\n%s", diff)
	}
	var none *krm.Package
	if none, err = krm.Parse(nil); err != nil {
		t.Fatal(err)
	}
	if got, err := Pin(context.Background(), none, Options{}, nil); err != nil || len(got) != 0 {
		t.Errorf("no Kptfile: %v, %v", got, err)
	}
}
