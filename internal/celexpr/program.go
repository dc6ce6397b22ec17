package celexpr

import (
	"context"
	"errors"
	"fmt"
	"sort"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"
)

// Program is one compiled expression at one field. It is safe for concurrent use.
type Program struct {
	*compiled
	field string
}

// compiled is what programs of one text share.
type compiled struct {
	expr     string
	prog     cel.Program
	uses     []string // variables, sorted
	constant bool
	value    string // of a constant
	linear   bool
	steps    int64
}

// Compile compiles an expression that must give a string, or takes it from the
// cache. Expressions without variables are evaluated here. The error is an
// *Error with the field.
func (e *Env) Compile(field, expr string) (*Program, error) {
	e.mu.Lock()
	c, ok := e.programs[expr]
	e.mu.Unlock()
	if ok {
		return &Program{c, field}, nil
	}
	c, err := e.compile(expr)
	if err != nil {
		var ee *Error
		if errors.As(err, &ee) {
			ee.Field = field
		}
		return nil, err
	}
	e.mu.Lock()
	e.programs[expr] = c
	e.mu.Unlock()
	return &Program{c, field}, nil
}

func (e *Env) compile(expr string) (*compiled, error) {
	if len(expr) > maxExpression {
		return nil, &Error{Expr: expr, Kind: ErrCost, Text: fmt.Sprintf("the expression is longer than %d characters", maxExpression)}
	}
	checked, issues := e.env.Compile(expr)
	if issues.Err() != nil {
		return nil, &Error{Expr: expr, Kind: ErrCompile, Text: issues.Err().Error(), Hint: e.compileHint(issues.Err().Error())}
	}
	if t := checked.OutputType(); !maybeString(t) {
		return nil, typeError(expr, t.String())
	}
	c := &compiled{expr: expr}
	c.inspect(checked.NativeRep())
	var err error
	if c.prog, err = e.env.Program(checked, c.options()...); err != nil {
		return nil, &Error{Expr: expr, Kind: ErrCompile, Text: err.Error()}
	}
	if len(c.uses) > 0 {
		return c, nil
	}
	if c.value, _, err = c.run(context.Background(), Vars(nil)); err != nil {
		return nil, err
	}
	c.constant = true
	return c, nil
}

// maybeString says whether a result can turn out to be a string. A sum of two
// values that are known only later (two labels) has the type of the first
// overload of "+", which is bytes: the evaluation tells.
func maybeString(t *cel.Type) bool {
	return t.IsExactType(cel.StringType) || t.Kind() == types.DynKind || t.Kind() == types.BytesKind
}

// compileHint helps with the one declaration that differs between fields.
func (e *Env) compileHint(text string) string {
	if !strings.Contains(text, "undeclared reference to") {
		return ""
	}
	var names []string
	for _, v := range e.env.Variables() {
		if v.Type().Kind() != types.TypeKind {
			names = append(names, v.Name())
		}
	}
	sort.Strings(names)
	return "the variables here are " + strings.Join(names, ", ")
}

func (c *compiled) options() []cel.ProgramOption {
	opts := []cel.ProgramOption{cel.EvalOptions(cel.OptOptimize)}
	if !c.linear {
		opts = append(opts, cel.CostTracking(bySize{}), cel.CostLimit(CallLimit),
			cel.InterruptCheckFrequency(interruptStep))
	}
	return opts
}

// linearFunctions do work and make results no larger than their arguments
// together, so that a short expression of them alone, without a comprehension,
// costs little more than reading its inputs. Only such expressions run without
// cost tracking, which is half of an evaluation's time.
var linearFunctions = map[string]bool{
	"_+_": true, "_==_": true, "_!=_": true, "_&&_": true, "_||_": true, "!_": true, "_?_:_": true,
	"_[_]": true, "@in": true, "_<_": true, "_<=_": true, "_>_": true, "_>=_": true,
	"startsWith": true, "endsWith": true, "contains": true, "size": true, "string": true,
	"lowerAscii": true, "upperAscii": true, "trim": true, "substring": true,
	"indexOf": true, "lastIndexOf": true, "charAt": true,
}

// linearSteps bounds the expressions that run untracked: a chain of n
// concatenations copies n²/2 times its inputs.
const linearSteps = 64

