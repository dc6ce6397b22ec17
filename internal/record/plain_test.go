package record

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"unsafe"
)

// entryOfAll has a value in each field that a plain line may have.
func entryOfAll() Entry {
	e := Entry{Labels: map[string]string{"a": "1", "b": "~ !"}}
	v := reflect.ValueOf(&e).Elem()
	for i := range v.NumField() {
		switch f := v.Field(i); f.Kind() {
		case reflect.String:
			f.SetString("value of " + v.Type().Field(i).Name)
		case reflect.Int:
			f.SetInt(int64(i) - 5) // one is below zero
		}
	}
	return e
}

// TestPlainEntryHasAllFields holds that each field is read, alone and with all others, and
// that what is not plain is left to the library.
func TestPlainEntryHasAllFields(t *testing.T) {
	all := entryOfAll()
	if got, ok := plainEntry(all.line()); !ok || !reflect.DeepEqual(got, all) {
		t.Errorf("%t: %+v\nwant %+v", ok, got, all)
	}
	v := reflect.ValueOf(all)
	for i := range v.NumField() {
		e := Entry{Path: "a", Place: Main}
		if v.Field(i).IsZero() {
			reflect.ValueOf(&e).Elem().Field(i).Set(reflect.ValueOf(&Word{By: "Ann"}))
		} else {
			reflect.ValueOf(&e).Elem().Field(i).Set(v.Field(i))
		}
		if got, ok := plainEntry(e.line()); ok == v.Field(i).IsZero() || ok && !reflect.DeepEqual(got, e) {
			t.Errorf("%s: %t, %+v", v.Type().Field(i).Name, ok, got)
		}
	}
}

// notPlain are lines that are the library's, some of which it reads.
var notPlain = []string{
	``, `{`, `{}`, `{"path":"a"}`, `{"place":"main"}`, `{"place":"main","path":"a"}`, `{"path":"","place":"main"}`,
	`{"path":"a","place":"main"`, `{"path":"a","place":"main"}}`, `{"path":"a","place":"main"} `, `{"path":"a", "place":"main"}`,
	`{"path":"a","path":"a","place":"main"}`, `{"path":"a","place":"main","x":"y"}`, `{"path":"a","place":"main","tree":""}`,
	`{"path":"a\u0041","place":"main"}`, `{"path":"ä","place":"main"}`, `{"path":"a<b","place":"main"}`, `{"path":"a>b","place":"main"}`,
	`{"path":"a&b","place":"main"}`, "{\"path\":\"a\tb\",\"place\":\"main\"}", "{\"path\":\"a\x7fb\",\"place\":\"main\"}", `{"path":"a","place":"main","tree":"x`,
	`{"path":"a","place":"main","revision":0}`, `{"path":"a","place":"main","revision":01}`, `{"path":"a","place":"main","revision":1.0}`,
	`{"path":"a","place":"main","revision":+1}`, `{"path":"a","place":"main","revision":"1"}`, `{"path":"a","place":"main","revision":1`,
	`{"path":"a","place":"main","revision":99999999999999999999}`, `{"path":"a","place":"main","labels":{}}`, `{"path":"a","place":"main","labels":null}`,
	`{"path":"a","place":"main","labels":{"b":"1","a":"2"}}`, `{"path":"a","place":"main","labels":{"a":"1","a":"2"}}`, `{"path":"a","place":"main","labels":{"a":""}}`,
	`{"path":"a","place":"main","labels":{"a":"1",}}`, `{"path":"a","place":"main","labels":{"a":"1"`, `{"path":"a","place":"main","labels":{"a":1}}`,
	`{"path":"a","place":"main","labels":["a"]}`, `{"path":1,"place":"main"}`, `{"Path":"a","place":"main"}`,
}

func TestNotPlainEntries(t *testing.T) {
	for _, line := range notPlain {
		if e, ok := plainEntry(line); ok {
			t.Errorf("%s is taken for %+v", line, e)
		}
	}
}

// FuzzPlainEntry holds that what is read here is what the library reads and would write so.
func FuzzPlainEntry(f *testing.F) {
	for _, line := range append(notPlain, entryOfAll().line(), Entry{Path: "a", Place: Open, Workspace: "w", Labels: map[string]string{"a": "1"}}.line()) {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		got, ok := plainEntry(line)
		if !ok {
			return
		}
		var want Entry
		if err := json.Unmarshal([]byte(line), &want); err != nil || !reflect.DeepEqual(got, want) || want.line() != line {
			t.Errorf("%q: %v\ngot  %+v\nwant %+v", line, err, got, want)
		}
	})
}

// TestMostEntriesArePlain holds that reading what a fleet writes makes a few small objects.
func TestMostEntriesArePlain(t *testing.T) {
	e := Entry{
		Path: "clusters/c1-app", Place: Main, Workspace: "packagevariant-1", Revision: 1, Commit: strings.Repeat("a", 40), Tree: strings.Repeat("b", 40),
		Hydrated: strings.Repeat("b", 40), Inputs: "sha256:" + strings.Repeat("c", 64), Hydration: 3, Owner: "fleet/default/app-c1", Set: "app",
	}
	line := "- " + e.line()
	if allocs := testing.AllocsPerRun(100, func() {
		if _, err := decodeEntry(line); err != nil {
			t.Fatal(err)
		}
	}); allocs > 5 { // 3 of the checks; 20 by the library
		t.Errorf("%v allocations for an entry", allocs)
	}
}

// TestEntriesKeepTheirOwn holds that an entry that is kept does not hold on to the file that
// it stood in, and is as it was.
func TestEntriesKeepTheirOwn(t *testing.T) {
	all := entryOfAll()
	line := all.line()
	e, ok := plainEntry(line)
	e.keep()
	if !ok || !reflect.DeepEqual(e, all) {
		t.Errorf("%+v\nwant %+v", e, all)
	}
	from := uintptr(unsafe.Pointer(unsafe.StringData(line)))
	for i, v := 0, reflect.ValueOf(e); i < v.NumField(); i++ {
		if v.Field(i).Kind() != reflect.String {
			continue
		}
		if at := uintptr(unsafe.Pointer(unsafe.StringData(v.Field(i).String()))); at >= from && at < from+uintptr(len(line)) {
			t.Errorf("%s is a part of the line", v.Type().Field(i).Name)
		}
	}
}

func BenchmarkDecodeEntry(b *testing.B) {
	line := "- " + entryOfAll().line()
	b.Run("plain", func(b *testing.B) {
		for b.Loop() {
			if _, ok := plainEntry(line[2:]); !ok {
				b.Fatal("not plain")
			}
		}
	})
	b.Run("library", func(b *testing.B) {
		for b.Loop() {
			var e Entry
			if err := json.Unmarshal([]byte(line[2:]), &e); err != nil || e.line() != line[2:] {
				b.Fatal(err)
			}
		}
	})
}
