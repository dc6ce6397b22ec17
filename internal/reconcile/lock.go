package reconcile

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	kptfilev1 "github.com/kptdev/kpt/api/kptfile/v1"

	variformv1alpha1 "github.com/variform/variform/api/variform/v1alpha1"
	"github.com/variform/variform/internal/depend"
	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/mutate"
	"github.com/variform/variform/resolver"
)

// lockContent is a target's lock, to be drafted as a package of its own beside
// the variants that it covers.
type lockContent struct {
	target *fleetTarget
	doc    *variformv1alpha1.PackageLock
	digest string    // of doc
	when   time.Time // of the newest commit among what it was made of
}

func newLockContent(t *fleetTarget, doc *variformv1alpha1.PackageLock, when time.Time) (*lockContent, error) {
	doc.Annotations = map[string]string{"config.kubernetes.io/local-config": "true"}
	data, err := json.Marshal(doc) // its YAML costs far more, and is for what is written
	return &lockContent{t, doc, hash(string(data)), when}, err
}

// source stands for the upstream that a lock does not have. It has no address,
// so that a target which moves to another one keeps its lock.
func (c *lockContent) source(r *repository, path string) upstreamResult {
	return upstreamResult{repo: &repository{obj: r.obj}, path: path, content: c.digest, when: c.when, lock: &kptfilev1.Locator{Git: &kptfilev1.GitLock{}}}
}

// differs lists what is other than in an older lock.
func (c *lockContent) differs(from *head) []depend.Change {
	old := c.target.Lock
	switch {
	case from == nil:
		old = nil
	case from.Number > 0:
		old = c.target.Placed
	}
	return depend.Changed(old, &c.doc.Spec)
}

// changes tell what differs from an older lock.
func (c *lockContent) changes(from *head) []string {
	var lines []string
	for _, c := range c.differs(from) {
		lines = append(lines, c.String())
	}
	if len(lines) > 0 {
		return limit(lines, maxReasons)
	}
	return []string{"the lock is not what was resolved: it was changed by hand, or written by another version of variform"}
}

// edited says whether a revision of the lock, made for this very answer, has
// another by now.
func (c *lockContent) edited(from *head) bool {
	have := c.target.Lock
	if from.Number > 0 {
		have = c.target.Placed
	}
	return have != nil && !sameLock(have, &c.doc.Spec)
}

// sameLock compares what two locks say; a list that is empty is one that is not
// there.
func sameLock(a, b *resolver.Lock) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && bytes.Equal(x, y)
}

// maxReasons bounds how many lines an item gives as its reasons.
const maxReasons = 20

const lockKptfile = `apiVersion: kpt.dev/v1
kind: Kptfile
metadata:
  name: ` + depend.LockPackage + `
  annotations:
    config.kubernetes.io/local-config: "true"
info:
  description: >-
    What the packages of this target need, and what answers it. Variform writes
    lock.yaml; it is approved together with the packages that it names.
`

// write puts the lock into its package: a new one, or one that is there. What
// stays keeps its bytes, and the comments that people wrote there.
func (c *lockContent) write(have *krm.Package, owner mutate.Owner) (*krm.Package, error) {
	if have == nil {
		var err error
		if have, err = krm.Parse([]krm.File{{Path: kptfilev1.KptFileName, Data: []byte(lockKptfile)}}); err != nil {
			return nil, err
		}
	}
	p := have.Clone()
	was, _ := p.Read(depend.LockFile)
	if old, err := resolver.ParseLock(was.Data); err != nil || !sameLock(old, &c.doc.Spec) {
		data, err := resolver.UpdateLock(was.Data, c.doc)
		if err != nil {
			return nil, err
		}
		p.Write(krm.File{Path: depend.LockFile, Mode: was.Mode, Data: data})
	}
	if err := mutate.SetOwner(p, owner); err != nil {
		return nil, stalledError{fmt.Errorf("the lock's package: %w", err)}
	}
	return p, nil
}

// holdLocks keeps locks as they are where a package that they would name anew
// could not be made: a lock is drafted with what it covers.
func holdLocks(items []*Item) {
	failed := map[Identity]bool{}
	for _, i := range items {
		failed[i.Identity] = failed[i.Identity] || i.Err != nil
	}
	for _, i := range items {
		if !i.Lock || i.write == nil || i.write.work == nil || !i.write.work.isLock() {
			continue
		}
		w := i.write.work
		var without []string
		for _, c := range w.dep.lock.differs(w.from) {
			if v := w.dep.target.variants[c.Ref]; v != nil && failed[v.Identity] {
				without = append(without, v.Identity.String())
			}
		}
		if len(without) > 0 {
			i.Action, i.write, i.After, i.publish = Wait, nil, nil, false
			i.Reasons = []string{"is drafted with what it names, and failed: " + strings.Join(limit(without, 5), ", ")}
		}
	}
}