// inspect finds the variables of an expression and how it may cost.
func (c *compiled) inspect(tree *ast.AST) {
	c.linear = true
	seen := map[string]bool{}
	bound := map[string]bool{}
	ast.PostOrderVisit(tree.Expr(), ast.NewExprVisitor(func(x ast.Expr) {
		c.steps++
		switch x.Kind() {
		case ast.IdentKind:
			seen[x.AsIdent()] = true
		case ast.CallKind:
			c.linear = c.linear && linearFunctions[x.AsCall().FunctionName()]
		case ast.ComprehensionKind:
			c.linear = false
			bound[x.AsComprehension().IterVar()] = true
			bound[x.AsComprehension().IterVar2()] = true
			bound[x.AsComprehension().AccuVar()] = true
		case ast.LiteralKind, ast.SelectKind, ast.ListKind, ast.MapKind:
		default:
			c.linear = false
		}
	}))
	c.linear = c.linear && c.steps <= linearSteps
	for name := range seen {
		if !bound[name] {
			c.uses = append(c.uses, name)
		}
	}
	sort.Strings(c.uses)
}

// Field is the field that the program was compiled for.
func (p *Program) Field() string { return p.field }

// Expr is the expression's text.
func (p *Program) Expr() string { return p.expr }

// Uses says whether the expression refers to a variable.
func (p *Program) Uses(name string) bool {
	for _, u := range p.uses {
		if u == name {
			return true
		}
	}
	return false
}

// Constant is the value of an expression without variables.
func (p *Program) Constant() (string, bool) { return p.value, p.constant }

// Eval evaluates for one activation and takes the cost from the budget. The
// error is an *Error with the field.
func (p *Program) Eval(vars Activation, budget *Budget) (string, error) {
	return p.EvalContext(context.Background(), vars, budget)
}

// EvalContext is Eval that stops, with ErrEvaluate, when the context does.
func (p *Program) EvalContext(ctx context.Context, vars Activation, budget *Budget) (string, error) {
	if p.constant {
		return p.value, nil
	}
	s, cost, err := "", int64(0), error(nil)
	if budget.Left() > 0 {
		s, cost, err = p.run(ctx, vars)
	}
	if !budget.spend(max(cost, 1)) && err == nil {
		err = p.overBudget()
	}
	if err == nil {
		return s, nil
	}
	var ee *Error
	if errors.As(err, &ee) {
		ee.Field = p.field
	}
	return "", err
}

func (p *Program) overBudget() error {
	return &Error{
		Expr: p.expr, Kind: ErrCost, Text: fmt.Sprintf("the expressions of this set cost more than %d together", SetLimit),
		Hint: "make the expressions simpler or split the set",
	}
}

// run evaluates once and returns what it cost.
func (c *compiled) run(ctx context.Context, vars Activation) (string, int64, error) {
	out, details, err := c.evaluate(ctx, vars)
	cost := c.steps
	if actual := details.ActualCost(); actual != nil {
		cost = int64(min(*actual, 1<<40))
	}
	if err != nil {
		return "", cost, c.evalError(err)
	}
	s, ok := out.(types.String)
	if !ok {
		return "", cost, typeError(c.expr, typeName(out))
	}
	if c.linear {
		cost += int64(len(s) / 10)
	}
	return string(s), cost, nil
}

// evaluate checks for interruption only where an evaluation can take long.
func (c *compiled) evaluate(ctx context.Context, vars Activation) (ref.Val, *cel.EvalDetails, error) {
	if c.linear {
		return c.prog.Eval(vars)
	}
	return c.prog.ContextEval(ctx, vars)
}

func (c *compiled) evalError(err error) error {
	var cancelled interpreter.EvalCancelledError
	if errors.As(err, &cancelled) && cancelled.Cause == interpreter.CostLimitExceeded {
		return &Error{
			Expr: c.expr, Kind: ErrCost, Text: fmt.Sprintf("the expression costs more than %d", CallLimit),
			Hint: "avoid nested loops over long lists",
		}
	}
	return &Error{Expr: c.expr, Kind: ErrEvaluate, Text: err.Error(), Hint: evalHint(err)}
}

func evalHint(err error) string {
	text := err.Error()
	switch {
	case strings.HasPrefix(text, "no such key"):
		return "guard it: 'key' in m ? m['key'] : 'default'"
	case strings.HasPrefix(text, "no such overload"):
		return "convert with string(…)"
	}
	return ""
}

func typeName(v ref.Val) string {
	if v == nil {
		return "nothing"
	}
	return v.Type().TypeName()
}

func typeError(expr, got string) *Error {
	return &Error{
		Expr: expr, Kind: ErrType, Text: fmt.Sprintf("the expression returns a value of type %s, not a string", got),
		Hint: "convert it with string(…)",
	}
}
