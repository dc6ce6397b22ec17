package merge

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	kptfilev1 "github.com/kptdev/kpt/api/kptfile/v1"

	"github.com/variform/variform/internal/krm"
)

// TestUnreadableSides: no merge starts from a side that cannot be read, whatever the
// strategy, and whichever file of the package was edited.
func TestUnreadableSides(t *testing.T) {
	root := "-- Kptfile --\n" + kptfileHead
	all := configMap("a", "x: 1") + "---\n" + configMap("b", "x: 1")
	sub := "-- sub/Kptfile --\n" + subKptfile
	broken := map[string]struct {
		reason     string
		file, text string // of the broken side
		link       bool
		want       string // where and what
	}{
		"a syntax error":                {file: "all.yaml", text: strings.Replace(all, "name: b", "name: {b", 1), want: "all.yaml:11: it is not valid YAML: did not find expected ',' or '}'"},
		"an unclosed quote":             {file: "all.yaml", text: all + "  y: \"1\n", want: "all.yaml:14: it is not valid YAML"},
		"conflict markers":              {file: "all.yaml", text: strings.Replace(all, "  x: 1\n", "<<<<<<< HEAD\n  x: 2\n=======\n  x: 3\n>>>>>>> other\n", 1), want: "all.yaml:6: it is not valid YAML: conflict marker <<<<<<<"},
		"indented with tabs":            {file: "all.yaml", text: strings.Replace(all, "  x: 1", "\tx: 1", 1), want: "all.yaml:6: it is not valid YAML"},
		"an alias without an anchor":    {file: "all.yaml", text: all + "  y: *none\n", want: "all.yaml:14: it is not valid YAML: unknown anchor 'none' referenced"},
		"a template":                    {file: "all.yaml", text: "{{- if .Values.on }}\n" + all + "{{- end }}\n", want: "all.yaml:1: it is not valid YAML"},
		"a name that a template gives":  {file: "all.yaml", text: strings.Replace(all, "name: b", "name: {{ .Release.Name }}", 1), want: "all.yaml:8: the ConfigMap has no metadata.name"},
		"UTF-16":                        {file: "all.yaml", text: utf16le(all), want: "all.yaml:1: it is UTF-16 text"},
		"not UTF-8":                     {file: "all.yaml", text: strings.Replace(all, "---\n", "  y: \"\xff\"\n---\n", 1), want: "all.yaml:7: it is not UTF-8 text"},
		"a NUL byte":                    {file: "all.yaml", text: strings.Replace(all, "---\n", "  y: \"\x00\"\n---\n", 1), want: "all.yaml:7: it has a NUL byte"},
		"no metadata.name":              {file: "all.yaml", text: strings.Replace(all, "  name: b\n", "  labels: {b: c}\n", 1), want: "all.yaml:8: the ConfigMap has no metadata.name"},
		"an empty name":                 {file: "all.yaml", text: strings.Replace(all, "  name: b\n", "  name: \"\"\n", 1), want: "all.yaml:8: the ConfigMap has no metadata.name"},
		"no metadata":                   {file: "all.yaml", text: strings.Replace(all, "metadata:\n  name: b\n", "", 1), want: "all.yaml:8: the ConfigMap has no metadata.name"},
		"a document without its kind":   {file: "all.yaml", text: strings.Replace(all, "kind: ConfigMap\n", "", 1), want: "all.yaml:1: it is YAML without apiVersion and kind"},
		"a document that became a list": {file: "all.yaml", text: configMap("a", "x: 1") + "---\n- b\n", want: "all.yaml:8: it is YAML without apiVersion and kind"},
		"a document that became a word": {file: "all.yaml", text: configMap("a", "x: 1") + "---\nb\n", want: "all.yaml:8: it is YAML without apiVersion and kind"},
		"the Kptfile":                   {file: "Kptfile", text: kptfileHead + "pipeline: [{\n", want: "Kptfile:"},
		"a Kptfile of an older version": {file: "Kptfile", text: strings.Replace(kptfileHead, "kpt.dev/v1", "kpt.dev/v1alpha1", 1), want: `Kptfile:1: its apiVersion is "kpt.dev/v1alpha1" and must be "kpt.dev/v1"`},
		"a Kptfile of another kind":     {file: "Kptfile", text: configMap("a", "x: 1"), want: "Kptfile:1: it has no document of kind Kptfile"},
		"an empty Kptfile":              {file: "Kptfile", text: "", want: "Kptfile:1: it has no document of kind Kptfile"},
		"a Kptfile that is a link":      {file: "Kptfile", text: "Kptfile.real", link: true, want: "Kptfile: it is a symbolic link"},
		"a Kptfile that is a directory": {file: "Kptfile/a", text: "x\n", want: "Kptfile: it is a directory"},
		"a subpackage's Kptfile":        {file: "sub/Kptfile", text: subKptfile + "pipeline: [{\n", want: "sub/Kptfile:"},
		"a subpackage's of a version":   {file: "sub/Kptfile", text: strings.Replace(subKptfile, "kpt.dev/v1", "kpt.dev/v9", 1), want: `sub/Kptfile:1: its apiVersion is "kpt.dev/v9"`},
		"a subpackage's list":           {file: "sub/Kptfile", text: "- no Kptfile\n", want: "sub/Kptfile:1: it has no document of kind Kptfile"},
		"a subpackage's directory":      {file: "sub/Kptfile/a", text: "x\n", want: "sub/Kptfile: it is a directory"},
	}
	good := root + sub + "-- all.yaml --\n" + all + "-- other.yaml --\n" + configMap("o", "x: 1")
	edits := map[string]string{
		"":                good,
		", edited there":  strings.Replace(good, "x: 1", "x: 9", 1),
		", edited beside": strings.Replace(good, "name: o\ndata:\n  x: 1", "name: o\ndata:\n  x: 9", 1),
	}
	for name, tc := range broken {
		for edit, text := range edits {
			for _, side := range []string{"upstream", "local", "base"} {
				t.Run(name+", "+side+edit, func(t *testing.T) {
					sides := map[string]*krm.Package{"base": pkg(t, good), "upstream": pkg(t, strings.Replace(good, "name: o", "name: o\n  labels: {v: new}", 1)), "local": pkg(t, text)}
					bad := sides[side].Clone()
					for _, p := range bad.Paths() {
						if p == tc.file || strings.HasPrefix(tc.file, p+"/") {
							bad.Remove(p)
						}
					}
					f := krm.File{Path: tc.file, Data: []byte(tc.text)}
					if tc.link {
						f.Mode = krm.Symlink
					}
					bad.Write(f)
					sides[side] = bad
					if side == "base" {
						if edit != "" || !slices.Contains([]string{"a syntax error", "UTF-16", "the Kptfile", "a subpackage's Kptfile"}, name) {
							return // the file is not read of base, or parses: nothing follows base
						}
						sides["local"].Remove(tc.file)
					}
					for _, strategy := range kptfilev1.UpdateStrategies {
						_, err := Packages(sides["base"], sides["upstream"], sides["local"], Options{Strategy: strategy})
						var unreadable *UnreadableError
						if !errors.As(err, &unreadable) || !strings.Contains(err.Error(), side+": "+tc.want) {
							t.Errorf("%s: %v, want %q", strategy, err, side+": "+tc.want)
						}
					}
				})
			}
		}
	}
}

func utf16le(s string) string {
	out := []byte{0xff, 0xfe}
	for _, u := range utf16.Encode([]rune(s)) {
		out = append(out, byte(u), byte(u>>8))
	}
	return string(out)
}
