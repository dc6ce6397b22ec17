package api

import (
	"fmt"
	"net/url"
	"reflect"
	"time"

	"github.com/variform/variform/api/variform/v1alpha1"
)

// LeastInterval is the shortest time between two looks of a controller: a forge takes
// more for abuse.
const LeastInterval = time.Second

// MostShards is how many parts a controller splits a fleet into at most.
const MostShards = 1000

// ValidateFleet checks what a controller is told. Addresses are never part of a message.
func ValidateFleet(f *v1alpha1.Fleet) Issues {
	var i Issues
	i.metadata(&f.ObjectMeta)
	s := &f.Spec
	i.shape("spec", reflect.ValueOf(s), rules{})
	i.exactlyOne("spec.source", map[string]bool{"git": s.Source.Git != nil, "objects": s.Source.Objects != nil})
	if s.Manager != "" {
		i.name("spec.manager", s.Manager)
	}
	if s.ServiceAccountName != "" {
		i.name("spec.serviceAccountName", s.ServiceAccountName)
	}
	if s.Interval != "" {
		if d, err := time.ParseDuration(s.Interval); err != nil || d < LeastInterval {
			i.add("spec.interval", fmt.Sprintf("spec.interval: %q is no time of %s or more", s.Interval, LeastInterval), "write it as 30s, 5m or 1h")
		}
	}
	if s.Shards != nil && *s.Shards > MostShards {
		i.add("spec.shards", fmt.Sprintf("spec.shards must be at most %d, not %d", MostShards, *s.Shards), "")
	}
	if g := s.Source.Git; g != nil {
		i.packagePath("spec.source.git.directory", cleanDirectory(g.Directory))
		if u, err := url.Parse(g.Repo); err == nil && u.User != nil {
			if _, secret := u.User.Password(); secret {
				i.add("spec.source.git.repo", "spec.source.git.repo holds a password", "take it out: a helper of Git or a Secret brings it")
			}
		}
	}
	if o := s.Source.Objects; o != nil {
		i.labels("spec.source.objects.selector", o.Selector)
		if s.Manager == "" {
			i.required("spec.manager", "objects have no Kptfile that names who signs packages")
		}
	}
	return i
}
