package celexpr

import (
	"strings"
	"testing"

	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/overloads"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
)

// TestLinear holds which expressions run without cost tracking: those of functions
// that do work in proportion to their inputs, and few of them.
func TestLinear(t *testing.T) {
	env, err := NewEnv(Dynamic("a"), Dynamic("b"))
	if err != nil {
		t.Fatal(err)
	}
	for expr, want := range map[string]bool{
		"string(a + b)": true, "a == b ? 'x' : 'y'": true, "a != b && !(a < b) || a <= b ? 'x' : 'y'": true, "a > b || a >= b ? 'x' : 'y'": true,
		"string(a.b['c'])": true, "'k' in a ? 'x' : 'y'": true, "a.startsWith('x') || a.endsWith('y') || a.contains('z') ? 'x' : 'y'": true,
		"a.lowerAscii().upperAscii().trim()": true, "a.substring(1)": true, "string(a.indexOf('x'))": true, "string(a.lastIndexOf('x'))": true,
		"a.charAt(0)": true, "string(size(a))": true, "string([a, b][0])": true, "string({'k': b}['k'])": true,
		"a.matches('x+') ? 'x' : 'y'": false, "a.replace('x', 'y')": false, "a.split(',')[0]": false, "[a].join('')": false,
		"[a].exists(x, x == b) ? 'x' : 'y'": false, "'%s'.format([a])": false,
		"string(a" + strings.Repeat(" + a", 30) + ")": true, "string(a" + strings.Repeat(" + a", 40) + ")": false,
	} {
		c, err := env.compile(expr)
		if err != nil {
			t.Errorf("%s: %v", expr, err)
			continue
		}
		if c.linear != want {
			t.Errorf("%s: linear %v, want %v", expr, c.linear, want)
		}
	}
}

// TestSizeWithin: all that becomes text is counted, and counting stops.
func TestSizeWithin(t *testing.T) {
	value := func(v any) ref.Val { return types.DefaultTypeAdapter.NativeToValue(v) }
	for name, tc := range map[string]struct {
		v    any
		want int // of 100
	}{
		"string": {"abc", 96}, "bytes": {[]byte("abcde"), 94}, "number": {int64(7), 99},
		"list":    {[]any{"ab", "c"}, 94},
		"map":     {map[string]any{"k": "vv"}, 94},
		"nested":  {[]any{map[string]any{"k": []byte("vv")}}, 93},
		"too big": {strings.Repeat("x", 200), -101},
	} {
		if got := sizeWithin(value(tc.v), 100); got != tc.want {
			t.Errorf("%s: %d left, want %d", name, got, tc.want)
		}
	}
	if got := sizeWithin(value([]any{strings.Repeat("x", 200), strings.Repeat("x", 200)}), 100); got < -102-1 {
		t.Errorf("counting went on: %d", got)
	}
}

func TestReplaceIsBounded(t *testing.T) {
	text := func(s string) ref.Val { return types.String(s) }
	for name, tc := range map[string]struct {
		args []ref.Val
		want string // "" is an error
	}{
		"all":                {[]ref.Val{text("a-a-a"), text("a"), text("bb")}, "bb-bb-bb"},
		"some":               {[]ref.Val{text("a-a-a"), text("a"), text("b"), types.Int(2)}, "b-b-a"},
		"none":               {[]ref.Val{text("a-a-a"), text("a"), text("b"), types.Int(0)}, "a-a-a"},
		"negative":           {[]ref.Val{text("a-a-a"), text("a"), text("b"), types.Int(-1)}, "b-b-b"},
		"no limit":           {[]ref.Val{text("a"), text("a"), text("b"), text("x")}, ""},
		"no text":            {[]ref.Val{text("a"), types.Int(1), text("b")}, ""},
		"too long":           {[]ref.Val{text(strings.Repeat("a", 2000)), text("a"), text(strings.Repeat("b", 1000))}, ""},
		"the last that fits": {[]ref.Val{text(strings.Repeat("a", 1024)), text("a"), text(strings.Repeat("b", 1024))}, strings.Repeat("b", 1<<20)},
	} {
		got := replace(tc.args...)
		s, ok := got.(types.String)
		if ok != (tc.want != "") || string(s) != tc.want {
			t.Errorf("%s: got %.40v", name, got)
		}
	}
}

// TestCallCost: costs follow lengths, but chained lists are not copied.
func TestCallCost(t *testing.T) {
	long := types.String(strings.Repeat("x", 1000))
	list := types.DefaultTypeAdapter.NativeToValue([]string{"a"})
	cost := func(function string, result ref.Val, args ...ref.Val) uint64 {
		if c := (bySize{}).CallCost(function, "", args, result); c != nil {
			return *c
		}
		return 0
	}
	if got := cost(operators.Add, list, list, list); got != 0 {
		t.Errorf("lists: %d", got)
	}
	short := cost(operators.Add, types.String("x"), types.String("x"), types.String(""))
	if got := cost(operators.Add, long, long, types.String("")); got <= short || short == 0 {
		t.Errorf("strings: %d, short ones %d", got, short)
	}
	if got := cost("concat", list, long); got == 0 {
		t.Error("only sums of lists are chained")
	}
	plain := cost(overloads.Contains, types.True, long, types.String("abcdefgh"))
	if got := cost(overloads.Matches, types.True, long, types.String("abcdefgh")); got < 2*plain {
		t.Errorf("an expression of 8 characters costs %d, a text %d", got, plain)
	}
}

func TestShorten(t *testing.T) {
	if got := shorten("  a\n\tb  "); got != "a b" {
		t.Errorf("got %q", got)
	}
	exact, longer := strings.Repeat("x", 200), strings.Repeat("x", 201)
	if got := shorten(exact); got != exact {
		t.Errorf("got %q", got)
	}
	if got := shorten(longer); got != longer[:197]+"..." {
		t.Errorf("got %q", got)
	}
}
