package render

import (
	"context"
	"testing"

	"github.com/variform/variform/internal/krm"
)

// FuzzAnswers holds that whatever a function answers is an error, or makes a
// package that can be read again.
func FuzzAnswers(f *testing.F) {
	before := map[string]string{"Kptfile": kptfileOf("root", "pipeline:\n  mutators:\n  - image: example.com/x:v1\n"), "a.yaml": configMap("a", "data: {e, f: &f [1], g: *f}\n"), "sub/Kptfile": kptfileOf("sub", "")}
	sent := ""
	echo := answerer(func(list string) string { sent = list; return list })
	if _, err := New(Options{Runtimes: []Runtime{echo}}).Render(context.Background(), pkg(f, before)); err != nil {
		f.Fatal(err)
	}
	f.Add(sent)
	for _, a := range []answerer{
		withItem("new.yaml", "  data: "+bracketed(40)+"\n"), withItem("a.yaml", laughs(3)), withItem("sub/Kptfile", ""), withKptfile("Kptfile"), withItem("../x.yaml", "  data: &d {a: *d}\n"),
		func(string) string {
			return "kind: ResourceList\nitems: [{apiVersion: v1, kind: A, metadata: {name: a, annotations: {config.k8s.io/id: '2', internal.config.kubernetes.io/path: b.json}}}]\n"
		},
		func(string) string { return "kind: ResourceList\nitems: []\nresults: [{message: a}]\n" },
	} {
		f.Add(a(sent))
	}
	f.Fuzz(func(t *testing.T, answer string) {
		fixed := answerer(func(string) string { return answer })
		res, err := New(Options{Runtimes: []Runtime{fixed}}).Render(context.Background(), pkg(t, before))
		if err != nil {
			return
		}
		files, err := res.Package.Files()
		if err != nil {
			return // says which
		}
		again, err := krm.Parse(files)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range again.Problems() {
			t.Error(p)
		}
		if again.Kptfile("") == nil && res.Package.Kptfile("") != nil {
			t.Error("the Kptfile is lost on its way to text")
		}
	})
}
