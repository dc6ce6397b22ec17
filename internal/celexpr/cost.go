package celexpr

import (
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/overloads"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

// perCharacter is cel-go's own price: one unit for ten characters or elements.
const perCharacter = 10

// bySize prices calls by the size of their arguments and result. cel-go does
// that for calls whose overload is known when they are compiled; the values of
// our variables are dynamic, for which it counts one unit, however long they are.
type bySize struct{}

// CallCost implements interpreter.ActualCostEstimator.
func (bySize) CallCost(function, _ string, args []ref.Val, result ref.Val) *uint64 {
	if function == operators.Add {
		if _, ok := result.(traits.Lister); ok {
			return nil // lists are chained, not copied
		}
	}
	cost := uint64(1) + size(result)/perCharacter
	for _, a := range args {
		cost += size(a) / perCharacter
	}
	if function == overloads.Matches && len(args) == 2 {
		cost += size(args[0]) / perCharacter * (1 + size(args[1])/4)
	}
	return &cost
}

func size(v ref.Val) uint64 {
	switch x := v.(type) {
	case types.String:
		return uint64(len(x))
	case types.Bytes:
		return uint64(len(x))
	case traits.Sizer:
		if n, ok := x.Size().(types.Int); ok && n > 0 {
			return uint64(n)
		}
	}
	return 0
}
