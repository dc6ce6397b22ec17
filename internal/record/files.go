package record

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unique"

	"github.com/variform/variform/internal/cores"
)

const (
	apiPrefix  = "variform.dev/record/v"
	apiVersion = apiPrefix + "1"

	headFile    = "record.yaml"
	indexFolder = "index/"
	indexExt    = ".yaml"
)

// ErrNewer says that a later version of Variform wrote a record: it is neither
// read nor written.
var ErrNewer = errors.New("the record was written by a newer version of variform")

// ErrDamaged says that a record does not read as it was written.
var ErrDamaged = errors.New("the record is damaged")

// Unusable says that what stands where a record should is none that this program
// reads: who writes it says what is wrong with it.
func Unusable(err error) bool {
	return errors.Is(err, ErrNewer) || errors.Is(err, ErrForeign) || errors.Is(err, ErrNone) || errors.Is(err, ErrDamaged)
}

// ErrForeign says that a record is another fleet's, of the same name: it is neither
// read nor written.
var ErrForeign = errors.New("the record is of another fleet")

// ErrNone says that files are no record at all.
var ErrNone = errors.New("it holds no record")

// IsFile reports whether a path of the record's tree is one that Decode reads.
func IsFile(path string) bool {
	name, indexed := strings.CutPrefix(path, indexFolder)
	return path == headFile || indexed && !strings.Contains(name, "/")
}

// Files are the paths of the record's files, with whether that file was edited since
// was, a record that r was made of by With; of any other, and of nil, it is true.
func (r *Record) Files(was *Record) iter.Seq2[string, bool] {
	return func(yield func(path string, edited bool) bool) {
		if !yield(headFile, true) {
			return
		}
		for name, s := range r.shards {
			if !yield(indexFolder+name+indexExt, was == nil || !s.is(was.shards[name])) {
				return
			}
		}
	}
}

// File is one of the record's files, nil where it has none of that path. The same
// entries give the same bytes: one line of JSON, which is YAML too, for each. It is made
// as it is asked for: kept, all files are some times their entries.
func (r *Record) File(path string) []byte {
	if path == headFile {
		return r.encodeHead()
	}
	name, _ := strings.CutPrefix(path, indexFolder)
	if s := r.shards[strings.TrimSuffix(name, indexExt)]; len(s) > 0 {
		return encodeShard(s)
	}
	return nil
}

func (r *Record) encodeHead() []byte {
	return fmt.Appendf(nil, "apiVersion: %s\nmanager: %s\nnumber: %d\nsince: %q\n",
		apiVersion, quote(r.Manager), r.Number, r.Since.Format(time.RFC3339))
}

func quote(s string) string {
	b, _ := json.Marshal(s) // a string always is
	return string(b)
}

func encodeShard(entries []Entry) []byte {
	var b bytes.Buffer
	b.Grow(len(entries) << 9) // as much as most take
	b.WriteString("apiVersion: " + apiVersion + "\nentries:\n")
	lines := json.NewEncoder(&b)
	for i := range entries {
		b.WriteString("- ")
		_ = lines.Encode(&entries[i]) // strings and numbers always are
	}
	return b.Bytes()
}

func (e Entry) line() string {
	b, _ := json.Marshal(e)
	return string(b)
}

