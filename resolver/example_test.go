package resolver_test

import (
	"context"
	"errors"
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

// What is locked stays while it may; Refresh takes what is newer.
func ExampleResolve_lock() {
	catalog := func(versions ...string) *resolver.Catalog {
		packages := []resolver.Package{{Package: "app", Version: "1.0.0", Requires: []resolver.Requirement{{Alias: "db", Package: "db", Version: ">=1 <2"}}}}
		for _, v := range versions {
			packages = append(packages, resolver.Package{Package: "db", Version: v})
		}
		cat, err := resolver.NewCatalog(packages)
		if err != nil {
			panic(err)
		}
		return cat
	}
	in := resolver.Input{Want: []resolver.Request{{Package: "app", Version: "1.0.0", Namespace: "dev"}}}
	resolve := func() *resolver.Resolution {
		res, err := resolver.Resolve(context.Background(), in)
		if err != nil {
			panic(err)
		}
		fmt.Println("db", res.Binding("db").Version)
		return res
	}
	in.Catalog = catalog("1.0.0")
	in.Lock = resolve().Lock
	in.Catalog = catalog("1.0.0", "1.1.0")
	resolve()
	in.Refresh = []string{"db"}
	resolve()
	// Output:
	// db 1.0.0
	// db 1.0.0
	// db 1.1.0
}

// Where there is no answer, the error has the reasons, none of which can be left out.
func ExampleConflictError() {
	cat, err := resolver.NewCatalog([]resolver.Package{
		{Package: "app", Version: "1.0.0", Requires: []resolver.Requirement{{Alias: "db", Package: "db", Version: ">=2"}}},
		{Package: "db", Version: "1.2.0"},
	})
	if err != nil {
		panic(err)
	}
	_, err = resolver.Resolve(context.Background(), resolver.Input{
		Catalog: cat,
		Want:    []resolver.Request{{Package: "app", Version: "1.0.0", Namespace: "dev"}},
	})
	var conflict *resolver.ConflictError
	if errors.As(err, &conflict) {
		fmt.Println(conflict.Summary)
		for _, reason := range conflict.Reasons {
			fmt.Println("-", reason)
		}
	}
	// Output:
	// cannot resolve app 1.0.0 in dev:
	// - app 1.0.0 needs db >=2, but the versions of db are 1.2.0
}

// Why and WhyNot explain an answer.
func ExampleResolution_Why() {
	cat, err := resolver.NewCatalog([]resolver.Package{
		{Package: "app", Version: "1.0.0", Requires: []resolver.Requirement{{Alias: "db", Package: "db", Version: "<2"}}},
		{Package: "db", Version: "1.2.0"},
		{Package: "db", Version: "2.0.0"},
	})
	if err != nil {
		panic(err)
	}
	in := resolver.Input{Catalog: cat, Want: []resolver.Request{{Package: "app", Version: "1.0.0", Namespace: "dev"}}}
	res, err := resolver.Resolve(context.Background(), in)
	if err != nil {
		panic(err)
	}
	for _, line := range res.Why("db") {
		fmt.Println(line)
	}
	reasons, err := resolver.WhyNot(context.Background(), in, "db", "2.0.0")
	if err != nil {
		panic(err)
	}
	for _, line := range reasons {
		fmt.Println(line)
	}
	// Output:
	// app 1.0.0 needs db <2, and got db 1.2.0
	// 1.2.0 is the newest version in <2 of app 1.0.0
	// app 1.0.0 needs db <2 (only 1.2.0)
}
