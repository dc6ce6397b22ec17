package schema

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"sort"
	"strings"

	kptfilev1 "github.com/kptdev/kpt/api/kptfile/v1"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/internal/function"
)

const (
	registry = "ghcr.io/variform"
	source   = "https://github.com/variform/variform/tree/main/functions"
)

// example is a package of functions/<function>/examples.
type example struct {
	name, description string
	exitCode          int
}

// Pages are the functions' README.md and metadata.yaml by path below functions,
// which holds the present ones and the examples. The READMEs keep what people
// wrote outside of the marked parts.
func Pages(functions fs.FS) (map[string][]byte, error) {
	out := map[string][]byte{}
	for name, doc := range function.Docs {
		examples, err := examplesOf(functions, name)
		if err != nil {
			return nil, err
		}
		readme := path.Join(name, "README.md")
		text, err := fs.ReadFile(functions, readme)
		if err != nil {
			return nil, err
		}
		page := string(text)
		for part, want := range map[string]string{"about": about(name, doc), "examples": list(examples)} {
			if page, err = Replace(page, part, "tools/schema", want); err != nil {
				return nil, fmt.Errorf("%s: %w", readme, err)
			}
		}
		out[readme] = []byte(page)
		if out[path.Join(name, "metadata.yaml")], err = metadata(name, doc, examples); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Replace puts text between the marks of a part of a page. The first of them
// names the package that generates the part.
func Replace(page, part, by, text string) (string, error) {
	begin, end := "<!-- "+part+": go generate ./"+by+" -->\n", "<!-- "+part+": end -->\n"
	before, rest, ok := strings.Cut(page, begin)
	_, after, closed := strings.Cut(rest, end)
	if !ok || !closed {
		return "", fmt.Errorf("it lacks the lines %q and %q", begin, end)
	}
	return before + begin + text + end + after, nil
}

func about(name string, doc function.Doc) string {
	var b strings.Builder
	fmt.Fprintf(&b, `
%[2]s.

%[3]s

`+"```"+`
kpt fn eval PACKAGE --exec %[1]s --fn-config FILE
kpt fn source PACKAGE | %[1]s [FILE] | kpt fn sink OUT
`+"```"+`

`+"`FILE` is the functionConfig. `%[1]s --help`"+` prints this in short. The exit code
is 1 where a result has severity error; the ResourceList is written even then.

## functionConfig

`+"```yaml\n%[4]s\n```"+`

| field | type | |
|---|---|---|
`, name, doc.Short, strings.TrimSpace(doc.Long), strings.TrimSpace(doc.Config))
	for _, f := range doc.Fields {
		kind := f.Type
		if len(f.Values) > 0 && f.Type == "string" {
			kind = "`" + strings.Join(f.Values, "`, `") + "`"
		}
		text := f.Text
		if f.Required {
			text = "required; " + text
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", f.Path, kind, text)
	}
	fmt.Fprintf(&b, "\nIts JSON Schema, for editors: [%[1]s](../../docs/schema/%[1]s).\n\n", schemaOf(name, yaml.MustParse(doc.Config)))
	return b.String()
}

func list(examples []example) string {
	var b strings.Builder
	b.WriteString("\nEach is a kpt package with what comes out of it in `.expected`.\n\n")
	for _, e := range examples {
		fmt.Fprintf(&b, "- [%s](examples/%[1]s): %s", e.name, e.description)
		if e.exitCode != 0 {
			fmt.Fprintf(&b, " (exit code %d)", e.exitCode)
		}
		b.WriteString(".\n")
	}
	b.WriteString("\n")
	return b.String()
}

// metadata is a function's entry in a catalogue.
func metadata(name string, doc function.Doc, examples []example) ([]byte, error) {
	urls := make([]string, len(examples))
	for i, e := range examples {
		urls[i] = source + "/" + name + "/examples/" + e.name
	}
	text, err := yaml.Marshal(struct {
		Image       string   `yaml:"image"`
		Description string   `yaml:"description"`
		Tags        []string `yaml:"tags"`
		SourceURL   string   `yaml:"sourceURL"`
		Examples    []string `yaml:"examplePackageURLs"`
		License     string   `yaml:"license"`
	}{registry + "/" + name, doc.Short, doc.Tags, source + "/" + name, urls, "Apache-2.0"})
	return append([]byte("# go generate ./tools/schema\n"), text...), err
}

func examplesOf(functions fs.FS, name string) ([]example, error) {
	kptfiles, err := fs.Glob(functions, path.Join(name, "examples", "*", "Kptfile"))
	if err != nil || len(kptfiles) == 0 {
		return nil, errors.Join(err, fmt.Errorf("functions/%s/examples has no package", name))
	}
	sort.Strings(kptfiles)
	var out []example
	for _, file := range kptfiles {
		dir := path.Dir(file)
		var k kptfilev1.KptFile
		var config struct {
			ExitCode int `yaml:"exitCode"`
		}
		for f, into := range map[string]any{file: &k, path.Join(dir, ".expected", "config.yaml"): &config} {
			text, err := fs.ReadFile(functions, f)
			if err == nil {
				err = yaml.Unmarshal(text, into)
			}
			if err != nil {
				return nil, fmt.Errorf("functions/%s: %w", f, err)
			}
		}
		if k.Info == nil || k.Info.Description == "" {
			return nil, fmt.Errorf("functions/%s: info.description is missing: say what the example shows", file)
		}
		out = append(out, example{path.Base(dir), strings.TrimSuffix(strings.TrimSpace(k.Info.Description), "."), config.ExitCode})
	}
	return out, nil
}
