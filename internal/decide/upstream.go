package decide

import (
	"fmt"
	"slices"
	"strings"
	"time"

	kptfilev1 "github.com/kptdev/kpt/api/kptfile/v1"

	"github.com/variform/variform/api"
	"github.com/variform/variform/api/config/v1alpha1"
	variformv1alpha1 "github.com/variform/variform/api/variform/v1alpha1"
	"github.com/variform/variform/internal/contents"
	"github.com/variform/variform/internal/depend"
	"github.com/variform/variform/internal/foreign"
	"github.com/variform/variform/internal/injection"
	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/resolver"
)

// ManifestFile is where a package's PackageManifest stands.
const ManifestFile = "package.yaml"

// Upstream is an upstream package at the revision that a variant names, in Git
// or in a registry. Shared by all variants that name it: read only.
type Upstream struct {
	Err       error // why it could not be read
	Repo      *Repository
	Path      string             // folder of the Git repository; package of the registry
	Workspace string             // the last part of Porch's name of the revision
	Differs   string             // that what names it names another revision, too; "" for most
	Lock      *kptfilev1.Locator // as Kptfiles record it
	Content   string             // what it holds: a Git tree, or the image's digest
	Digest    string             // how a lock names what it holds
	When      time.Time          // the commit's time, or when the image says that it was made
	Package   *krm.Package
	Points    []injection.Point
	Functions []string // what renders it
	Versions  []string // the same with the versions of built-in functions
	Offer     *Offer
}

// Unpublished waits for an upstream that is a package of this fleet, too, and of
// which nothing is Published yet; false for any other.
func Unpublished(named *v1alpha1.Upstream, u *Upstream) (Ruling, bool) {
	if u.Err == nil || u.Repo == nil || u.Repo.Git == "" {
		return Ruling{}, false
	}
	path := u.Repo.Path(named.Package)
	if p := u.Repo.Package(path); !u.Repo.Wanted[path] || p.Latest != nil {
		return Ruling{}, false
	}
	return ruled(Wait{}, fmt.Sprintf("its upstream %s/%s is a variant of this fleet that is not Published yet: approve that first", named.Repo, named.Package)), true
}

// Ref is the tag, branch or commit, or the image's tag or digest.
func (u *Upstream) Ref() string { return u.Lock.Git.Ref }

// String names the upstream for people: repo/package@ref.
func (u *Upstream) String() string { return u.Repo.Name + "/" + u.Path + "@" + u.Ref() }

// PorchName is Porch's name of the upstream's package revision.
func (u *Upstream) PorchName(pkg string) string { return PorchName(u.Repo.Name, pkg, u.Workspace) }

// Kptfile is what a Kptfile says about it; old is what it said so far.
func (u *Upstream) Kptfile(old *kptfilev1.Upstream) *kptfilev1.Upstream {
	git := u.Lock.Git
	out := &kptfilev1.Upstream{Type: u.Lock.Type, Git: &kptfilev1.Git{Repo: git.Repo, Directory: git.Directory, Ref: git.Ref}}
	if old != nil {
		out.UpdateStrategy = old.UpdateStrategy
	}
	return out
}

// Offer is what a package's manifest and its content say to the resolver.
type Offer struct {
	Package *resolver.Package
	Outputs []variformv1alpha1.ManifestOutput
	Inputs  map[string]variformv1alpha1.ManifestInput // by "parameters.x" and "credentials.x"
	APIs    []resolver.GVK
	Objects []contents.Object
	// Doubtful are APIs that the manifest provides in a version that no definition in
	// the package serves, though it has one.
	Doubtful []resolver.GVK
	// Unversioned says that nothing tells its version.
	Unversioned bool
	Err         error
}

