package catalog

import (
	"errors"
	"fmt"
	"slices"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/api"
	"github.com/variform/variform/api/variform/v1alpha1"
	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/yamltree"
)

// Edit is a change of a Catalog: a source with packages, or (with Interface)
// the default implementation of one (Porter PEP003, provisional: "Porter
// Bundle Index").
type Edit struct {
	Git, Directory string
	OCI            string
	Packages       []string
	Interface      string
}

// Add adds a source, packages to one that is there, or a default.
func (e *Edit) Add(c *v1alpha1.Catalog) error {
	if e.Interface != "" {
		if len(e.Packages) != 1 {
			return errors.New("--interface needs the one package that implements it: give --package")
		}
		if c.Spec.Defaults == nil {
			c.Spec.Defaults = map[string]string{}
		}
		c.Spec.Defaults[e.Interface] = e.Packages[0]
		if e.Git == "" && e.OCI == "" {
			return nil
		}
	}
	if (e.Git == "") == (e.OCI == "") {
		return errors.New("give the source as --git or as --oci")
	}
	i := slices.IndexFunc(c.Spec.Sources, e.is)
	if i < 0 {
		s := v1alpha1.CatalogSource{Packages: e.Packages}
		if e.Git != "" {
			s.Git = &v1alpha1.GitSource{Repo: e.Git, Directory: e.Directory}
		} else {
			s.OCI = &v1alpha1.OCISource{Repository: e.OCI}
		}
		c.Spec.Sources = append(c.Spec.Sources, s)
		return nil
	}
	s := &c.Spec.Sources[i]
	if len(e.Packages) == 0 || len(s.Packages) == 0 {
		s.Packages = nil // all of them
		return nil
	}
	for _, p := range e.Packages {
		if !slices.Contains(s.Packages, p) {
			s.Packages = append(s.Packages, p)
		}
	}
	return nil
}

// Remove takes a source, some of its packages, or a default away. What is not
// there is an error.
func (e *Edit) Remove(c *v1alpha1.Catalog) error {
	if e.Interface != "" {
		if _, ok := c.Spec.Defaults[e.Interface]; !ok {
			return fmt.Errorf("Catalog %s has no default implementation of %s", c.Name, e.Interface)
		}
		delete(c.Spec.Defaults, e.Interface)
		if e.Git == "" && e.OCI == "" {
			return nil
		}
	}
	i := slices.IndexFunc(c.Spec.Sources, e.is)
	if i < 0 {
		return fmt.Errorf("Catalog %s has no source %s%s", c.Name, e.Git, e.OCI)
	}
	s := &c.Spec.Sources[i]
	if len(e.Packages) == 0 {
		c.Spec.Sources = slices.Delete(c.Spec.Sources, i, i+1)
		return nil
	}
	for _, p := range e.Packages {
		at := slices.Index(s.Packages, p)
		if at < 0 {
			return fmt.Errorf("Catalog %s: source %s%s does not list package %s", c.Name, e.Git, e.OCI, p)
		}
		s.Packages = slices.Delete(s.Packages, at, at+1)
	}
	if len(s.Packages) == 0 { // an empty list would mean all
		c.Spec.Sources = slices.Delete(c.Spec.Sources, i, i+1)
	}
	return nil
}

func (e *Edit) is(s v1alpha1.CatalogSource) bool {
	if s.Git != nil {
		return e.Git != "" && s.Git.Repo == e.Git && s.Git.Directory == e.Directory
	}
	return s.OCI != nil && e.OCI != "" && s.OCI.Repository == e.OCI
}

// Write makes a Catalog's document say what the Catalog says, and leaves the
// rest of it as it is.
func Write(r *krm.Resource, c *v1alpha1.Catalog) error {
	want, err := api.ToNode(c)
	if err != nil {
		return fmt.Errorf("writing Catalog %s: %w", c.Name, err)
	}
	_, err = r.Modify(func(root *yaml.Node) error {
		spec := yamltree.Ensure(root, []string{"apiVersion", "kind", "metadata", "spec"}, "spec")
		if spec == nil {
			return errors.New("spec must be a map")
		}
		to := yamltree.Child(want.YNode(), "spec")
		if to == nil { // nothing left
			to = &yaml.Node{Kind: yaml.MappingNode}
		}
		yamltree.Assign(spec, to, []string{"sources", "defaults"})
		return nil
	})
	return err
}
