package ocirepo

import (
	"context"
	"fmt"
	"testing"
)

// BenchmarkManifests reads the catalogue of one package with 200 revisions of 5
// files: cold with an empty cache folder, warm with a full one and a new Store.
func BenchmarkManifests(b *testing.B) {
	s := newServer(b)
	store, _ := open(b, s, Options{})
	for i := range 200 {
		push(b, store, fmt.Sprintf("%s/blueprints/app:v%d", s.addr, i+1), kpt("app", fmt.Sprint(i)))
	}
	run := func(b *testing.B, dir func() string) {
		for b.Loop() {
			_, repo := open(b, s, Options{CacheDir: dir()})
			if all, err := repo.Manifests(context.Background(), "app"); err != nil || len(all) != 200 {
				b.Fatal(len(all), err)
			}
		}
	}
	b.Run("cold", func(b *testing.B) { run(b, b.TempDir) })
	b.Run("warm", func(b *testing.B) {
		dir := b.TempDir()
		run(b, func() string { return dir })
	})
}
