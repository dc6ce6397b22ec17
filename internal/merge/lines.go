package merge

import (
	"math"
	"slices"
)

// stretch is a part of base with the text that each side has in its place.
// Joined, the stretches of a file are each of the three versions.
type stretch struct {
	b, u, l []string
	at      int // index of its first line in local
}

// clash reports whether both sides changed the stretch, each in its own way.
func (s stretch) clash() bool {
	return !slices.Equal(s.b, s.u) && !slices.Equal(s.b, s.l) && !slices.Equal(s.u, s.l)
}

// merged returns the lines of a stretch without a clash.
func (s stretch) merged() []string {
	if slices.Equal(s.b, s.l) {
		return s.u
	}
	return s.l
}

// stretches cuts three versions of a text where base is unchanged on both sides
// (diff3). Changes of neighboring lines are apart, unlike in Git. Lines that both
// sides added at the edge of what they changed are a stretch of their own.
func stretches(b, u, l []string) []stretch {
	var out []stretch
	for _, s := range cutStretches(b, u, l, meets) {
		if !s.clash() {
			out = append(out, s)
			continue
		}
		lo := 0
		for lo < min(len(s.u), len(s.l)) && s.u[lo] == s.l[lo] {
			lo++
		}
		hi := 0
		for hi < min(len(s.u), len(s.l))-lo && s.u[len(s.u)-1-hi] == s.l[len(s.l)-1-hi] {
			hi++
		}
		u, l := s.u[lo:len(s.u)-hi], s.l[lo:len(s.l)-hi]
		out = append(out, stretch{u: s.u[:lo], l: s.l[:lo], at: s.at})
		for _, inner := range cutStretches(s.b, u, l, touches) {
			inner.at += s.at + lo
			out = append(out, inner)
		}
		out = append(out, stretch{u: s.u[len(s.u)-hi:], l: s.l[len(s.l)-hi:], at: s.at + len(s.l) - hi})
	}
	return out
}

// meets is touches, and true for changes with no line between them.
func meets(r []hunk, h hunk) bool {
	return slices.ContainsFunc(r, func(o hunk) bool { return o.b0 <= h.b1 && h.b0 <= o.b1 })
}

func cutStretches(b, u, l []string, together func([]hunk, hunk) bool) []stretch {
	var out []stretch
	ids := map[string]int{}
	x, y, z := numbers(b, ids), numbers(u, ids), numbers(l, ids)
	hu, hl := diffLines(x, y, len(ids)), diffLines(x, z, len(ids))
	at, atU, atL := 0, 0, 0
	take := func(to, toU, toL int) {
		if to > at || toU > atU || toL > atL {
			out = append(out, stretch{b: b[at:to], u: u[atU:toU], l: l[atL:toL], at: atL})
		}
		at, atU, atL = to, toU, toL
	}
	for len(hl) > 0 || len(hu) > 0 {
		rl, ru := region(&hl, &hu, together)
		from := first(rl, ru)
		take(from, atU+from-at, atL+from-at)
		to := end(rl, ru)
		take(to, atU+to-from+growth(ru), atL+to-from+growth(rl))
	}
	take(len(b), len(u), len(l))
	return out
}

// mergeLines joins three versions of a text; resolve returns the lines for a
// stretch that both sides changed. It reports whether there was none.
func mergeLines(b, u, l []string, resolve func(stretch) []string) (out []string, clean bool) {
	clean = true
	for _, s := range stretches(b, u, l) {
		if s.clash() {
			out, clean = append(out, resolve(s)...), false
			continue
		}
		out = append(out, s.merged()...)
	}
	return out, clean
}

