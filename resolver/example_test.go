package resolver_test

import (
	"context"
	"fmt"

	"github.com/variform/variform/resolver"
)

func Example() {
	cat, err := resolver.NewCatalog([]resolver.Package{
		{Package: "app", Version: "1.0.0", Requires: []resolver.Requirement{{Alias: "db", Package: "db", Version: ">=1 <2"}}},
		{Package: "db", Version: "1.2.0"},
		{Package: "db", Version: "2.0.0"},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	res, err := resolver.Resolve(context.Background(), resolver.Input{
		Catalog: cat,
		Want:    []resolver.Request{{Package: "app", Version: "1.0.0", Namespace: "dev"}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, i := range res.Instances {
		fmt.Println(i.Namespace, i.Package, i.Version)
	}
	// Output:
	// dev app 1.0.0
	// dev db 1.2.0
}
