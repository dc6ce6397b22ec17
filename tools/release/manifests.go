package release

import (
	"fmt"
	"path/filepath"
	"regexp"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/variform/variform/tools/images"
)

// manifests are the plain files of YAML that install the controller, by the folder of
// kustomize that makes each.
var manifests = map[string]string{
	images.Controller + ".yaml":            "config",
	images.Controller + "-namespaced.yaml": "config/namespaced",
	"porch-crds.yaml":                      "config/porch",
}

// addManifests makes them, with the image of this version.
func (r Release) addManifests(module string, into map[string][]byte) error {
	for name, folder := range manifests {
		data, err := r.manifest(filepath.Join(module, filepath.FromSlash(folder)))
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		into[name] = data
	}
	return nil
}

// tagged is the controller's image with a tag.
var tagged = regexp.MustCompile(`(ghcr\.io/variform/` + images.Controller + `):\S+`)

func (r Release) manifest(folder string) ([]byte, error) {
	options := krusty.MakeDefaultOptions()
	options.Reorder = krusty.ReorderOptionLegacy // as kubectl has it: what others need comes first
	resources, err := krusty.MakeKustomizer(options).Run(filesys.MakeFsOnDisk(), folder)
	if err != nil {
		return nil, err
	}
	all, err := resources.AsYaml()
	return tagged.ReplaceAll(all, []byte("${1}:"+images.Tag(r.Version))), err
}