// diffLines returns the changes between two texts, given as the numbers of their
// lines, which are below n. It finds the changes that Git finds, in order: Myers' algorithm with Git's choice among equal answers, then
// each change slid down as far as it goes. So a merge without a clash is the
// one that git merge-file makes.
func diffLines(a, b []int, n int) []hunk {
	x, y := lineSide{a, make([]bool, len(a)+1)}, lineSide{b, make([]bool, len(b)+1)}
	lo := 0
	for lo < len(a) && lo < len(b) && a[lo] == b[lo] {
		lo++
	}
	hi := 0
	for hi < len(a)-lo && hi < len(b)-lo && a[len(a)-1-hi] == b[len(b)-1-hi] {
		hi++
	}
	c := comparer{a: x.unmatched(y, lo, hi, n), b: y.unmatched(x, lo, hi, n)}
	c.compare(0, len(c.a.lines), 0, len(c.b.lines))
	for _, i := range c.a.changed {
		x.changed[i] = true
	}
	for _, i := range c.b.changed {
		y.changed[i] = true
	}
	slide(x, y)
	slide(y, x)
	return x.hunks(y)
}

// lineSide is one of two texts that are compared.
type lineSide struct {
	lines   []int  // equal lines have equal numbers
	changed []bool // by line, and false for the line behind the last one
}

// numbers returns the number of each line; ids has those of the lines that were seen.
func numbers(lines []string, ids map[string]int) []int {
	out := make([]int, len(lines))
	for i, line := range lines {
		id, ok := ids[line]
		if !ok {
			id = len(ids)
			ids[line] = id
		}
		out[i] = id
	}
	return out
}

// unmatched marks the lines that the other side does not have, and returns the
// rest without lo lines at the start and hi at the end. Lines have numbers below n.
func (s lineSide) unmatched(other lineSide, lo, hi, n int) comparedSide {
	has := make([]bool, n)
	for _, id := range other.lines[lo : len(other.lines)-hi] {
		has[id] = true
	}
	most := len(s.lines) - hi - lo
	out := comparedSide{lines: make([]int, 0, most), place: make([]int, 0, most)}
	for i := lo; i < len(s.lines)-hi; i++ {
		if !has[s.lines[i]] {
			s.changed[i] = true
			continue
		}
		out.lines, out.place = append(out.lines, s.lines[i]), append(out.place, i)
	}
	return out
}

// hunks returns the changes from s to other.
func (s lineSide) hunks(other lineSide) []hunk {
	var out []hunk
	for i, j := 0, 0; i < len(s.lines) || j < len(other.lines); i, j = i+1, j+1 {
		h := hunk{b0: i, x0: j}
		for s.changed[i] {
			i++
		}
		for other.changed[j] {
			j++
		}
		if h.b1, h.x1 = i, j; h.b0 < i || h.x0 < j {
			out = append(out, h)
		}
	}
	return out
}

// comparedSide has the lines that are left to compare, and where they are.
type comparedSide struct {
	lines, place []int
	changed      []int // places of lines that the other side has not there
}

// comparer finds a shortest list of changes, by divide and conquer.
type comparer struct{ a, b comparedSide }

func (c *comparer) compare(a0, a1, b0, b1 int) {
	for a0 < a1 && b0 < b1 && c.a.lines[a0] == c.b.lines[b0] {
		a0++
		b0++
	}
	for a0 < a1 && b0 < b1 && c.a.lines[a1-1] == c.b.lines[b1-1] {
		a1--
		b1--
	}
	switch {
	case a0 == a1:
		c.b.changed = append(c.b.changed, c.b.place[b0:b1]...)
	case b0 == b1:
		c.a.changed = append(c.a.changed, c.a.place[a0:a1]...)
	default:
		i, j := c.split(a0, a1, b0, b1)
		c.compare(a0, i, b0, j)
		c.compare(i, a1, j, b1)
	}
}

// maxSteps bounds the search for a shortest list of changes; beyond it the
// longest path so far is taken.
const maxSteps = 256

