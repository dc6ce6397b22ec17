package release

import (
	"bytes"
	"regexp"
	"slices"
	"text/template"

	"github.com/variform/variform/tools/images"
)

// released is what the tag of a release looks like.
var released = regexp.MustCompile(`^v\d+\.\d+\.\d+(-[0-9A-Za-z]+(\.[0-9A-Za-z]+)*)?$`)

// download is where a release's files are.
const download = images.Source + "/releases/download/"

const about = "One kpt package, reviewed variants for a whole fleet"

// offer is an archive as package managers are told of it.
type offer struct {
	Platform
	URL, SHA256, Program string
}

func (r Release) offers(sums map[string]string) []offer {
	var out []offer
	for _, p := range r.Platforms {
		name := r.archive("variform", p)
		o := offer{Platform: p, URL: download + r.Version + "/" + name, SHA256: sums[name], Program: "variform"}
		if p.OS == "windows" {
			o.Program += ".exe"
		}
		out = append(out, o)
	}
	return out
}

var formulaText = template.Must(template.New("").Parse(`class Variform < Formula
  desc "{{.About}}"
  homepage "{{.Source}}"
  version "{{.Number}}"
  license "Apache-2.0"
{{range .Systems}}
  on_{{.Name}} do
{{- range .Offers}}
    on_{{if eq .Arch "arm64"}}arm{{else}}intel{{end}} do
      url "{{.URL}}"
      sha256 "{{.SHA256}}"
    end
{{- end}}
  end
{{end}}
  depends_on "git"

  def install
    bin.install "variform"
    bin.install_symlink "variform" => "kubectl-variform"
    bin.install "kubectl_complete-variform"
    bash_completion.install "completions/variform.bash" => "variform"
    zsh_completion.install "completions/_variform"
    fish_completion.install "completions/variform.fish"
    man1.install Dir["man/man1/*.1"]
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/variform version")
  end
end
`))

// system is one that Homebrew has, by its name there.
type system struct {
	Name   string
	Offers []offer
}

func (r Release) formula(sums map[string]string) []byte {
	var systems []system
	for _, s := range [][2]string{{"macos", "darwin"}, {"linux", "linux"}} {
		of := slices.DeleteFunc(r.offers(sums), func(o offer) bool { return o.OS != s[1] })
		if len(of) > 0 {
			systems = append(systems, system{s[0], of})
		}
	}
	return fill(formulaText, map[string]any{"About": about, "Source": images.Source, "Number": r.number(), "Systems": systems})
}

var krewText = template.Must(template.New("").Parse(`apiVersion: krew.googlecontainertools.github.com/v1alpha2
kind: Plugin
metadata:
  name: variform
spec:
  version: {{.Version}}
  homepage: {{.Source}}
  shortDescription: {{.About}}
  description: |
    Fans one kpt package out over clusters, teams or any other objects, injects
    what is particular to each, and commits one Draft branch per variant for
    people to review. It reads Porch's PackageVariantSets as they are.
  caveats: |
    It needs Git, and no cluster.
  platforms:
{{- range .Offers}}
  - selector:
      matchLabels:
        os: {{.OS}}
        arch: {{.Arch}}
    uri: {{.URL}}
    sha256: {{.SHA256}}
    bin: {{.Program}}
    files:
    - from: {{.Program}}
      to: .
    - from: LICENSE
      to: .
{{- end}}
`))

func (r Release) krew(sums map[string]string) []byte {
	return fill(krewText, map[string]any{"Version": r.Version, "Source": images.Source, "About": about, "Offers": r.offers(sums)})
}

// fill cannot fail: a template here and what it is given belong together.
func fill(t *template.Template, of any) []byte {
	var b bytes.Buffer
	if err := t.Execute(&b, of); err != nil {
		panic(err)
	}
	return b.Bytes()
}
