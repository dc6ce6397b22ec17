package celexpr

import (
	"math"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

// maxResult bounds what one call of a string function may make. cel-go counts
// the cost of a call after it was made, which is too late for those whose
// result can be as large as the product of their arguments.
const maxResult = 1 << 20

const (
	fnReplace = "@replace"
	fnJoin    = "@join"
	fnBounded = "@bounded"
)

// boundedStrings puts bounded forms of replace, join and format in the place of
// the extension's, by macros, so that expressions stay as they are.
func boundedStrings() []cel.EnvOption {
	text, list := cel.StringType, cel.ListType(cel.StringType)
	return []cel.EnvOption{
		cel.Macros(
			cel.ReceiverMacro("replace", 2, callInstead(fnReplace)), cel.ReceiverMacro("replace", 3, callInstead(fnReplace)),
			cel.ReceiverMacro("join", 0, callInstead(fnJoin)), cel.ReceiverMacro("join", 1, callInstead(fnJoin)),
			cel.ReceiverMacro("format", 1, formatBounded),
		),
		cel.Function(fnReplace,
			cel.Overload("@replace_all", []*cel.Type{text, text, text}, text, cel.FunctionBinding(replace)),
			cel.Overload("@replace_some", []*cel.Type{text, text, text, cel.IntType}, text, cel.FunctionBinding(replace))),
		cel.Function(fnJoin,
			cel.Overload("@join_plain", []*cel.Type{list}, text, cel.FunctionBinding(join)),
			cel.Overload("@join_with", []*cel.Type{list, text}, text, cel.FunctionBinding(join))),
		cel.Function(fnBounded, cel.Overload("@bounded_dyn", []*cel.Type{cel.TypeParamType("T")}, cel.TypeParamType("T"),
			cel.UnaryBinding(bounded))),
	}
}

func callInstead(name string) cel.MacroFactory {
	return func(f cel.MacroExprFactory, target ast.Expr, args []ast.Expr) (ast.Expr, *common.Error) {
		return f.NewCall(name, append([]ast.Expr{target}, args...)...), nil
	}
}

// formatBounded turns s.format(args) into s.format(@bounded(args)).
func formatBounded(f cel.MacroExprFactory, target ast.Expr, args []ast.Expr) (ast.Expr, *common.Error) {
	return f.NewMemberCall("format", target, f.NewCall(fnBounded, args[0])), nil
}

func tooLong(what string) ref.Val {
	return types.NewErr("%s: the result is longer than %d characters", what, maxResult)
}

func replace(args ...ref.Val) ref.Val {
	var s [3]string
	for i := range s {
		v, ok := args[i].(types.String)
		if !ok {
			return types.MaybeNoSuchOverloadErr(args[i])
		}
		s[i] = string(v)
	}
	n := math.MaxInt
	if len(args) == 4 {
		limit, ok := args[3].(types.Int)
		if !ok {
			return types.MaybeNoSuchOverloadErr(args[3])
		}
		if limit >= 0 && limit < types.Int(n) {
			n = int(limit)
		}
	}
	found := min(n, strings.Count(s[0], s[1]))
	if growth := len(s[2]) - len(s[1]); growth > 0 && found > (maxResult-min(len(s[0]), maxResult))/growth {
		return tooLong("replace")
	}
	return types.String(strings.Replace(s[0], s[1], s[2], found))
}

func join(args ...ref.Val) ref.Val {
	list, ok := args[0].(traits.Lister)
	if !ok {
		return types.MaybeNoSuchOverloadErr(args[0])
	}
	var sep types.String
	if len(args) == 2 {
		if sep, ok = args[1].(types.String); !ok {
			return types.MaybeNoSuchOverloadErr(args[1])
		}
	}
	var b strings.Builder
	it := list.Iterator()
	for first := true; it.HasNext() == types.True; first = false {
		s, ok := it.Next().(types.String)
		if !ok {
			return types.NewErr("join: the list holds something other than strings")
		}
		if b.Len()+len(sep)+len(s) > maxResult {
			return tooLong("join")
		}
		if !first {
			b.WriteString(string(sep))
		}
		b.WriteString(string(s))
	}
	return types.String(b.String())
}

// bounded is its argument, or an error if that would be too long as text.
func bounded(v ref.Val) ref.Val {
	if left := sizeWithin(v, maxResult); left < 0 {
		return tooLong("format")
	}
	return v
}

// sizeWithin takes a value's size as text from a budget and stops below zero.
func sizeWithin(v ref.Val, left int) int {
	left--
	switch x := v.(type) {
	case types.String:
		return left - len(x)
	case types.Bytes:
		return left - len(x)
	case traits.Mapper:
		for it := x.Iterator(); left >= 0 && it.HasNext() == types.True; {
			k := it.Next()
			left = sizeWithin(x.Get(k), sizeWithin(k, left))
		}
	case traits.Lister:
		for it := x.Iterator(); left >= 0 && it.HasNext() == types.True; {
			left = sizeWithin(it.Next(), left)
		}
	}
	return left
}
