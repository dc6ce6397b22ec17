package cli

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"github.com/variform/variform/internal/reconcile"
)

// plainEvery is how often a line of progress appears where there is no terminal.
const plainEvery = 5 * time.Second

// progress shows how far a run is: bars on a terminal, a plain line now and
// then elsewhere, nothing with --quiet.
type progress struct {
	mu    sync.Mutex
	out   io.Writer
	bars  *mpb.Progress
	stage string
	bar   *mpb.Bar
	said  time.Time
	quiet bool
}

func (a *app) progress() *progress {
	p := &progress{out: a.Err, quiet: a.quiet, said: time.Now()}
	if !a.quiet && isTerminal(a.Err) {
		p.bars = mpb.New(mpb.WithOutput(a.Err), mpb.WithWidth(40))
	}
	return p
}

func (p *progress) report(e reconcile.Progress) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.quiet:
	case p.bars != nil:
		p.draw(e)
	case time.Since(p.said) >= plainEvery:
		p.said = time.Now()
		_, _ = fmt.Fprintf(p.out, "%s: %d of %d\n", e.Stage, e.Done, e.Total)
	}
}

func (p *progress) draw(e reconcile.Progress) {
	if e.Stage != p.stage {
		p.finish()
		p.stage = e.Stage
		p.bar = p.bars.AddBar(int64(e.Total), mpb.BarRemoveOnComplete(),
			mpb.PrependDecorators(decor.Name(e.Stage, decor.WC{W: 14, C: decor.DindentRight}), decor.CountersNoUnit("%d/%d")))
	}
	p.bar.SetCurrent(int64(e.Done))
}

func (p *progress) finish() {
	if p.bar != nil {
		p.bar.Abort(true)
		p.bar = nil
	}
}

// stop clears the bars, so that what is printed next stands alone.
func (p *progress) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bars == nil {
		return
	}
	p.finish()
	p.bars.Wait()
	p.bars = nil
	p.quiet = true
}
