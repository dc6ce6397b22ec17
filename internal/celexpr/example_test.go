package celexpr_test

import (
	"fmt"

	"github.com/variform/variform/internal/celexpr"
)

func Example() {
	env, err := celexpr.NewEnv(celexpr.String("repoDefault"), celexpr.Dynamic("repository"))
	if err != nil {
		fmt.Println(err)
		return
	}
	p, err := env.Compile("labelExprs[0].valueExpr", "repository.labels['org'] + '-' + repoDefault")
	if err != nil {
		fmt.Println(err)
		return
	}
	budget := celexpr.NewBudget() // of all expressions of a set
	for _, org := range []string{"hr", "finance"} {
		s, err := p.Eval(celexpr.Vars{
			"repoDefault": celexpr.Value("cluster-01"),
			"repository":  celexpr.Object("cluster-01", "default", map[string]string{"org": org}, nil),
		}, budget)
		fmt.Println(s, err)
	}
	// Output:
	// hr-cluster-01 <nil>
	// finance-cluster-01 <nil>
}
