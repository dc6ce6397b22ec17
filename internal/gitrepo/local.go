package gitrepo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"sync"
	"syscall"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/variform/variform/internal/cores"
	"github.com/variform/variform/internal/record"
)

// gitDirs is where a local repository keeps its things.
type gitDirs struct {
	dir      string // HEAD
	common   string // refs, objects, config: another folder in a linked work tree
	reftable bool
	hooks    string // core.hooksPath of the repository, "" where it has none
}

// findGitDir finds the Git directory of a path as git's own servers do.
func findGitDir(path string) (*gitDirs, error) {
	for _, suffix := range []string{"/.git", "", ".git/.git", ".git"} {
		dir := filepath.Clean(path + suffix)
		if data, err := os.ReadFile(dir); err == nil {
			target, ok := strings.CutPrefix(strings.TrimSpace(string(data)), "gitdir: ")
			if !ok {
				continue
			}
			if !filepath.IsAbs(target) {
				target = filepath.Join(filepath.Dir(dir), target)
			}
			dir = target
		}
		if d, ok := gitDirAt(dir); ok {
			return d, d.readConfig(path)
		}
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, errKind(ErrNoRepository, "the Git repository %q does not exist; make it with git init --bare", path)
	}
	return nil, errKind(ErrNoRepository, "%q is not a Git repository; make it with git init --bare", path)
}

func gitDirAt(dir string) (*gitDirs, bool) {
	if _, err := os.Stat(filepath.Join(dir, "HEAD")); err != nil {
		return nil, false
	}
	d := &gitDirs{dir: dir, common: dir}
	if data, err := os.ReadFile(filepath.Join(dir, "commondir")); err == nil {
		d.common = strings.TrimSpace(string(data))
		if !filepath.IsAbs(d.common) {
			d.common = filepath.Join(dir, d.common)
		}
	}
	for _, need := range []string{"objects", "refs"} {
		if st, err := os.Stat(filepath.Join(d.common, need)); err != nil || !st.IsDir() {
			return nil, false
		}
	}
	return d, true
}

