package krm

import "testing"

// TestIsBookkeeping lists what other tools note in a package, and what is near it.
func TestIsBookkeeping(t *testing.T) {
	for _, c := range []struct {
		kind, field, reason string
		want                bool
	}{
		{"Kptfile", "status.renderStatus", "kpt's and Porch's report of a render", true},
		{"Kptfile", "status.renderStatus.mutationSteps[0].image", "a part of that report", true},
		{"Kptfile", "status.renderStatuses", "another field that begins so", false},
		{"Kptfile", "status.conditions[type=Rendered]", "the condition of a render", true},
		{"Kptfile", "status.conditions[type=Rendered].reason", "a part of that condition", true},
		{"Kptfile", "status.conditions[type=Ready]", "a condition that a readiness gate may ask for", false},
		{"Kptfile", "status", "what else a status has is somebody's", false},
		{"Deployment", "status.renderStatus", "a field of another kind, by chance of that name", false},
		{"Kptfile", "upstreamLock", "it says what a package is made from", false},
		{"Deployment", "metadata.annotations[internal.config.kubernetes.io/path]", "of kyaml's on its way through a function", true},
		{"Deployment", "metadata.annotations[config.kubernetes.io/index]", "kyaml's old name for it", true},
		{"Deployment", "metadata.annotations[config.kubernetes.io/local-config]", "a person sets it", false},
		{"Deployment", "metadata.annotations[example.com/team]", "a person's", false},
	} {
		if got := IsBookkeeping(c.kind, c.field); got != c.want {
			t.Errorf("%s %s: %t, want %t: %s", c.kind, c.field, got, c.want, c.reason)
		}
	}
}

