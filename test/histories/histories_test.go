package histories

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/variform/variform/test/gittest"
)

var choice = Flags("")

// TestHistories plays histories against a Git server in memory.
func TestHistories(t *testing.T) {
	gittest.RequireGit(t)
	p := newPlayer(t, *choice)
	switch {
	case p.Histories == 0 && testing.Short():
		p.Histories, p.Steps = 40, min(p.Steps, 10)
	case p.Histories == 0:
		p.Histories = 100
	}
	p.whole = p.Histories >= 1000
	p.run(t)
}

// TestScripts plays histories that found a defect once.
func TestScripts(t *testing.T) {
	gittest.RequireGit(t)
	files, err := filepath.Glob("testdata/scripts/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no scripts", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) { newPlayer(t, Choice{Script: file}).run(t) })
	}
}

// TestHistoriesOverHTTP plays histories against git's own HTTP server.
func TestHistoriesOverHTTP(t *testing.T) {
	gittest.RequireGit(t)
	p := newPlayer(t, *choice)
	if p.Script != "" || p.Histories > 0 {
		t.Skip("skipped: histories in memory were asked for")
	}
	p.Histories = 10
	if testing.Short() {
		p.Histories = 2
	}
	p.forge = func(uint64) (context.Context, forge) {
		return context.Background(), httpForge{t, gittest.NewServer(t)}
	}
	p.run(t)
}
