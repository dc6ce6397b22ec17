package foreign

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/resolver"
)

func carvelDoc(refName, version, spec string) string {
	return "apiVersion: data.packaging.carvel.dev/v1alpha1\nkind: Package\nmetadata: {name: x}\nspec:\n  refName: " + refName + "\n  version: " + version + "\n" + spec
}

func TestCarvel(t *testing.T) {
	image := "  template: {spec: {fetch: [{imgpkgBundle: {image: 'r.example.org/a@sha256:" + strings.Repeat("a", 64) + "'}}]}}\n"
	two := carvelDoc("a.example.org", "1.0.0", "") + "---\n" + carvelDoc("a.example.org", "1.1.0-rc.1", image)
	for name, c := range map[string]struct{ text, document, name, constraints, manifest, err string }{
		"the only one":        {text: carvelDoc("a.example.org", "1.0.0", ""), name: "dir/a", constraints: "versionSelection:\n      constraints: 1.0.0\n", manifest: "name: dir/a\n"},
		"one of two":          {text: two, document: "a.example.org.1.1.0-rc.1", constraints: "constraints: 1.1.0-rc.1\n      prereleases: {}\n", manifest: "name: a.example.org\n"},
		"which is not said":   {text: two, err: "has 2 Carvel Packages"},
		"none of that name":   {text: two, document: "a.example.org.2.0.0", err: "has 0 Carvel Packages a.example.org.2.0.0"},
		"no document at all":  {text: "kind: X\n", err: "has 0 Carvel Packages"},
		"a name with newline": {text: carvelDoc(`"a\nspec: {}"`, "1.0.0", ""), err: "metadata.name"},
		"a refName that is no YAML as it stands": {
			text: carvelDoc(`"a: b #c"`, "1.0.0", ""), name: "a", constraints: "refName: 'a: b #c'\n", manifest: "name: a\n",
		},
		"what it needs": {
			text: carvelDoc("a.example.org", "1.0.0", "  dependencies: [{package: {refName: b.example.org, version: '>=2'}}]\n"), constraints: "refName: a.example.org\n",
			manifest: "requires:\n  - alias: b.example.org\n    package: b.example.org\n    version: '>=2'\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			files, digest, err := Carvel("f.yaml", []byte(c.text), c.document, c.name)
			if c.err != "" || err != nil {
				if c.err == "" || err == nil || !strings.Contains(err.Error(), c.err) {
					t.Fatalf("%v, want %q", err, c.err)
				}
				return
			}
			if _, err := krm.Parse(files); err != nil {
				t.Error(err)
			}
			for n, want := range map[int]string{1: c.manifest, 2: c.constraints} {
				if !strings.Contains(string(files[n].Data), want) {
					t.Errorf("%s lacks %q:\n%s", files[n].Path, want, files[n].Data)
				}
			}
			if !strings.HasPrefix(digest, "sha256:") {
				t.Errorf("digest %q", digest)
			}
		})
	}
}

// What a catalogue and a draft know of a Carvel Package is the same.
func TestInstallable(t *testing.T) {
	text := carvelDoc("a.example.org", "1.0.0", "")
	docs, err := Whole("f.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	p := &docs.Packages[0]
	if !Installable(p) || p.Foreign != "" {
		t.Fatalf("%+v", p)
	}
	files, digest, err := Carvel("f.yaml", []byte(text), Document(p), "")
	if err != nil || digest != p.Digest {
		t.Errorf("digests %s and %s: %v", digest, p.Digest, err)
	}
	for _, in := range p.Parameters {
		if !strings.Contains(string(files[1].Data), "name: "+in.Name+"\n") {
			t.Errorf("%s is not taken:\n%s", in.Name, files[1].Data)
		}
	}
	before := p.Digest
	other := resolver.Package{Foreign: carvelKind, Package: "a.example.org", Version: "1.0.1"}
	if Installable(&other); other.Digest == before {
		t.Error("two versions have one digest")
	}
	porter := resolver.Package{Foreign: "Porter bundle", Package: "b"}
	if want := porter; Installable(&porter) || cmp.Diff(want, porter) != "" {
		t.Errorf("%+v", porter)
	}
}
