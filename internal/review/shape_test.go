package review

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/variform/variform/internal/krm"
)

// member is one variant of a table: what it was, what the machine makes of it, and
// what a person made of that, "" for nothing.
type member struct{ before, machine, after string }

func resource(kind, name, rest string) string {
	apis := map[string]string{"Deployment": "apps/v1", "Ingress": "networking.k8s.io/v1", "ClusterRole": "rbac.authorization.k8s.io/v1", "NetworkPolicy": "networking.k8s.io/v1"}
	api := apis[kind]
	if api == "" {
		api = "v1"
	}
	return "apiVersion: " + api + "\nkind: " + kind + "\nmetadata:\n  name: " + name + "\n" + rest
}

func config(data string) string { return resource("ConfigMap", "site", "data:\n  "+data+"\n") }

func scaled(replicas any) string {
	return resource("Deployment", "web", fmt.Sprintf("spec:\n  replicas: %v\n", replicas))
}

func running(image string) string {
	return resource("Deployment", "web", "spec:\n  template:\n    spec:\n      containers:\n      - name: web\n        image: "+image+"\n")
}

// changes are members as review gets them, cluster-1 and so on.
func changes(t *testing.T, members []member) []Change {
	t.Helper()
	files := func(text string) *krm.Package {
		if text == "-" {
			return nil
		}
		out := map[string]string{}
		for i, part := range strings.Split(text, "---\n") {
			if part != "" {
				out[fmt.Sprintf("f%d.yaml", i)] = part
			}
		}
		return pkg(t, out)
	}
	var out []Change
	for i, m := range members {
		name := fmt.Sprintf("cluster-%d", i)
		c := Change{Variant: name + "/web", Before: files(m.before), After: files(m.machine), Aliases: map[string]string{name: "repository"}, Version: name}
		if c.Machine = c.After; m.after != "" {
			c.After = files(m.after)
		}
		out = append(out, c)
	}
	return out
}

