package celexpr

import "sync/atomic"

// Budget is the cost that evaluations may still use together. It is safe for
// concurrent use.
type Budget struct{ left atomic.Int64 }

// NewBudget is a budget of SetLimit.
func NewBudget() *Budget { return NewBudgetOf(SetLimit) }

// NewBudgetOf is a budget of n cost units.
func NewBudgetOf(n int64) *Budget {
	b := &Budget{}
	b.left.Store(n)
	return b
}

// Left is what remains, at least 0.
func (b *Budget) Left() int64 { return max(0, b.left.Load()) }

// spend takes cost and says whether the budget was enough.
func (b *Budget) spend(cost int64) bool { return b.left.Add(-cost) >= 0 }
