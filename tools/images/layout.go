package images

import (
	"fmt"
	"os"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// refName is the annotation by which engines find an image in a layout.
const refName = "org.opencontainers.image.ref.name"

// WriteLayout writes an index as an OCI layout folder, replacing what is
// there. The index is one nested entry of the layout: engines that load a
// layout refuse one whose top level lists an image for each platform. ref is
// the name that the entry carries for them, such as "inject-config:v1". What
// refers to the index or its images stands beside it, without a name.
func WriteLayout(dir, ref string, idx v1.ImageIndex, referrers ...v1.Image) error {
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("clearing the layout %q: %w", dir, err)
	}
	p, err := layout.Write(dir, empty.Index)
	if err != nil {
		return fmt.Errorf("writing the layout %q: %w", dir, err)
	}
	named := layout.WithAnnotations(map[string]string{refName: ref})
	if err := p.AppendIndex(idx, named); err != nil {
		return fmt.Errorf("writing the layout %q: %w", dir, err)
	}
	for _, r := range referrers {
		if err := p.AppendImage(r); err != nil {
			return fmt.Errorf("writing what refers to the image into the layout %q: %w", dir, err)
		}
	}
	return nil
}

// WriteArchive writes one platform's image of an index as an archive that
// `docker load` and `podman load` read, under the name ref.
func WriteArchive(file, ref string, idx v1.ImageIndex, arch string) error {
	tag, err := name.NewTag(ref)
	if err != nil {
		return fmt.Errorf("name of the archive %q: %w", file, err)
	}
	m, err := idx.IndexManifest()
	if err != nil {
		return err
	}
	for _, d := range m.Manifests {
		if d.Platform == nil || d.Platform.Architecture != arch {
			continue
		}
		img, err := idx.Image(d.Digest)
		if err != nil {
			return err
		}
		if err := tarball.WriteToFile(file, tag, img); err != nil {
			return fmt.Errorf("writing the archive %q: %w", file, err)
		}
		return nil
	}
	return fmt.Errorf("archive %q: the image is not built for %s", file, arch)
}