// split finds a place that a shortest path passes, from both ends.
func (c *comparer) split(a0, a1, b0, b1 int) (int, int) {
	low, high := a0-b1, a1-b0 // diagonals
	paths := func() func(d int) *int {
		at := make([]int, high-low+5)
		return func(d int) *int { return &at[d-low+2] }
	}
	fwd, back := paths(), paths()
	fmin, bmin := a0-b0, a1-b1
	odd := (fmin-bmin)&1 != 0
	fmax, bmax := fmin, bmin
	*fwd(fmin), *back(bmin) = a0, a1
	for step := 1; ; step++ {
		fmin, fmax = widen(fwd, fmin, fmax, low, high, -1)
		for d := fmax; d >= fmin; d -= 2 {
			i := max(*fwd(d - 1)+1, *fwd(d + 1))
			for i < a1 && i-d < b1 && c.a.lines[i] == c.b.lines[i-d] {
				i++
			}
			*fwd(d) = i
			if odd && bmin <= d && d <= bmax && *back(d) <= i {
				return i, i - d
			}
		}
		bmin, bmax = widen(back, bmin, bmax, low, high, math.MaxInt)
		for d := bmax; d >= bmin; d -= 2 {
			i := min(*back(d - 1), *back(d + 1)-1)
			for i > a0 && i-d > b0 && c.a.lines[i-1] == c.b.lines[i-d-1] {
				i--
			}
			*back(d) = i
			if !odd && fmin <= d && d <= fmax && i <= *fwd(d) {
				return i, i - d
			}
		}
		if step < maxSteps {
			continue
		}
		best, bestI := -1, -1
		for d := fmax; d >= fmin; d -= 2 {
			if i := min(*fwd(d), a1, b1+d); 2*i-d > best {
				best, bestI = 2*i-d, i
			}
		}
		worst, worstI := math.MaxInt, 0
		for d := bmax; d >= bmin; d -= 2 {
			if i := max(*back(d), a0, b0+d); 2*i-d < worst {
				worst, worstI = 2*i-d, i
			}
		}
		if a1+b1-worst < best-a0-b0 {
			return bestI, best - bestI
		}
		return worstI, worst - worstI
	}
}

// widen takes one diagonal more on each side, within bounds.
func widen(at func(int) *int, from, to, low, high, outside int) (int, int) {
	if from > low {
		from--
		*at(from - 1) = outside
	} else {
		from++
	}
	if to < high {
		to++
		*at(to + 1) = outside
	} else {
		to--
	}
	return from, to
}

// slide moves each group of changed lines of s down as far as equal lines
// allow, or to the last place where the other side has a change as well.
func slide(s, other lineSide) {
	g, o := groups{lineSide: s}, groups{lineSide: other}
	g.grow()
	o.grow()
	for {
		if g.start < g.end {
			g.settle(&o)
		}
		if !g.next() {
			return
		}
		o.next()
	}
}

// groups walks the groups of changed lines of a text, of which some are empty:
// one stands between any two lines that are unchanged.
type groups struct {
	lineSide
	start, end int
}

func (g *groups) grow() {
	for g.changed[g.end] {
		g.end++
	}
}

func (g *groups) next() bool {
	if g.end == len(g.lines) {
		return false
	}
	g.start, g.end = g.end+1, g.end+1
	g.grow()
	return true
}

func (g *groups) previous() {
	g.start, g.end = g.start-1, g.start-1
	for g.start > 0 && g.changed[g.start-1] {
		g.start--
	}
}

func (g *groups) up() bool {
	if g.start == 0 || g.lines[g.start-1] != g.lines[g.end-1] {
		return false
	}
	g.start, g.end = g.start-1, g.end-1
	g.changed[g.start], g.changed[g.end] = true, false
	for g.start > 0 && g.changed[g.start-1] {
		g.start--
	}
	return true
}

func (g *groups) down() bool {
	if g.end == len(g.lines) || g.lines[g.start] != g.lines[g.end] {
		return false
	}
	g.changed[g.start], g.changed[g.end] = false, true
	g.start, g.end = g.start+1, g.end+1
	g.grow()
	return true
}

// settle slides one group, which may take in others.
func (g *groups) settle(o *groups) {
	var beside bool // the other side has a change where the group was
	earliest := 0
	for size := -1; size != g.end-g.start; {
		size = g.end - g.start
		for g.up() {
			o.previous()
		}
		earliest = g.end
		beside = o.start < o.end
		for g.down() {
			o.next()
			beside = beside || o.start < o.end
		}
	}
	if g.end == earliest || !beside {
		return
	}
	for o.start == o.end {
		g.up()
		o.previous()
	}
}