// TestSameContent is the table of what makes a package another one.
func TestSameContent(t *testing.T) {
	const kptfile = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: p\n  annotations:\n    b: x\n    a: y\npipeline:\n  mutators:\n  - image: set-labels:v0.2\n    configMap: {a: b}\n"
	const rendered = "  conditions:\n  - type: Rendered\n    status: \"True\"\n    reason: RenderSuccess\n  renderStatus:\n    mutationSteps:\n    - image: x\n      exitCode: 0\n"
	const ready = "status:\n  conditions:\n  - type: Ready\n    status: \"True\"\n"
	const cm = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a # kpt-set: ${name}\n# what it is for\ndata:\n  a: \"1\"\n  b: x\n"
	for _, c := range []struct {
		path, a, b string
		want       bool
		reason     string
	}{
		{"Kptfile", kptfile, kptfile + "status:\n" + rendered, true, "Porch adds how it rendered the package"},
		{"Kptfile", kptfile + "status:\n" + rendered, kptfile + "status:\n  renderStatus: {errorSummary: x}\n", true, "and how it rendered it later"},
		{"Kptfile", kptfile + ready, kptfile + ready + "  - type: Rendered\n    status: \"False\"\n", true, "beside another condition"},
		{"Kptfile", kptfile + ready, kptfile + "status:\n" + rendered, false, "the other condition has gone"},
		{"Kptfile", kptfile, kptfile + "status: {}\n", false, "an empty status that somebody wrote"},
		{"Kptfile", kptfile, "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: p\n  annotations:\n    a: y\n    b: x\npipeline:\n  mutators:\n    - image: set-labels:v0.2\n      configMap:\n        a: b\n", true, "annotations are sorted and lists indented"},
		{"Kptfile", kptfile + "info:\n  description: x # why\n", kptfile + "info:\n  description: x # because\n", false, "a comment that somebody changed"},
		{"Kptfile", kptfile, kptfile + "info:\n  description: x\n", false, "a field that people read"},
		{"cm.yaml", cm, "---\napiVersion: \"v1\"\nkind: ConfigMap\n\n# what it is for\ndata: {b: 'x', a: '1'}\n\nmetadata:\n    name: a # kpt-set: ${name}\n", true, "a formatter writes the file"},
		{"cm.yaml", cm, "apiVersion: v1\nkind: ConfigMap\nmetadata: # kpt-merge: default/a\n  name: a # kpt-set: ${name}\n  annotations:\n    internal.config.kubernetes.io/index: '0'\n# what it is for\ndata:\n  a: \"1\"\n  b: x\n", true, "kpt adds its comment, and leaves an annotation"},
		{"cm.yaml", cm, "apiVersion: v1\nkind: ConfigMap\nmetadata: # kpt-merge: default/a\n  name: a # kpt-set: ${name}\n  annotations:\n    internal.kpt.dev/upstream-identifier: '|ConfigMap|default|a'\n# what it is for\ndata:\n  a: \"1\"\n  b: x\n", true, "Porch notes what the resource is upstream"},
		{"cm.yaml", cm, "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n# what it is for\ndata:\n  a: \"1\"\n  b: x\n", false, "the comment of a setter has gone"},
		{"cm.yaml", cm, "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a # kpt-set: ${name}\ndata:\n  a: \"1\"\n  b: x\n", false, "a person's comment has gone"},
		{"cm.yaml", cm, "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n# what it is for\ndata:\n  a: \"1\" # kpt-set: ${name}\n  b: x\n", false, "the comment of a setter is another field's"},
		{"cm.yaml", cm, "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a # kpt-set: ${name}\n# what it is for\ndata:\n  a: 1\n  b: x\n", false, "a number is no text"},
		{"cm.yaml", cm + "---\n" + cm, cm, false, "a resource has gone"},
		{"cm.yaml", cm, cm + "---\n# a note\n", false, "a document of comments alone"},
		{"list.yaml", "apiVersion: v1\nkind: X\nargs: [a, b]\n", "apiVersion: v1\nkind: X\nargs: [b, a]\n", false, "the order of a list counts"},
		{"values.yaml", "a: 1\nb: 2\n", "b: 2\na: 1\n", false, "YAML that is no resource is text"},
		{"x.txt", "a\n", "a\r\n", false, "text"},
		{"bad.yaml", "a: [\n", "a: [\n\n", false, "what cannot be read"},
		{"s.yaml", "apiVersion: v1\nkind: Secret\ndata: {a: ENC}\nsops: {mac: x}\n", "apiVersion: v1\nkind: Secret\ndata:\n  a: ENC\nsops: {mac: x}\n", false, "encrypted: a digest may be of the text"},
	} {
		read := func(text string) *Package {
			p, err := Parse([]File{{Path: "Kptfile", Data: []byte(kptfile)}})
			if err != nil {
				t.Fatal(err)
			}
			p.Write(File{Path: c.path, Data: []byte(text)})
			return p
		}
		for _, pair := range [][2]*Package{{read(c.a), read(c.b)}, {read(c.b), read(c.a)}} {
			if got, err := SameContent(pair[0], pair[1]); got != c.want || err != nil {
				t.Errorf("%s, %s: %t, %v, want %t", c.path, c.reason, got, err, c.want)
			}
		}
		if same, err := SameContent(read(c.a), read(c.a)); !same || err != nil {
			t.Errorf("%s, %s: a package is not the same as itself: %v", c.path, c.reason, err)
		}
	}
	commented, err := Parse([]File{{Path: "Kptfile", Data: []byte("# ours\n" + kptfile)}})
	if err != nil {
		t.Fatal(err)
	}
	bare, err := Parse([]File{{Path: "Kptfile", Data: []byte(kptfile)}})
	if err != nil {
		t.Fatal(err)
	}
	if same, err := SameContent(commented, bare); !same || err != nil {
		t.Errorf("kpt leaves out a Kptfile's comments: %v", err)
	}
	if same, err := SameContent(bare, commented); same || err != nil {
		t.Errorf("a comment that somebody adds to a Kptfile does not count: %v", err)
	}
	exec, err := Parse([]File{{Path: "Kptfile", Data: []byte(kptfile), Mode: Executable}})
	plain, err2 := Parse([]File{{Path: "Kptfile", Data: []byte(kptfile)}})
	if err != nil || err2 != nil {
		t.Fatal(err, err2)
	}
	if same, err := SameContent(exec, plain); same || err != nil {
		t.Errorf("a mode does not count: %v", err)
	}
}
