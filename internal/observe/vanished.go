package observe

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"strings"
	"time"

	kptfilev1 "github.com/kptdev/kpt/api/kptfile/v1"

	"github.com/variform/variform/api/config/v1alpha1"
	"github.com/variform/variform/internal/decide"
	"github.com/variform/variform/internal/depend"
	"github.com/variform/variform/internal/gitrepo"
	"github.com/variform/variform/internal/mutate"
	"github.com/variform/variform/resolver"
)

// keep returns the versions that targets have locked and that no source has any
// more, or has with other content, by what was made of them: they stay
// (docs/design/dependencies.md#the-lock).
func (r *Reader) keep(ctx context.Context, s *Snapshot, targets []*decide.Target, versions []resolver.Package) []resolver.Package {
	offered := depend.NewOffered(versions)
	var out []resolver.Package
	var said decide.Vanished
	for _, t := range targets {
		for _, v := range t.Vanished(offered) {
			p, err := r.lockedPackage(ctx, t, &v.LockedPackage)
			if err != nil {
				s.Warnings = append(s.Warnings, fmt.Sprintf("target %s: %s %s is locked and no source has it any more, and what was made of it cannot be read: %v", t.Name(), cmp.Or(v.Package, v.Name), v.Version, err))
				continue
			}
			if said.Add(t, v, p); p != nil {
				out = append(out, *p)
			}
		}
	}
	s.Warnings = append(s.Warnings, said.Warnings()...)
	return out
}

// lockedPackage is a locked version by what was made of it; nil where nothing was.
func (r *Reader) lockedPackage(ctx context.Context, t *decide.Target, l *resolver.LockedPackage) (*resolver.Package, error) {
	repo := r.repoOf(t)
	s := repo.Package(t.Path(path.Join(l.Namespace, l.Name)))
	for _, h := range []*decide.Revision{s.Open(), s.Latest} {
		if h == nil {
			continue
		}
		_, pkg, err := repo.ReadPackage(ctx, h.Ref.Commit, s.Path)
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", h.Ref.Name, err)
		}
		k, err := mutate.Read(pkg, "")
		if err != nil {
			continue
		}
		lock := mutate.Lock(k)
		if lock == nil {
			continue
		}
		tag, same := lock.Ref, lock.Commit == strings.TrimPrefix(l.Digest, "git:")
		if !strings.Contains(tag, "/") { // it has documents, or is an image's
			tag = path.Join(strings.Trim(lock.Directory, "/"), tag)
		} else if !same {
			continue
		}
		named, err := r.upstreamFor(t.Namespace, &resolver.Instance{Source: l.Source, Tag: tag})
		if err != nil {
			return nil, err
		}
		up := r.upstream.get(upstreamKey{t.Namespace, *named, l.Digest}, func() *decide.Upstream {
			return r.readLocked(ctx, t.Namespace, *named, k.UpstreamLock)
		})
		if !same && up.Err == nil && up.Digest != l.Digest {
			continue
		}
		o := decide.ReadOffer(pkg, cmp.Or(l.Package, l.Name), lock.Ref, l.Digest) // it has the manifest, too
		if up.Err == nil {
			o = *up.Offer
		}
		if o.Err != nil {
			return nil, o.Err
		}
		if !decide.SameNumber(o.Package.Version, l.Version) {
			return nil, nil // the lock was edited: there never was such a version
		}
		out := *o.Package
		out.Package, out.Version, out.Tag, out.Source, out.Digest, out.Gone = cmp.Or(l.Package, l.Name), l.Version, tag, l.Source, l.Digest, true
		return &out, nil
	}
	return nil, nil
}

// readLocked reads an upstream as a package records it.
func (r *Reader) readLocked(ctx context.Context, namespace string, u v1alpha1.Upstream, lock *kptfilev1.Locator) *decide.Upstream {
	up := &decide.Upstream{Lock: lock, When: time.Unix(0, 0).UTC()}
	fail := func(err error) *decide.Upstream {
		up.Err = decide.Stall(fmt.Errorf("upstream %s/%s: %s is locked at %s, which is no longer to be had: %w", u.Repo, u.Package, lock.Git.Ref, lock.Git.Commit, err))
		return up
	}
	repo, err := r.source(ctx, namespace, u.Repo)
	if err != nil {
		return fail(err)
	}
	up.Repo, up.Path, up.Workspace = repo.Repository, u.Package, path.Base(lock.Git.Ref)
	if repo.Git != nil {
		up.Path, up.Workspace = strings.Trim(lock.Git.Directory, "/"), lock.Git.Ref
		if last := path.Base(lock.Git.Ref); !strings.Contains(last, ".") { // a revision's number
			up.Workspace = last
		}
	}
	b, err := lockedBase(ctx, repo, up.Path, lock.Git)
	if err != nil {
		return fail(err)
	}
	b.fill(up)
	if repo.Git != nil {
		commits, err := repo.Git.Commits(ctx, gitrepo.Hash(decide.ParseHash(lock.Git.Commit)))
		if err != nil {
			return fail(err)
		}
		up.When = commits[0].Committer.When
	}
	r.offer(up, u.Package)
	return up
}
