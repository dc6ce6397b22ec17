package render

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

func outputPackage() map[string]string {
	return map[string]string{
		"Kptfile": kptfileOf("root", mutating("{image: "+own("note")+", configMap: {last: root}, selectors: [{kind: ConfigMap}]}")),
		"a.yaml":  "# head\n" + configMap("a", "  annotations: {q: r} # kept\n") + "---\n" + configMap("b"), "README.md": "# no resource\n",
		"j.json": `{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "j"}}`, "end.yaml": "apiVersion: v1\nkind: List\nmetadata: {name: e}",
		".krmignore": "ig.yaml\n", "ig.yaml": configMap("ignored"), "run.sh": "#!/bin/sh\n",
		"sub/Kptfile": kptfileOf("sub", ""), "sub/z.yaml": "\r\n---\r\napiVersion: v1\r\nkind: Service\r\nmetadata:\r\n  name: z\r\n",
	}
}

func TestUnwrapped(t *testing.T) {
	res := mustRender(t, testOptions(), pkg(t, outputPackage()))
	got, err := res.Unwrapped()
	if err != nil {
		t.Fatal(err)
	}
	want := kptfileOf("sub", "") + "---\napiVersion: v1\r\nkind: Service\r\nmetadata:\r\n  name: z\r\n" +
		"---\n" + outputPackage()["Kptfile"] +
		"---\n# head\n" + configMap("a", "  annotations: {q: r, last: root} # kept\n") + "---\n" + configMap("b", "  annotations:\n    last: root\n") +
		"---\napiVersion: v1\nkind: List\nmetadata: {name: e}\n" +
		"---\n" + outputPackage()["j.json"] + "\n"
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestOutputFiles(t *testing.T) {
	files, err := mustRender(t, testOptions(), pkg(t, outputPackage())).Files()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range files {
		got = append(got, f.Path)
		if want := outputPackage()[f.Path]; f.Path != "a.yaml" && string(f.Data) != want {
			t.Errorf("%s: got %q, want the bytes that were there", f.Path, f.Data)
		}
	}
	if diff := cmp.Diff([]string{"Kptfile", "a.yaml", "end.yaml", "j.json", "sub/Kptfile", "sub/z.yaml"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestResourceList(t *testing.T) {
	text, err := mustRender(t, testOptions(), pkg(t, outputPackage())).ResourceList()
	if err != nil {
		t.Fatal(err)
	}
	want := "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n"
	if !strings.HasPrefix(string(text), want) {
		t.Errorf("got %.80q", text)
	}
	var got []string
	for _, n := range itemsOf(t, text) {
		ann := n.GetAnnotations()
		got = append(got, fmt.Sprintf("%s %s#%s", n.GetName(), ann[annPath], ann[annIndex]))
		if ann[annPath] != ann[annLegacyPath] || ann[annIndex] != ann[annLegacyIndex] {
			t.Errorf("the older annotations differ: %v", ann)
		}
	}
	if diff := cmp.Diff([]string{"sub sub/Kptfile#0", "z sub/z.yaml#0", "root Kptfile#0", "a a.yaml#0", "b a.yaml#1", "e end.yaml#0", "j j.json#0"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestKptOutput compares what -o writes with kpt's, over generated packages.
func TestKptOutput(t *testing.T) {
	kpt := needKpt(t)
	for i := range 12 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			p := withExec(t, pkg(t, generated(uint64(1000+i))))
			dir := t.TempDir()
			save(t, p, dir)
			out := filepath.Join(t.TempDir(), "out")
			run := func(where string) []byte {
				cmd := exec.Command(kpt, "fn", "render", dir, "--allow-exec", "-o", where)
				cmd.Env = append(os.Environ(), "KPT_DISABLE_ATTRIBUTION=true")
				text, err := cmd.Output()
				if err != nil {
					return nil
				}
				return text
			}
			list := run(toStdout)
			ours, err := New(Options{AllowExec: true, NoContainers: true}).Render(context.Background(), p)
			if (err != nil) != (list == nil) {
				t.Fatalf("kpt: %q\nours: %v", list, err)
			}
			if err != nil {
				return
			}
			text, err := ours.ResourceList()
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(sortedItems(t, list), sortedItems(t, text)); diff != "" {
				t.Errorf("stdout (-kpt +ours):\n%s", diff)
			}
			if text, err = ours.Unwrapped(); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(sortedDocs(t, run(toUnwrapped)), sortedDocs(t, text)); diff != "" {
				t.Errorf("unwrap (-kpt +ours):\n%s", diff)
			}
			run(out)
			files, err := ours.Files()
			if err != nil {
				t.Fatal(err)
			}
			byUs := map[string]string{}
			for _, f := range files {
				byUs[f.Path] = string(f.Data)
			}
			if diff := cmp.Diff(trees(t, load(t, out)), trees(t, pkg(t, byUs))); diff != "" {
				t.Errorf("folder (-kpt +ours):\n%s", diff)
			}
		})
	}
}

// The values of kpt's -o that are no folder.
const (
	toStdout    = "stdout"
	toUnwrapped = "unwrap"
)

func itemsOf(t testing.TB, list []byte) []*yaml.RNode {
	t.Helper()
	doc, err := yaml.Parse(string(list))
	if err != nil {
		t.Fatal(err)
	}
	items, err := doc.Field("items").Value.Elements()
	if err != nil {
		t.Fatal(err)
	}
	return items
}

// sortedItems are the items as JSON, without kpt's hint on indentation, and without
// indexes: kpt gives none to what was added, and the old one to what was moved.
func sortedItems(t testing.TB, list []byte) []string {
	t.Helper()
	var out []string
	for _, n := range itemsOf(t, list) {
		for _, annotation := range []string{annSeqIndent, annIndex, annLegacyIndex} {
			if err := n.PipeE(yaml.ClearAnnotation(annotation)); err != nil {
				t.Fatal(err)
			}
		}
		out = append(out, n.MustString())
	}
	return sortedDocs(t, []byte(strings.Join(out, "---\n")))
}

func sortedDocs(t testing.TB, stream []byte) (out []string) {
	t.Helper()
	d := yaml.NewDecoder(bytes.NewReader(stream))
	for {
		var v any
		err := d.Decode(&v)
		if errors.Is(err, io.EOF) {
			slices.Sort(out)
			return out
		}
		if err != nil {
			t.Fatalf("%v\n%s", err, stream)
		}
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, string(text))
	}
}
