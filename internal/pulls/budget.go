package pulls

// LeastWrites is the least that a run may be bound to: it opens one request with it.
const LeastWrites = 4

// Writes is how many requests a step makes of the forge that change something, but
// for its part of a push.
func (s *Step) Writes() int {
	n := 0
	switch s.Action {
	case ActionOpen:
		n = 1
	case ActionUpdate:
		if s.Build || s.Check != nil || s.Open.Body != s.Body || s.Open.Title != s.Title {
			n = 1 // the text says which check was set
		}
	case ActionClose:
		n = 2 // it says why
	}
	if s.Check != nil {
		n++
	}
	if s.Merge != "" {
		n++
	}
	return n
}

// Allot keeps a run to so many writes, pushes among them; 0 is no bound. What is open
// comes first, then what is to be opened, repository after repository. Steps that are
// left are ActionLater then, and the next run finds them as they are. It returns how
// many writes are left.
func Allot(most int, repositories [][]Step) (rest int) {
	if most <= 0 {
		return 0
	}
	rest = most
	pushes := make([]bool, len(repositories))
	over := false
	for _, opens := range []bool{false, true} {
		for i, steps := range repositories {
			for j := range steps {
				s := &steps[j]
				cost := s.Writes()
				if (s.Action == ActionOpen) != opens || cost == 0 {
					continue
				}
				if s.Build && !pushes[i] {
					cost++
				}
				if over = over || cost > rest; over {
					s.Action, s.Build, s.Check, s.Merge, s.Why = ActionLater, false, nil, "", "this run may write no more: the next one goes on"
					continue
				}
				rest -= cost
				pushes[i] = pushes[i] || s.Build
			}
		}
	}
	return rest
}