// Values that the machine explains are no part of a class's shape; what a person
// wrote, and what is sensitive, is.
func TestShape(t *testing.T) {
	unknown := func(c []Change) []Change {
		for i := range c {
			c[i].Machine = nil
		}
		return c
	}
	for name, tt := range map[string]struct {
		members []member
		with    func([]Change) []Change
		want    []int // sizes of the classes, in order
		says    string
		marks   []string
	}{
		"values of the machine's": {
			members: []member{{config("a: x"), config("a: one"), ""}, {config("a: x"), config("a: two"), ""}, {config("a: x"), config("a: three"), ""}},
			want:    []int{3}, says: "sets data.a of ConfigMap site: 3 values (one … two)",
		},
		"values of which is not known who wrote them": {
			members: []member{{config("a: x"), config("a: one"), ""}, {config("a: x"), config("a: two"), ""}}, with: unknown,
			want: []int{1, 1}, says: "data.a of ConfigMap site x → one",
		},
		"other fields": {
			members: []member{{config("a: x"), config("a: one"), ""}, {config("a: x"), config("b: one"), ""}},
			want:    []int{1, 1}, says: "data.a of ConfigMap site x → one",
		},
		"an edit by hand": {
			members: []member{{config("a: x"), config("a: one"), ""}, {config("a: x"), config("a: two"), config("a: mine")}, {config("a: x"), config("a: three"), ""}},
			want:    []int{1, 2}, says: "data.a of ConfigMap site x → mine", marks: []string{"by hand: edited by hand [cluster-1/web]"},
		},
		"an edit by hand that gives what the machine gives others": {
			members: []member{{config("a: x"), config("a: one"), ""}, {config("a: x"), config("a: two"), config("a: one")}},
			want:    []int{1, 1}, says: "data.a of ConfigMap site x → one", marks: []string{"by hand: edited by hand [cluster-1/web]"},
		},
		"two edits by hand": {
			members: []member{{config("a: x"), config("a: one"), config("a: mine")}, {config("a: x"), config("a: one"), config("a: yours")}},
			want:    []int{1, 1}, says: "data.a of ConfigMap site x → mine", marks: []string{"by hand: edited by hand [cluster-0/web cluster-1/web]"},
		},
		"an edit by hand inside of what is new": {
			members: []member{{"", config("a: one"), ""}, {"", config("a: one"), config("a: mine")}},
			want:    []int{1, 1}, says: "creates ConfigMap site; by hand data.a of ConfigMap site is mine", marks: []string{"by hand: edited by hand [cluster-1/web]"},
		},
		"a comment by hand": {
			members: []member{{config("a: x"), config("a: one"), ""}, {config("a: x"), config("a: one"), config("a: one") + "# said\n"}},
			want:    []int{1, 1}, says: "comment at data of ConfigMap site; data.a of ConfigMap site x → one", marks: []string{"by hand: edited by hand [cluster-1/web]"},
		},
		"an edit by hand that stood there before": {
			members: []member{{config("a: x\n  b: mine"), config("a: one\n  b: two"), config("a: one\n  b: mine")}, {config("a: x\n  b: two"), config("a: one\n  b: two"), ""}},
			want:    []int{2}, says: "data.a of ConfigMap site x → one", marks: []string{"kept: keeps edits by hand that were there before [cluster-0/web]"},
		},
		"lists of different lengths": {
			members: []member{{config("a: x"), resource("X", "x", "spec: [10.0.0.1]\n"), ""}, {config("a: x"), resource("X", "x", "spec: [10.0.0.1, 10.0.0.2]\n"), ""}},
			want:    []int{2}, says: "deletes ConfigMap site; creates X x; spec[]: \"10.0.0.1, 10.0.0.2\" × 1, 10.0.0.1 × 1",
			marks: []string{"sensitive: deleted: deletes ConfigMap site [cluster-0/web cluster-1/web]"},
		},
		"new resources": {
			members: []member{{"", resource("Ingress", "web", "spec: {host: shop.cluster-0.example.com}\n"), ""}, {"", resource("Ingress", "web", "spec: {host: shop.cluster-1.example.com}\n"), ""}},
			want:    []int{2}, says: "creates Ingress web; spec.host: shop.${repository}.example.com",
		},
		"packages that go": {
			members: []member{{config("a: x"), "-", ""}, {config("b: y") + "---\n" + scaled(1), "-", ""}},
			want:    []int{2}, says: "removes the package", marks: []string{"sensitive: deleted: the package [cluster-0/web cluster-1/web]"},
		},
		"sensitive values": {
			members: []member{{running("a/web:1"), running("b/web:1"), ""}, {running("a/web:1"), running("c/web:1"), ""}},
			want:    []int{1, 1}, says: "spec.template.spec.containers[name=web].image of Deployment web a/web:1 → b/web:1",
			marks: []string{
				"sensitive: image from elsewhere: spec.template.spec.containers[name=web].image of Deployment web is b/web:1 [cluster-0/web]",
				"sensitive: image from elsewhere: spec.template.spec.containers[name=web].image of Deployment web is c/web:1 [cluster-1/web]",
			},
		},
		"versions of an image": {
			members: []member{{running("a/web:1"), running("a/web:2"), ""}, {running("a/web:1"), running("a/web:3"), ""}},
			want:    []int{2}, says: "sets spec.template.spec.containers[name=web].image of Deployment web: a/web:3 × 1, a/web:2 × 1",
		},
		"a lost edit": {
			members: []member{{config("a: x"), config("a: one"), ""}, {config("a: mine"), config("a: one"), ""}},
			with: func(c []Change) []Change {
				c[1].Marks = []Mark{{Kind: Lost, Text: "an edit by hand was lost"}}
				return c
			},
			want: []int{1, 1}, says: "edit lost: data.a of ConfigMap site mine → one", marks: []string{"lost: an edit by hand was lost [cluster-1/web]"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			all := changes(t, tt.members)
			if tt.with != nil {
				all = tt.with(all)
			}
			report, err := Classify(all)
			if err != nil {
				t.Fatal(err)
			}
			var sizes []int
			for _, c := range report.Classes {
				sizes = append(sizes, len(c.Members))
			}
			var marks []string
			for _, m := range report.Marks {
				marks = append(marks, fmt.Sprintf("%s: %s %s", m.Kind, m.Text, m.Members))
			}
			if diff := cmp.Diff(tt.want, sizes); diff != "" {
				t.Errorf("sizes (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.marks, marks); diff != "" {
				t.Errorf("marks (-want +got):\n%s", diff)
			}
			if got := report.Classes[0].Says; got != tt.says {
				t.Errorf("says %q, want %q", got, tt.says)
			}
		})
	}
}

// A key is of the change alone: members, their values and versions move the ID.
func TestKeyStays(t *testing.T) {
	of := func(values ...string) Class {
		var members []member
		for _, v := range values {
			members = append(members, member{config("a: x"), config("a: " + v), ""})
		}
		report, err := Classify(changes(t, members))
		if err != nil || len(report.Classes) != 1 {
			t.Fatal(err, report)
		}
		return report.Classes[0]
	}
	a, b, c := of("one"), of("one", "two", "three"), of("other", "two", "three")
	if a.Key != b.Key || b.Key != c.Key {
		t.Errorf("keys %s, %s, %s", a.Key, b.Key, c.Key)
	}
	if a.ID == b.ID {
		t.Error("other members have the same ID")
	}
}

// The key of a cell is what fmt's %q and %t write, for keys stand in commits.
func TestKeyOfCell(t *testing.T) {
	odd := "a \"b\"\n\u202e\xff"
	c := cell{File: odd, Resource: "X x", Op: Update, Field: "f", tag: "!!str", was: odd, masked: "m", after: "n", digest: "d"}
	line := fmt.Sprintf("%q %q %q %q %t", odd, "X x", Update, "f", false)
	byHand, opaque, sensitive := c, c, c
	byHand.byHand, opaque.byHand, opaque.after = true, true, ""
	sensitive.sensitive = "RBAC"
	for _, k := range []struct {
		c    cell
		want string
	}{
		{c, line},
		{byHand, line + fmt.Sprintf(" %q %q %q", "!!str", odd, "m")},
		{opaque, line + fmt.Sprintf(" %q %q %q", "!!str", odd, "m") + "d"},
		{sensitive, line + fmt.Sprintf(" %q %q %t", "n", "!!str", false)},
	} {
		if got := string(k.c.key([]byte("> "))); got != "> "+k.want {
			t.Errorf("got  %s\nwant %s", got, k.want)
		}
	}
}

// Cells of one place are one, and stand in the order of their places.
func TestMerged(t *testing.T) {
	of := func(file, resource string, op Op, field, after string) cell {
		return cell{File: file, Resource: resource, Op: op, Field: field, after: after}
	}
	in := []cell{
		of("b", "X", Add, "f[]", "1"), of("a", "Y", Add, "f", "2"), of("a", "X", Update, "f", "3"), of("a", "X", Add, "g", "4"),
		of("b", "X", Add, "f[]", "5"), of("a-b", "X", Add, "f", "6"), of("a", "X", Add, "f", "7"), of("b", "X", Add, "f[]", "8"),
	}
	var got []string
	for _, c := range merged(in) {
		got = append(got, strings.ReplaceAll(c.place(), "\x00", " ")+" "+c.after)
	}
	want := []string{"a X add f 7", "a X add g 4", "a X change f 3", "a Y add f 2", "a-b X add f 6", "b X add f[] 1, 5, 8"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// What is said of a field is remembered, and not without end.
func TestKnownFields(t *testing.T) {
	var k knownFields
	for range 2 {
		for field, want := range map[string]fieldFacts{
			"spec.a": {}, "spec.privileged": {privilege: true}, "spec.hostPID": {host: true}, "spec.secret.name": {secret: true}, "spec.image": {image: true},
			"spec.initImage": {image: true}, "hostPath.secret": {privilege: true, secret: true},
		} {
			if got := k.of(field); got != want || k.facts[field] != want {
				t.Errorf("%s: %+v, remembered %+v, want %+v", field, got, k.facts[field], want)
			}
		}
	}
	k.facts["spec.a"] = fieldFacts{host: true}
	if !k.of("spec.a").host {
		t.Error("it is looked for again")
	}
	for i := range maxFields + 10 {
		k.of(fmt.Sprint("data.", i))
	}
	if n := len(k.facts); n == 0 || n > maxFields {
		t.Errorf("%d fields are remembered", n)
	}
}

// The images of equal files are looked for once, those of a Kptfile are none.
func TestImagesOf(t *testing.T) {
	files := map[string]string{
		"Kptfile": "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: a\npipeline:\n  mutators:\n  - image: fn:v1\n",
		"a.yaml":  running("web:v1"), "b.yaml": resource("X", "x", "initImage: other@sha256:00\nimages:\n- in-a-list:v1\n"),
	}
	p := pkg(t, files)
	for range 2 {
		if diff := cmp.Diff(map[string]bool{"web": true, "other": true}, imagesOf(p.Clone())()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	if got := imagesOf(nil)(); len(got) > 0 {
		t.Errorf("nothing runs %v", got)
	}
}

func TestSensitive(t *testing.T) {
	known := func() map[string]bool { return map[string]bool{"web": true} }
	for _, tt := range []struct {
		c    cell
		want string
	}{
		{cell{Op: Add, Resource: "ClusterRole a", id: krm.ID{Group: "rbac.authorization.k8s.io", Kind: "ClusterRole"}}, "RBAC"},
		{cell{Op: Update, Resource: "X a", id: krm.ID{Group: "admissionregistration.k8s.io", Kind: "MutatingWebhookConfiguration"}}, "admission webhook"},
		{cell{Op: Update, Resource: "X a", id: krm.ID{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}}, "custom resource definition"},
		{cell{Op: Update, Resource: "X a", id: krm.ID{Kind: "Namespace"}}, "namespace"},
		{cell{Op: Update, Resource: "X a", id: krm.ID{Group: "cilium.io", Kind: "CiliumNetworkPolicy"}}, "network policy"},
		{cell{Op: Remove, Resource: "X a", whole: true}, "deleted"},
		{cell{Op: Remove, Resource: "X a", Field: "spec.a"}, ""},
		{cell{Op: Remove, File: "a.txt"}, "deleted"},
		{cell{Op: Mode, File: "a.sh"}, "mode or link"},
		{cell{Op: Add, Resource: "X a", Field: "spec.containers[name=a].securityContext.privileged"}, "privilege"},
		{cell{Op: Add, Resource: "X a", Field: "spec.containers[name=a].securityContext.capabilities.add[]"}, "privilege"},
		{cell{Op: Add, Resource: "X a", Field: "spec.volumes[name=a].hostPath.path"}, "privilege"},
		{cell{Op: Add, Resource: "X a", Field: "spec.hostNetwork"}, "host namespace"},
		{cell{Op: Add, Resource: "X a", Field: "spec.hostname"}, ""},
		{cell{Op: Add, Resource: "X a", Field: "spec.env[name=a].valueFrom.secretKeyRef.name"}, "reference to a Secret"},
		{cell{Op: Add, Resource: "X a", Field: "spec.tls[].secretName"}, "reference to a Secret"},
		{cell{Op: Update, Resource: "X a", Field: "spec.replicas", after: "0"}, "replicas 0"},
		{cell{Op: Update, Resource: "X a", Field: "spec.replicas", after: "10"}, ""},
		{cell{Op: Update, Resource: "X a", Field: "spec.containers[name=a].image", after: "web:v2"}, ""},
		{cell{Op: Update, Resource: "X a", Field: "spec.containers[name=a].image", after: "evil.io/web:v2"}, "image from elsewhere"},
		{cell{Op: Update, Resource: "X a", Field: "spec.containers[name=a].image", after: "web:latest"}, "image without a version"},
		{cell{Op: Update, Resource: "X a", Field: "spec.containers[name=a].image", after: "web"}, "image without a version"},
		{cell{Op: Update, Resource: "X a", Field: "images[name=web].newName", after: "evil.io/web"}, "image from elsewhere"},
		{cell{Op: Update, Resource: "X a", Field: "images[name=web].newTag", after: "latest"}, "image without a version"},
		{cell{Op: Update, Resource: "X a", Field: "images[name=web].newTag", after: "v2"}, ""},
		{cell{Op: Update, Resource: "Kptfile a", Field: "pipeline.mutators[image=a].image", after: "a:v2", id: krm.ID{Kind: "Kptfile"}}, "function image"},
		{cell{Op: Update, Resource: "ConfigMap a", Field: "data.a", after: "b"}, ""},
		{cell{Op: Add, Resource: "X a", Field: "spec.securityContext.allowPrivilegeEscalation"}, "privilege"},
		{cell{Op: Add, Resource: "X a", Field: "spec.securityContext.runAsUser"}, "privilege"},
		{cell{Op: Add, Resource: "X a", Field: "spec.securityContext.runAsNonRoot"}, "privilege"},
		{cell{Op: Add, Resource: "X a", Field: "spec.securityContext.runAsGroup"}, ""},
		{cell{Op: Add, Resource: "X a", Field: "spec.hostPID"}, "host namespace"},
		{cell{Op: Add, Resource: "X a", Field: "spec.hostIPC"}, "host namespace"},
		{cell{Op: Add, Resource: "X a", Field: "spec.imagePullSecrets[name=a].name"}, "reference to a Secret"},
		{cell{Op: Add, Resource: "X a", Field: "spec.envFrom[].secretRef.name"}, "reference to a Secret"},
		{cell{Op: Add, Resource: "X a", Field: "spec.secretNames[0]"}, "reference to a Secret"},
		{cell{Op: Add, Resource: "X a", Field: "spec.volumes[name=a].secret.name"}, "reference to a Secret"},
		{cell{Op: Add, Resource: "X a", Field: "spec.secretary"}, ""},
	} {
		if got := sensitive(&tt.c, known); got != tt.want {
			t.Errorf("%s %s %s %q: %q, want %q", tt.c.Op, tt.c.Resource, tt.c.Field, tt.c.after, got, tt.want)
		}
	}
}

// A target's name is no cover for another role or image.
func TestSensitiveIsNotMasked(t *testing.T) {
	role := func(verb string) string { return resource("ClusterRole", "r", "rules:\n- verbs: ["+verb+"]\n") }
	all := changes(t, []member{{"", role("view"), ""}, {"", role("edit"), ""}})
	all[0].Aliases, all[1].Aliases = map[string]string{"view": "repository"}, map[string]string{"edit": "repository"}
	report, err := Classify(all)
	if err != nil || len(report.Classes) != 2 {
		t.Errorf("%v, %s", err, report.Summary)
	}
}

// Outliers are told from values that merely differ.
func TestOutliers(t *testing.T) {
	many := func(n int, format string) (out []value) {
		for i := range n {
			out = append(out, value{raw: fmt.Sprintf(format, i), masked: fmt.Sprintf(format, i), tag: "!!str", n: 1})
		}
		return out
	}
	one := func(raw, tag string, n int) value { return value{raw: raw, masked: raw, tag: tag, n: n} }
	ints := func(list ...value) []value {
		for i := range list {
			list[i].tag = "!!int"
		}
		return list
	}
	for name, tt := range map[string]struct {
		values []value
		want   []string
	}{
		"one pattern":      {many(30, "10.0.0.%d"), nil},
		"another domain":   {append(many(29, "shop.c%d.example.com"), one("shop.c30.evil.com", "!!str", 1)), []string{"shop.c30.evil.com: 29 variants have shop.c#.example.com"}},
		"words":            {[]value{one("berlin", "!!str", 1), one("paris", "!!str", 1), one("oslo", "!!str", 1)}, nil},
		"not a word":       {[]value{one("berlin", "!!str", 1), one("paris", "!!str", 1), one("oslo", "!!str", 1), one("$(id)", "!!str", 1)}, []string{"$(id): 3 variants have a"}},
		"regions":          {[]value{one("eu", "!!str", 100), one("us", "!!str", 150), one("ap", "!!str", 50)}, nil},
		"a bool":           {[]value{one("false", "!!bool", 299), one("true", "!!bool", 1)}, []string{"true: 299 variants have false"}},
		"two":              {[]value{one("false", "!!bool", 1), one("true", "!!bool", 1)}, nil},
		"zero":             {ints(one("3", "", 20), one("0", "", 1)), []string{"0: 0 instead of the median, 3"}},
		"tenfold":          {ints(one("3", "", 20), one("4", "", 5), one("30", "", 1)), []string{"30: tenfold of the median, 3"}},
		"a tenth":          {ints(one("100", "", 20), one("10", "", 1), one("11", "", 1)), []string{"10: a tenth of the median, 100"}},
		"a quantity":       {[]value{one("500m", "!!str", 20), one("5000m", "!!str", 1)}, []string{"5000m: tenfold of the median, 500m"}},
		"another type":     {append(ints(one("3", "", 20)), one("many", "!!str", 1)), []string{"many: of another type than the others"}},
		"halves":           {ints(one("3", "", 10), one("30", "", 10)), nil},
		"versions":         {[]value{one("1.4", "!!str", 280), one("1.5", "!!str", 20)}, nil},
		"latest":           {[]value{one("web:1.4", "!!str", 299), one("web:latest", "!!str", 1)}, []string{"web:latest: 299 variants have web:1.4"}},
		"different widely": {append(many(5, "a%d"), append(many(5, "b-%d"), many(5, "c.%d")...)...), nil},
	} {
		var got []string
		for _, o := range outliers(tt.values) {
			got = append(got, o.raw+": "+o.why)
		}
		slices.Sort(got)
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// What is striking beside the value that was there is told although all have it.
func TestLeaps(t *testing.T) {
	for _, tt := range []struct{ field, before, after, want string }{
		{"spec.replicas", "3", "0", "0 instead of what it was, 3"},
		{"spec.replicas", "3", "30", "tenfold of what it was, 3"},
		{"spec.replicas", "3", "4", ""},
		{"spec.replicas", "0", "4", ""},
		{"spec.rules[].host", "shop.example.com", "shop.evil.com", "of another domain than what it was, shop.example.com"},
		{"spec.rules[].host", "shop.example.com", "eu.shop.example.com", ""},
		{"data.from", "https://a.example.com/x", "https://a.evil.com/x", "of another domain than what it was, https://a.example.com/x"},
		{"data.file", "values.yaml", "values.json", ""},
	} {
		if got := leap(tt.field, tt.before, tt.after); got != tt.want {
			t.Errorf("%s %s → %s: %q, want %q", tt.field, tt.before, tt.after, got, tt.want)
		}
	}
}

// The table puts values together where there are many, and keeps what they share.
func TestPatterns(t *testing.T) {
	column := func(values ...string) *column {
		c := &column{cell: cell{after: values[0], masked: values[0], tag: "!!str"}, member: "c0", n: len(values)}
		for i, v := range values[1:] {
			c.others = append(c.others, other{after: v, masked: v, tag: "!!str", member: fmt.Sprint("c", i+1)})
		}
		return c
	}
	for want, values := range map[string][]string{
		"2 values: b × 1 (c2), a × 2":           {"a", "a", "b"},
		"4 values: 10.0.0.# × 4":                {"10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4"},
		"4 values: db.0.net × 1 (c2), 10.# × 3": {"10.1", "10.2", "db.0.net", "10.3"},
		"3 values: a-city × 3":                  {"oslo-city", "rome-city", "bonn-city"},
		"3 values: ${repository}.a.example × 3": {"${repository}.eu.example", "${repository}.us.example", "${repository}.ap.example"},
		"4 values: text × 4":                    {"a b", "a/b", "a.b", "a:b"},
	} {
		v, differs := column(values...).table()
		if got := v.String(); !differs || got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// Classes are the same in whatever order changes come.
func TestClassifierOrder(t *testing.T) {
	var members []member
	for i := range 12 {
		members = append(members, member{before: config("a: x"), machine: config(fmt.Sprintf("a: v%d", i%5))})
	}
	members[3].after, members[7].machine = config("a: mine"), config("b: one")
	list := changes(t, members)
	want, err := Classify(list)
	if err != nil {
		t.Fatal(err)
	}
	slices.Reverse(list)
	got, err := Classify(list)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range []*Report{want, got} {
		for i := range r.Classes {
			r.Classes[i].Values = nil // which members of a pattern are named goes by the order
		}
	}
	if d := cmp.Diff(want, got); d != "" || len(want.Classes) != 3 {
		t.Errorf("%d classes, in another order (-want +got):\n%s", len(want.Classes), d)
	}
}