// ReadOffer reads a package; fallback names it where it has no manifest.
func ReadOffer(p *krm.Package, fallback, tag, digest string) (o Offer) {
	o.Package = &resolver.Package{Package: fallback}
	for _, name := range foreign.Files {
		if f, ok := p.Read(name); ok && o.read(name, f.Data) {
			break
		}
	}
	if o.Err != nil {
		return o
	}
	_, isVersion := depend.TagVersion(tag)
	o.Unversioned = o.Package.Version == "" && !isVersion
	o.Package.Version = depend.Version(o.Package.Version, tag, digest)
	o.Package.Tag, o.Package.Digest = tag, digest
	content := contents.Of(p)
	o.APIs, o.Objects = content.Serves, content.Objects
	for _, g := range provided(o.Package) {
		if !slices.Contains(o.APIs, g) && len(servedAs(o.APIs, g)) > 0 {
			o.Doubtful = append(o.Doubtful, g)
		}
	}
	o.Package.Provide(o.APIs...)
	return o
}

// read reads a file that may say what the package needs, and whether it does: a
// manifest, or a document of another system.
func (o *Offer) read(name string, data []byte) bool {
	theirs, err := foreign.One(name, data)
	if o.Err = err; theirs != nil {
		theirs.Package, theirs.Foreign = o.Package.Package, ""
		o.Package = theirs
	}
	if theirs != nil || err != nil || name != ManifestFile {
		return theirs != nil || err != nil
	}
	obj, report := api.Parse(data, api.WithFile(name))
	m, ok := obj.(*variformv1alpha1.PackageManifest)
	switch o.Err = report.Err(); {
	case o.Err != nil:
	case !ok:
		o.Err = fmt.Errorf("%s holds no PackageManifest", name)
	default:
		o.manifest(m)
	}
	return true
}

// Brings are the APIs that the package serves or provides.
func (o *Offer) Brings() []resolver.GVK { return append(slices.Clip(o.APIs), provided(o.Package)...) }

// servedAs are the versions in which APIs have the kind of another.
func servedAs(apis []resolver.GVK, g resolver.GVK) (out []string) {
	for _, a := range apis {
		if a.GroupKind() == g.GroupKind() {
			out = append(out, strings.TrimPrefix(a.APIVersion, a.Group()+"/"))
		}
	}
	return out
}

// Doubts says which APIs the upstream's manifest provides, and its definitions do
// not serve.
func (u *Upstream) Doubts() (out []string) {
	for _, g := range u.Offer.Doubtful {
		out = append(out, fmt.Sprintf("upstream %s: %s: spec.provides has %s, and the definition in the package serves %s alone: correct the one or the other in a new version",
			u, ManifestFile, g, strings.Join(servedAs(u.Offer.APIs, g), ", ")))
	}
	return out
}

func (o *Offer) manifest(m *variformv1alpha1.PackageManifest) {
	manifest := resolver.FromManifest(m)
	o.Package, o.Outputs = &manifest, m.Spec.Outputs
	o.Inputs = map[string]variformv1alpha1.ManifestInput{}
	for _, i := range m.Spec.Parameters {
		o.Inputs["parameters."+i.Name] = i
	}
	for _, i := range m.Spec.Credentials {
		o.Inputs["credentials."+i.Name] = i
	}
}

// Spares says whether an input may keep what the package has, where the dependency is absent that its value would come
// from: it is not required, or has a value of its own as default.
func Spares(in *variformv1alpha1.ManifestInput) bool {
	if in.Required != nil {
		return !*in.Required
	}
	return in.Default != nil && !strings.Contains(*in.Default, "${")
}

// Unset are the required inputs that nothing gives and that have a place, by
// "parameters.x" and "credentials.x", sorted.
func (o *Offer) Unset(assigned map[string]bool) []string {
	var out []string
	for field, in := range o.Inputs {
		if in.To != nil && in.Default == nil && (in.Required == nil || *in.Required) && !assigned[field] {
			out = append(out, field)
		}
	}
	slices.Sort(out)
	return out
}

// provided are the APIs that a package brings.
func provided(p *resolver.Package) []resolver.GVK {
	var out []resolver.GVK
	for _, o := range p.Provides {
		if o.GVK != nil {
			out = append(out, *o.GVK)
		}
	}
	return out
}
