package images

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"regexp"
	"runtime/debug"
	"sort"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// SBOMType is the media type of an image's list of contents: SPDX 2.3 as JSON.
const SBOMType = "application/spdx+json"

// emptyType is the configuration of artifacts that have none (OCI image-spec,
// "Guidance for an empty descriptor").
const emptyType = "application/vnd.oci.empty.v1+json"

// The parts of SPDX 2.3 that a Go binary fills.
type spdxDocument struct {
	Version       string             `json:"spdxVersion"`
	DataLicense   string             `json:"dataLicense"`
	ID            string             `json:"SPDXID"`
	Name          string             `json:"name"`
	Namespace     string             `json:"documentNamespace"`
	Creation      spdxCreation       `json:"creationInfo"`
	Packages      []spdxPackage      `json:"packages"`
	Relationships []spdxRelationship `json:"relationships"`
}

type spdxCreation struct {
	Created  string   `json:"created"`
	Creators []string `json:"creators"`
}

type spdxPackage struct {
	Name             string         `json:"name"`
	ID               string         `json:"SPDXID"`
	Version          string         `json:"versionInfo,omitempty"`
	Purpose          string         `json:"primaryPackagePurpose,omitempty"`
	DownloadLocation string         `json:"downloadLocation"`
	FilesAnalyzed    bool           `json:"filesAnalyzed"`
	LicenseConcluded string         `json:"licenseConcluded"`
	LicenseDeclared  string         `json:"licenseDeclared"`
	Copyright        string         `json:"copyrightText"`
	Checksums        []spdxChecksum `json:"checksums,omitempty"`
	ExternalRefs     []spdxRef      `json:"externalRefs,omitempty"`
}

type spdxChecksum struct {
	Algorithm string `json:"algorithm"`
	Value     string `json:"checksumValue"`
}

type spdxRef struct {
	Category string `json:"referenceCategory"`
	Type     string `json:"referenceType"`
	Locator  string `json:"referenceLocator"`
}

type spdxRelationship struct {
	Element string `json:"spdxElementId"`
	Type    string `json:"relationshipType"`
	Related string `json:"relatedSpdxElement"`
}

const noAssertion = "NOASSERTION"

// SBOM lists what is in a function's binary for one architecture.
func SBOM(f Function, arch string, created time.Time) ([]byte, error) {
	return Contents(f.Name, f.Version, "linux-"+arch, f.Binaries[arch], created)
}

// Contents lists what is in a binary for one platform, "linux-amd64": the modules
// and the version of Go that the toolchain recorded in it, and its checksum. It
// is a function of its arguments alone; created is the time of the commit.
func Contents(name, version, platform string, binary []byte, created time.Time) ([]byte, error) {
	info, err := buildinfo.Read(bytes.NewReader(binary))
	if err != nil {
		return nil, fmt.Errorf("list of contents of %s for %s: %w: the binary is to be built by Go, with modules", name, platform, err)
	}
	sum := fmt.Sprintf("%x", sha256.Sum256(binary))
	main := spdxPackage{
		Name: name, ID: "SPDXRef-Binary", Version: cmp.Or(version, info.Main.Version), Purpose: "APPLICATION",
		DownloadLocation: Source, LicenseConcluded: noAssertion, LicenseDeclared: license, Copyright: noAssertion,
		Checksums:    []spdxChecksum{{"SHA256", sum}},
		ExternalRefs: []spdxRef{purl(info.Main.Path, version)},
	}
	doc := spdxDocument{
		Version: "SPDX-2.3", DataLicense: "CC0-1.0", ID: "SPDXRef-DOCUMENT", Name: fmt.Sprintf("%s-%s", name, platform),
		Namespace: fmt.Sprintf("%s/spdx/%s-%s-%s", Source, name, platform, sum),
		Creation:  spdxCreation{Created: created.UTC().Format(time.RFC3339), Creators: []string{"Tool: variform-mkimages"}},
		Packages:  []spdxPackage{main}, Relationships: []spdxRelationship{{"SPDXRef-DOCUMENT", "DESCRIBES", main.ID}},
	}
	for _, m := range modules(info) {
		p := spdxPackage{
			Name: m.Path, ID: "SPDXRef-" + notInID.ReplaceAllString(m.Path, "-") + "-" + notInID.ReplaceAllString(m.Version, "-"), Version: m.Version, Purpose: "LIBRARY",
			DownloadLocation: noAssertion, LicenseConcluded: noAssertion, LicenseDeclared: noAssertion, Copyright: noAssertion,
			ExternalRefs: []spdxRef{purl(m.Path, m.Version)},
		}
		doc.Packages = append(doc.Packages, p)
		doc.Relationships = append(doc.Relationships, spdxRelationship{main.ID, "DEPENDS_ON", p.ID})
	}
	return json.MarshalIndent(doc, "", " ")
}