// readConfig looks for the extensions that change how a repository is read.
func (d *gitDirs) readConfig(path string) error {
	data, err := os.ReadFile(filepath.Join(d.common, "config"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("reading the configuration of the Git repository %q: %w", path, err)
	}
	section := ""
	lines := strings.Split(string(data), "\n")
	for i, line := range lines {
		line = strings.ToLower(strings.TrimSpace(line))
		if strings.HasPrefix(line, "[") {
			section = strings.Trim(line, "[] \t")
			continue
		}
		key, value, _ := strings.Cut(line, "=")
		if section == "core" && strings.TrimSpace(key) == "hookspath" {
			_, written, _ := strings.Cut(lines[i], "=")
			if d.hooks = strings.Trim(strings.TrimSpace(written), `"`); !filepath.IsAbs(d.hooks) {
				d.hooks = filepath.Join(d.common, d.hooks)
			}
		}
		if section != "extensions" {
			continue
		}
		switch value = strings.Trim(strings.TrimSpace(value), `"`); strings.TrimSpace(key) {
		case "objectformat":
			if value != "sha1" {
				return errKind(ErrUnsupported, "the Git repository %q uses %s object names; only SHA-1 repositories are supported", path, value)
			}
		case "refstorage":
			d.reftable = value != "files"
		}
	}
	return nil
}

// readRefs reads loose refs and then packed ones, in the order that is safe
// beside a git that packs them.
func (d *gitDirs) readRefs(objects objectSource, log func(string, ...any)) (*Refs, error) {
	loose, err := d.readLoose("refs/heads", "refs/tags", strings.TrimSuffix(record.RefPrefix, "/"))
	if err != nil {
		return nil, fmt.Errorf("reading the refs of the Git repository %q: %w", d.common, err)
	}
	packed, err := readPackedRefs(filepath.Join(d.common, "packed-refs"))
	if err != nil {
		return nil, err
	}
	list := make([]Ref, 0, len(loose)+len(packed))
	for name := range loose {
		h, ok := followLoose(name, loose, packed)
		if !ok {
			log("the ref %s of %s does not read as a ref: left out", name, d.common)
			continue
		}
		list = append(list, peel(Ref{Name: name, Hash: h}, objects))
	}
	for name, r := range packed {
		if _, ok := loose[name]; ok || !isOurs(name) {
			continue
		}
		if r.Commit.IsZero() {
			r = peel(r, objects)
		}
		list = append(list, r)
	}
	return newRefs(list, d.readHead()), nil
}

func (d *gitDirs) readHead() string {
	data, err := os.ReadFile(filepath.Join(d.dir, "HEAD"))
	if err != nil {
		return ""
	}
	target, ok := strings.CutPrefix(strings.TrimSpace(string(data)), "ref: ")
	if !ok {
		return ""
	}
	return strings.TrimSpace(target)
}

// readLoose reads the ref files below some folders, a level after the other and the
// folders of each on all cores: a fleet has a folder of its own for nearly every ref.
func (d *gitDirs) readLoose(folders ...string) (map[string]string, error) {
	out := map[string]string{}
	for len(folders) > 0 {
		var mu sync.Mutex
		var below []string
		err := cores.Each(context.Background(), 0, len(folders), func(i int) error {
			entries, err := os.ReadDir(filepath.Join(d.common, folders[i]))
			if err != nil {
				return gone(err)
			}
			for _, e := range entries {
				name, text := folders[i]+"/"+e.Name(), ""
				if strings.HasSuffix(name, ".lock") {
					continue
				}
				if !e.IsDir() {
					if text, err = readRefFile(filepath.Join(d.common, name)); err != nil {
						if gone(err) == nil {
							continue
						}
						return err
					}
				}
				mu.Lock()
				if e.IsDir() {
					below = append(below, name)
				} else {
					out[name] = text
				}
				mu.Unlock()
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		folders = below
	}
	return out, nil
}

// readRefFile reads what most often is a line of 41 bytes. Opened so, a file costs half
// the system calls, as it is not offered to the runtime's poller, and a pipe in its place
// does not keep us waiting.
func readRefFile(path string) (string, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	for buf := make([]byte, 0, 64); ; buf = slices.Grow(buf, 64) {
		n, err := f.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		if line, _, whole := bytes.Cut(buf, []byte("\n")); whole || err == io.EOF {
			return strings.TrimSpace(string(line)), nil
		}
		if err != nil {
			return "", err
		}
	}
}

// gone is err, but nil for what was deleted while we looked.
func gone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func followLoose(name string, loose map[string]string, packed map[string]Ref) (Hash, bool) {
	for range 5 {
		value, ok := loose[name]
		if !ok {
			r, ok := packed[name]
			return r.Hash, ok
		}
		target, symbolic := strings.CutPrefix(value, "ref:")
		if !symbolic {
			return plumbing.NewHash(value), plumbing.IsHash(value)
		}
		name = strings.TrimSpace(target)
	}
	return Hash{}, false
}

// readPackedRefs gives Commit where the file says what a ref peels to.
func readPackedRefs(path string) (map[string]Ref, error) {
	out := map[string]Ref{}
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return out, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading refs: %w", err)
	}
	fully, last := false, ""
	for len(data) > 0 {
		var line []byte
		line, data, _ = bytes.Cut(data, []byte("\n"))
		switch {
		case len(line) == 0:
		case line[0] == '#':
			fully = bytes.Contains(line, []byte(" fully-peeled"))
		case line[0] == '^':
			r := out[last]
			r.Commit = plumbing.NewHash(string(line[1:]))
			out[last] = r
		default:
			hash, name, ok := strings.Cut(string(line), " ")
			if !ok || !plumbing.IsHash(hash) {
				return nil, fmt.Errorf("the file %q is damaged at %q; run git fsck there", path, line)
			}
			out[name] = Ref{Name: name, Hash: plumbing.NewHash(hash)}
			last = name
		}
	}
	if fully {
		for name, r := range out {
			if r.Commit.IsZero() {
				r.Commit = r.Hash
				out[name] = r
			}
		}
	}
	return out, nil
}

// peel follows a tag object to its commit. Branches hold commits.
func peel(r Ref, objects objectSource) Ref {
	r.Commit = r.Hash
	if strings.HasPrefix(r.Name, headsPrefix) {
		return r
	}
	h := r.Hash
	for range 10 {
		typ, data, err := objects.read(h, maxCommitBytes)
		switch {
		case err != nil || typ == plumbing.BlobObject || typ == plumbing.TreeObject:
			r.Commit = Hash{}
			return r
		case typ == plumbing.CommitObject:
			r.Commit = h
			return r
		}
		line, _, _ := bytes.Cut(data, []byte("\n"))
		h = plumbing.NewHash(strings.TrimPrefix(string(line), "object "))
	}
	r.Commit = Hash{}
	return r
}

// localCommits lists the commits of a local repository whose names begin with a
// hex prefix.
func (r *Repo) localCommits(prefix string) []Hash {
	dir, ok := r.objects.(*objectDir)
	if !ok {
		return nil
	}
	var out []Hash
	for _, h := range dir.matching(prefix) {
		if typ, _, err := dir.read(h, maxCommitBytes); err == nil && typ == plumbing.CommitObject {
			out = append(out, h)
		}
	}
	return out
}

// matching lists objects whose names begin with at least two hex digits.
func (d *objectDir) matching(prefix string) []Hash {
	st := d.load()
	var out []Hash
	entries, _ := os.ReadDir(filepath.Join(d.path, prefix[:2]))
	for _, e := range entries {
		if name := prefix[:2] + e.Name(); strings.HasPrefix(name, prefix) && plumbing.IsHash(name) {
			out = append(out, plumbing.NewHash(name))
		}
	}
	for _, p := range st.packs {
		out = append(out, p.matching(prefix)...)
	}
	for _, a := range st.alternates {
		out = append(out, a.matching(prefix)...)
	}
	return out
}

func (p *packFile) matching(prefix string) []Hash {
	if p.open() != nil {
		return nil
	}
	x := &p.index
	low := plumbing.NewHash(prefix + strings.Repeat("0", 40-len(prefix)))
	skip := x.stride - 20
	i := sort.Search(x.count, func(i int) bool {
		return bytes.Compare(x.names[i*x.stride+skip:i*x.stride+skip+20], low[:]) >= 0
	})
	var out []Hash
	for ; i < x.count; i++ {
		var h Hash
		copy(h[:], x.names[i*x.stride+skip:])
		if !strings.HasPrefix(h.String(), prefix) {
			break
		}
		out = append(out, h)
	}
	return out
}
