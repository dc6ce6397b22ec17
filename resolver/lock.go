package resolver

import (
	"fmt"
	"slices"
	"strings"
)

// Lock is the recorded answer: exact versions with digests, and who owns which API (seed 004's PackageLock).
// Packages are sorted by namespace and name, so that one changed dependency changes its own lines only.
type Lock struct {
	Packages                  []LockedPackage   `json:"packages,omitempty"`
	CustomResourceDefinitions map[string]string `json:"customResourceDefinitions,omitempty"`
	Compositions              map[string]string `json:"compositions,omitempty"`
}

// LockedPackage is one instance of a lock. Package is empty where it is the same as Name.
type LockedPackage struct {
	Name         string   `json:"name"`
	Namespace    string   `json:"namespace,omitempty"`
	Package      string   `json:"package,omitempty"`
	Version      string   `json:"version"`
	Source       string   `json:"source,omitempty"`
	Digest       string   `json:"digest,omitempty"`
	Dependencies []string `json:"dependencies"`
}

func (p LockedPackage) pkg() string {
	if p.Package != "" {
		return p.Package
	}
	return p.Name
}

// version is the locked version of a package in a namespace, or in any where that one has none; "" if none.
func (l *Lock) version(pkg, ns string) string {
	if l == nil {
		return ""
	}
	found := ""
	for _, p := range l.Packages {
		if p.pkg() != pkg {
			continue
		}
		if p.Namespace == ns {
			return strings.TrimPrefix(p.Version, "v")
		}
		if found == "" {
			found = strings.TrimPrefix(p.Version, "v")
		}
	}
	return found
}

// verify compares the digests of what was resolved with those that are locked.
func (l *Lock) verify(r *Resolution) error {
	if l == nil {
		return nil
	}
	e := &ConflictError{Kind: DigestMismatch, Summary: "a locked version is no longer what was locked:"}
	for _, i := range r.Instances {
		for _, p := range l.Packages {
			if p.pkg() != i.Package || p.Version != i.Version || p.Digest == "" || i.Digest == "" || p.Digest == i.Digest {
				continue
			}
			text := fmt.Sprintf("%s %s was locked as %s and is now %s", i.Package, i.Version, p.Digest, i.Digest)
			if !slices.Contains(e.Reasons, text) {
				e.Reasons = append(e.Reasons, text)
			}
		}
	}
	if len(e.Reasons) == 0 {
		return nil
	}
	e.Hints = []string{"find out why the version moved; to accept it, remove its entry from the lock"}
	return e
}

// lock records a resolution.
func (r *Resolution) lock() *Lock {
	l := &Lock{CustomResourceDefinitions: map[string]string{}, Compositions: map[string]string{}}
	for _, i := range r.Instances {
		p := LockedPackage{Name: i.Name, Namespace: i.Namespace, Version: i.Version, Source: i.Source, Digest: i.Digest, Dependencies: []string{}}
		if i.Package != i.Name {
			p.Package = i.Package
		}
		for _, b := range i.Bindings {
			if b.Installation != "" {
				name := b.Installation
				if b.Namespace != i.Namespace {
					name = ref(&b)
				}
				p.Dependencies = append(p.Dependencies, name)
			}
		}
		slices.Sort(p.Dependencies)
		p.Dependencies = slices.Compact(p.Dependencies)
		l.Packages = append(l.Packages, p)
		if i.manifest == nil {
			continue
		}
		for _, pr := range i.manifest.Provides {
			if pr.GVK != nil {
				l.CustomResourceDefinitions[pr.GVK.name()] = i.Name
			}
		}
		for _, c := range i.manifest.Compositions {
			l.Compositions[c] = i.Name
		}
	}
	slices.SortFunc(l.Packages, func(a, b LockedPackage) int {
		return strings.Compare(a.Namespace+"\x00"+a.Name, b.Namespace+"\x00"+b.Name)
	})
	return l
}
