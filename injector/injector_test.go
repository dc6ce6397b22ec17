package injector

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/variform/variform/api/config/v1alpha1"
)

const kptfile = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {name: web}\n"

func point(mode string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: p, annotations: {kpt.dev/config-injection: " + mode + "}}\ndata: {a: b}\n"
}

func TestInject(t *testing.T) {
	object := func(name string) Object {
		return Object{Data: []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + "}\ndata: {a: c}\n"), Origin: name}
	}
	by := []v1alpha1.InjectionSelector{{Name: "o"}}
	for name, tc := range map[string]struct {
		files map[string]string
		req   Request
		want  []Outcome
		err   string
	}{
		"Injected":  {files: map[string]string{"Kptfile": kptfile, "p.yaml": point("required")}, req: Request{Injectors: by, Objects: []Object{object("o")}}, want: []Outcome{{File: "p.yaml", Kind: "ConfigMap", Name: "p", Required: true, Object: "/v1 ConfigMap default/o"}}},
		"Nothing":   {files: map[string]string{"Kptfile": kptfile, "p.yaml": point("optional")}, req: Request{Injectors: by}, want: []Outcome{{File: "p.yaml", Kind: "ConfigMap", Name: "p"}}},
		"NoPoint":   {files: map[string]string{"Kptfile": kptfile}, req: Request{Injectors: by}, want: []Outcome{}},
		"NoKptfile": {files: map[string]string{"p.yaml": point("required")}, req: Request{Injectors: by}, err: "kpt pkg init"},
		"BadPoint":  {files: map[string]string{"Kptfile": kptfile, "p.yaml": point("perhaps")}, err: "perhaps"},
		"BadPath":   {files: map[string]string{"../Kptfile": kptfile}, err: "../Kptfile"},
		"BadObject": {files: map[string]string{"Kptfile": kptfile}, req: Request{Objects: []Object{{Data: []byte("a: ["), Origin: "bad.yaml"}}}, err: "object 0 (bad.yaml)"},
		"TwoAlike":  {files: map[string]string{"Kptfile": kptfile}, req: Request{Objects: []Object{object("o"), object("o")}}, err: "o"},
	} {
		t.Run(name, func(t *testing.T) {
			var files []File
			for path, text := range tc.files {
				files = append(files, File{path, []byte(text)})
			}
			out, got, err := Inject(files, tc.req)
			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.err) {
					t.Fatalf("got %v, want an error with %q", err, tc.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			for i := range got {
				got[i].Condition, got[i].Message = "", ""
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
			again, _, err := Inject(out, tc.req)
			if diff := cmp.Diff(out, again); diff != "" || err != nil {
				t.Errorf("a second run: %v\n%s", err, diff)
			}
		})
	}
}
