package merge

// order puts the items of one side (the frame) and the new ones of the other
// in one sequence. The frame's order stays. A new item of the other side goes
// behind the nearest item before it that all three versions share (an anchor),
// and behind the frame's own items there; with no anchor before it, ahead of
// the next anchor; with none at all, to the end.
//
// Call keep for each item of the frame, then pass and insert for the items of
// the other side in its order, then list.
type order[T any] struct {
	frame   []T
	anchors map[string]int // index of the anchor's gap, the items behind it
	gaps    [][]T          // new items by gap; gap 0 is ahead of the first anchor
	starts  []int          // index in frame of each gap's end
	gap     int            // where the next insert goes
	waiting []T            // inserts before any anchor was passed
	passed  bool
}

func newOrder[T any](n int) *order[T] {
	return &order[T]{
		frame:   make([]T, 0, n),
		anchors: make(map[string]int, n),
		gaps:    make([][]T, 1, n+1),
		starts:  make([]int, 1, n+1),
	}
}

// keep adds an item of the frame.
func (o *order[T]) keep(key string, item T, anchor bool) {
	if anchor {
		o.anchors[key] = len(o.gaps)
		o.gaps = append(o.gaps, nil)
		o.starts = append(o.starts, 0)
	}
	o.frame = append(o.frame, item)
	o.starts[len(o.starts)-1] = len(o.frame)
}

// pass says that the other side has this item of the frame here.
func (o *order[T]) pass(key string) {
	g, ok := o.anchors[key]
	if !ok {
		return
	}
	if !o.passed {
		o.passed = true
		o.gaps[g-1] = append(o.gaps[g-1], o.waiting...)
		o.waiting = nil
	}
	o.gap = g
}

// insert adds a new item of the other side.
func (o *order[T]) insert(item T) {
	if !o.passed {
		o.waiting = append(o.waiting, item)
		return
	}
	o.gaps[o.gap] = append(o.gaps[o.gap], item)
}

func (o *order[T]) list() []T {
	out := make([]T, 0, len(o.frame)+len(o.waiting))
	from := 0
	for g, items := range o.gaps {
		out = append(out, o.frame[from:o.starts[g]]...)
		out = append(out, items...)
		from = o.starts[g]
	}
	return append(out, o.waiting...)
}
