package api

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/api/config/v1alpha1"
	variformv1alpha1 "github.com/variform/variform/api/variform/v1alpha1"
	"github.com/variform/variform/internal/yamltree"
)

// ValidateRepository checks a Repository: a DNS label for a name as Porch
// wants it, exactly the section of its type, an address, a clean branch and
// directory. Addresses are never part of a message.
func ValidateRepository(r *v1alpha1.Repository) Issues {
	var i Issues
	i.metadata(&r.ObjectMeta)
	if len(i) == 0 {
		i.repositoryName(r.Name)
	}
	if says, ok := r.Annotations[variformv1alpha1.ReviewAnnotation]; ok {
		modes := []string{variformv1alpha1.ReviewByClass, variformv1alpha1.ReviewByVariant, variformv1alpha1.ReviewByRepository}
		if !slices.Contains(modes, says) {
			i.add(keyed("metadata.annotations", variformv1alpha1.ReviewAnnotation), "annotation "+variformv1alpha1.ReviewAnnotation+" can only be "+strings.Join(modes, ", "), wrongWord(says, modes...))
		}
	}
	if r.Spec.Content != "" && r.Spec.Content != "Package" {
		i.add("spec.content", "The 'content' field is deprecated, its only valid value is 'Package'", "leave it out")
	}
	switch r.Spec.Type {
	case "":
		i.required("spec.git", "a Repository has a git section with an address in repo, or an oci section with a registry")
	case v1alpha1.RepositoryGit:
		i.gitRepository(r.Spec.Git, r.Spec.OCI != nil)
	case v1alpha1.RepositoryOCI:
		i.ociRepository(r.Spec.OCI, r.Spec.Git != nil)
	default:
		i.add("spec.type", `spec.type can only be "git" or "oci"`, wrongWord(string(r.Spec.Type), "git", "oci"))
	}
	return i
}

func (i *Issues) repositoryName(name string) {
	if len(name) > validation.DNS1123LabelMaxLength {
		i.add("metadata.name", "metadata.name must be no more than 63 characters", "")
		return
	}
	if msgs := validation.IsDNS1123Label(name); len(msgs) > 0 {
		i.add("metadata.name", "metadata.name must conform to the RFC1123 DNS label standard", msgs[0])
	}
}

func (i *Issues) gitRepository(g *v1alpha1.GitRepository, other bool) {
	if other {
		i.add("spec.oci", "spec.oci must not be given when spec.type is git", "remove it, or change spec.type")
	}
	if g == nil {
		i.required("spec.git", "spec.type is git")
		return
	}
	if g.Repo == "" {
		i.required("spec.git.repo", "the address of the Git repository: a URL or a path")
	}
	if g.Branch != "" {
		if err := CheckBranch(g.Branch); err != nil {
			i.add("spec.git.branch", "spec.git.branch: "+err.Error(), "")
		}
	}
	i.packagePath("spec.git.directory", g.Directory)
}

func (i *Issues) ociRepository(o *v1alpha1.OCIRepository, other bool) {
	if other {
		i.add("spec.git", "spec.git must not be given when spec.type is oci", "remove it, or change spec.type")
	}
	if o == nil {
		i.required("spec.oci", "spec.type is oci")
		return
	}
	if o.Registry == "" {
		i.required("spec.oci.registry", "the address of the registry, such as registry.example.com/packages")
	}
}

// ValidatePackageRevision checks what look-ups need of Porch's data.
func ValidatePackageRevision(r *v1alpha1.PackageRevision) Issues {
	var i Issues
	if r.Name == "" {
		i.required("metadata.name", "")
	}
	if r.Spec.Repository == "" {
		i.required("spec.repository", "")
	}
	if r.Spec.PackageName == "" {
		i.required("spec.packageName", "")
	}
	switch r.Spec.Lifecycle {
	case "", v1alpha1.LifecycleDraft, v1alpha1.LifecycleProposed, v1alpha1.LifecyclePublished, v1alpha1.LifecycleDeletionProposed:
	default:
		i.add("spec.lifecycle", "spec.lifecycle can only be Draft, Proposed, Published or DeletionProposed",
			wrongWord(string(r.Spec.Lifecycle), "Draft", "Proposed", "Published", "DeletionProposed"))
	}
	return i
}

// ValidateInjectConfig checks injectors and inline resources.
func ValidateInjectConfig(c *variformv1alpha1.InjectConfig) Issues {
	var i Issues
	i.namespace("namespace", c.Namespace)
	i.injectors("injectors", c.Injectors)
	for n, r := range c.Resources {
		at := index("resources", n)
		if r == nil {
			i.add(at, at+" is empty", "")
			continue
		}
		root := r.YNode()
		for _, f := range []string{"apiVersion", "kind"} {
			if yamltree.Text(root, f) == "" {
				i.required(at+"."+f, "each resource is a whole object")
			}
		}
		if yamltree.Text(mapOf(root, "metadata"), "name") == "" {
			i.required(at+".metadata.name", "injectors select by name")
		}
	}
	return i
}

func mapOf(n *yaml.Node, key string) *yaml.Node {
	if v := yamltree.Child(n, key); v != nil {
		return v
	}
	return &yaml.Node{}
}
