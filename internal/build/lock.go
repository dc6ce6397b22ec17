package build

import (
	"context"
	"errors"
	"fmt"

	kptfilev1 "github.com/kptdev/kpt/api/kptfile/v1"

	"github.com/variform/variform/internal/decide"
	"github.com/variform/variform/internal/depend"
	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/mutate"
	"github.com/variform/variform/resolver"
)

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

// relock puts a lock into the package that is there, and, where it is known what the
// machine made of that, into that.
func (m *maker) relock(ctx context.Context, lock *decide.Lock, there *krm.Package) (err error) {
	if m.pkg, err = m.writeLock(lock, there, m.owner()); err != nil {
		return err
	}
	was, err := m.Job.Repo.Hydrated(ctx, m.Package.Path, m.From)
	switch {
	case err != nil:
		return err
	case was != nil:
		m.machine, err = m.writeLock(lock, was, m.owner())
		return err
	}
	unedited, err := m.asWritten(lock, there, m.owner())
	if unedited {
		m.machine = m.pkg
	}
	return err
}

// asWritten says that a lock's package is to the byte what is written where there is none:
// nobody edited it, though nothing tells what the machine made, as of earlier programs.
func (b *Builder) asWritten(lock *decide.Lock, there *krm.Package, owner mutate.Owner) (bool, error) {
	f, _ := there.Read(depend.LockFile)
	spec, err := resolver.ParseLock(f.Data)
	if err != nil {
		return false, nil //nolint:nilerr // a lock that cannot be read is not what was written
	}
	was, doc := *lock, *lock.Document
	was.Document, doc.Spec = &doc, *spec
	made, err := b.writeLock(&was, nil, owner)
	if err != nil {
		return false, err
	}
	return samePackage(made, there)
}

// saysLock says that a file says what a lock does.
func saysLock(f krm.File, lock *decide.Lock) bool {
	spec, err := resolver.ParseLock(f.Data)
	return err == nil && decide.SameLock(spec, &lock.Document.Spec)
}

// writeLock puts a lock into its package: a new one, or one that is there. What
// stays keeps its bytes, and the comments that people wrote there.
func (b *Builder) writeLock(lock *decide.Lock, have *krm.Package, owner mutate.Owner) (*krm.Package, error) {
	if have == nil {
		var err error
		if have, err = krm.Parse([]krm.File{{Path: kptfilev1.KptFileName, Data: []byte(lockKptfile)}}, krm.WithCache(&b.lockFiles)); err != nil {
			return nil, err
		}
	}
	p := have.Clone()
	was, there := p.Read(depend.LockFile)
	if !there || !saysLock(was, lock) {
		data, err := b.locks.Update(was.Data, lock.Document)
		if err != nil {
			return nil, err
		}
		p.Write(krm.File{Path: depend.LockFile, Mode: was.Mode, Data: data})
	}
	err := errors.Join(tellFlux(p, lock), mutate.SetOwner(p, owner))
	if err != nil {
		return nil, decide.Stall(fmt.Errorf("the lock's package: %w", err))
	}
	return p, nil
}