// notInID is what identifiers of SPDX may not contain.
var notInID = regexp.MustCompile(`[^A-Za-z0-9.]+`)

// modules are those of a binary, sorted by path, the standard library among them.
func modules(info *debug.BuildInfo) []debug.Module {
	out := []debug.Module{{Path: "stdlib", Version: strings.TrimPrefix(info.GoVersion, "go")}}
	for _, m := range info.Deps {
		for m.Replace != nil {
			m = m.Replace
		}
		out = append(out, *m)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Path < out[j].Path })
	return out
}

// purl is the package URL of a module, by which scanners look it up.
func purl(path, version string) spdxRef {
	locator := "pkg:golang/" + path
	if version != "" {
		locator += "@" + strings.ReplaceAll(version, "+", "%2B")
	}
	return spdxRef{Category: "PACKAGE-MANAGER", Type: "purl", Locator: locator}
}

// Referrers are the lists of contents as OCI artifacts: for each image of the
// index one that refers to it, and one with all of them that refers to the index.
func Referrers(f Function, idx v1.ImageIndex, created time.Time) ([]v1.Image, error) {
	m, err := idx.IndexManifest()
	if err != nil {
		return nil, err
	}
	var out []v1.Image
	var all []document
	for _, d := range m.Manifests {
		arch := d.Platform.Architecture
		data, err := SBOM(f, arch, created)
		if err != nil {
			return nil, err
		}
		one := document{title: fmt.Sprintf("%s-linux-%s.spdx.json", f.Name, arch), data: data}
		img, err := attached(d, one)
		if err != nil {
			return nil, err
		}
		out, all = append(out, img), append(all, one)
	}
	subject, err := partial.Descriptor(idx)
	if err != nil {
		return nil, err
	}
	img, err := attached(*subject, all...)
	return append(out, img), err
}

// document is one blob of an artifact.
type document struct {
	title string
	data  []byte
}

// artifact is an OCI artifact: a manifest without a configuration.
type artifact struct {
	manifest []byte
	blobs    map[v1.Hash]partial.CompressedLayer
}

// attached is an artifact that refers to a subject.
func attached(subject v1.Descriptor, docs ...document) (v1.Image, error) {
	config, size, err := v1.SHA256(strings.NewReader(emptyConfig))
	if err != nil {
		return nil, err
	}
	a := artifact{blobs: map[v1.Hash]partial.CompressedLayer{}}
	m := v1.Manifest{
		SchemaVersion: 2, MediaType: types.OCIManifestSchema1, ArtifactType: SBOMType,
		Config:  v1.Descriptor{MediaType: emptyType, Digest: config, Size: size},
		Subject: &v1.Descriptor{MediaType: subject.MediaType, Digest: subject.Digest, Size: subject.Size},
	}
	for _, d := range docs {
		layer := static.NewLayer(d.data, SBOMType)
		desc, err := partial.Descriptor(layer)
		if err != nil {
			return nil, err
		}
		desc.Annotations = map[string]string{"org.opencontainers.image.title": d.title}
		m.Layers = append(m.Layers, *desc)
		a.blobs[desc.Digest] = layer
	}
	if a.manifest, err = json.Marshal(m); err != nil {
		return nil, err
	}
	return partial.CompressedToImage(a)
}

const emptyConfig = "{}"

func (artifact) RawConfigFile() ([]byte, error)      { return []byte(emptyConfig), nil }
func (artifact) MediaType() (types.MediaType, error) { return types.OCIManifestSchema1, nil }
func (a artifact) RawManifest() ([]byte, error)      { return a.manifest, nil }
func (a artifact) LayerByDigest(h v1.Hash) (partial.CompressedLayer, error) {
	if l, ok := a.blobs[h]; ok {
		return l, nil
	}
	return nil, fmt.Errorf("the artifact has no blob %s", h)
}
