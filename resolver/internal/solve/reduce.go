package solve

import "slices"

// reduce forgets half of the learned clauses when there are too many, those that span most levels first.
// What a conflict needs for its explanation, the antecedents, is kept.
func (s *Solver) reduce() {
	if len(s.learned) < keepLearned+s.stats.Restarts*20 {
		return
	}
	used := map[int32]bool{}
	for _, e := range s.trail {
		if e.reason >= 0 {
			used[e.reason] = true
		}
	}
	order := slices.Clone(s.learned)
	slices.SortStableFunc(order, func(a, b int32) int { return int(s.lemma(b).lbd - s.lemma(a).lbd) })
	for _, c := range order[:len(order)/2] {
		if l := s.lemma(c); l.lbd > 2 && !used[c] {
			l.deleted = true
		}
	}
	s.learned = slices.DeleteFunc(s.learned, func(c int32) bool { return s.lemma(c).deleted })
}

// lemma is what is known of a learned clause.
func (s *Solver) lemma(c int32) *lemma { return &s.lemmas[^s.clauses[c].from] }