// Decode reads what Files gave. It takes nothing that it would write in other
// bytes: an error names file, line and field, and is one of ErrNone, ErrNewer and
// ErrDamaged.
func Decode(files map[string][]byte) (*Record, error) {
	r, err := decode(files)
	if err != nil && !errors.Is(err, ErrNone) && !errors.Is(err, ErrNewer) {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return r, err
}

func decode(files map[string][]byte) (*Record, error) {
	head, ok := files[headFile]
	if !ok {
		return nil, fmt.Errorf("%w: there is no %s", ErrNone, headFile)
	}
	r, err := decodeHead(head)
	if err != nil {
		return nil, err
	}
	paths := slices.Sorted(maps.Keys(files))
	shards, failed := make([][]Entry, len(paths)), make([]error, len(paths))
	_ = cores.Each(context.Background(), 0, len(paths), func(i int) error {
		if paths[i] != headFile {
			shards[i], failed[i] = decodeShard(paths[i], files[paths[i]])
		}
		return nil
	})
	for i, path := range paths {
		switch {
		case failed[i] != nil: // the first of all
			return nil, failed[i]
		case path == headFile:
			continue
		}
		r.shards[shardName(path)] = shards[i]
	}
	return r, nil
}

// shardName is the name of a shard's file without folder and extension.
func shardName(path string) string {
	return strings.TrimSuffix(strings.TrimPrefix(path, indexFolder), indexExt)
}

// version reads the first line of a file.
func version(path string, data []byte) error {
	line, _, _ := strings.Cut(string(data[:min(len(data), 200)]), "\n")
	v, ok := strings.CutPrefix(line, "apiVersion: "+apiPrefix)
	n, err := strconv.Atoi(v)
	switch {
	case !ok || err != nil:
		return fmt.Errorf("%s:1: apiVersion: want %q, not %q", path, apiVersion, line)
	case n > 1:
		return fmt.Errorf("%w: %s is of %s%d, and this one reads %s: use a newer one", ErrNewer, path, apiPrefix, n, apiVersion)
	}
	return nil
}

func decodeHead(data []byte) (*Record, error) {
	if err := version(headFile, data); err != nil {
		return nil, err
	}
	r := New("")
	for i, line := range strings.Split(strings.TrimSuffix(string(data), "\n"), "\n") {
		key, value, _ := strings.Cut(line, ": ")
		var err error
		var since string
		switch key {
		case "apiVersion":
		case "manager":
			err = json.Unmarshal([]byte(value), &r.Manager)
		case "number":
			r.Number, err = strconv.Atoi(value)
		case "since":
			if err = json.Unmarshal([]byte(value), &since); err == nil {
				r.Since, err = time.Parse(time.RFC3339, since)
			}
		default:
			err = errors.New("it is no field of a record")
		}
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %s: %w", headFile, i+1, key, err)
		}
	}
	if r.Number < 1 {
		return nil, fmt.Errorf("%s:3: number: %d, and a record's commits count from 1", headFile, r.Number)
	}
	if want := r.encodeHead(); !bytes.Equal(want, data) {
		return nil, fmt.Errorf("%s: it does not read as it would be written:\n%s", headFile, want)
	}
	return r, nil
}

func decodeShard(path string, data []byte) ([]Entry, error) {
	name := shardName(path)
	if path != indexFolder+name+indexExt {
		return nil, fmt.Errorf("%s: it is no file of the record's", path)
	}
	if err := version(path, data); err != nil {
		return nil, err
	}
	text, whole := strings.CutSuffix(string(data), "\n")
	lines := strings.Split(text, "\n")
	if len(lines) < 3 || lines[1] != "entries:" || lines[0] != "apiVersion: "+apiVersion {
		return nil, fmt.Errorf("%s:2: entries: there are none", path)
	}
	if !whole {
		return nil, fmt.Errorf("%s:%d: the line has no end", path, len(lines))
	}
	entries := make([]Entry, 0, len(lines)-2)
	for i, line := range lines[2:] {
		e, err := decodeEntry(line)
		if err == nil && shardOf(e.Path) != name {
			err = fmt.Errorf("path: %q belongs into %s", e.Path, indexFolder+shardOf(e.Path)+indexExt)
		}
		if err == nil && i > 0 && entries[i-1].Compare(e) >= 0 {
			err = fmt.Errorf("%s stands there twice, or not in order", e.Name())
		}
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", path, i+3, err)
		}
		e.keep()
		entries = append(entries, e)
	}
	return entries, nil
}

// keep takes the texts that entries have in common once.
func (e *Entry) keep() {
	e.Owner, e.Set, e.For = unique.Make(e.Owner).Value(), unique.Make(e.Set).Value(), unique.Make(e.For).Value()
	e.Place, e.DeletionPolicy = unique.Make(e.Place).Value(), unique.Make(e.DeletionPolicy).Value()
	e.Workspace = unique.Make(e.Workspace).Value()
	e.own()
}

// own puts an entry's other texts into one of its own: they may be parts of a whole file.
func (e *Entry) own() {
	same := e.Hydrated == e.Tree // nobody edited it
	if same {
		e.Hydrated = ""
	}
	texts := [...]*string{&e.Path, &e.Commit, &e.Tree, &e.Hydrated, &e.Inputs, &e.Reverts, &e.Restless, &e.Failure, &e.At}
	var b strings.Builder
	for _, t := range texts {
		b.WriteString(*t)
	}
	all := b.String()
	for _, t := range texts {
		*t, all = all[:len(*t)], all[len(*t):]
	}
	if same {
		e.Hydrated = e.Tree
	}
}

func decodeEntry(line string) (e Entry, err error) {
	text, ok := strings.CutPrefix(line, "- ")
	if !ok {
		return e, fmt.Errorf("%q is no entry", line[:min(len(line), 40)])
	}
	e, plain := plainEntry(text)
	if !plain {
		e = Entry{}
		if err := json.Unmarshal([]byte(text), &e); err != nil || e.line() != text {
			return e, whyNot(text)
		}
	}
	return e, e.check()
}

// whyNot says why a line is no entry.
func whyNot(text string) error {
	var e Entry
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&e); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows the entry")
	}
	return fmt.Errorf("the entry does not read as it would be written: %s", e.line())
}
