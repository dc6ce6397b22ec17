package review_test

import (
	"fmt"

	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/review"
)

func Example() {
	parse := func(host, size string) *krm.Package {
		p, err := krm.Parse([]krm.File{{Path: "cm.yaml", Data: []byte(
			"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: app}\ndata:\n  host: " + host + ".example.com\n  size: " + size + "\n")}})
		if err != nil {
			panic(err)
		}
		return p
	}
	var changes []review.Change
	for i, size := range []string{"large", "large", "huge"} {
		cluster := fmt.Sprint("cluster-0", i+1)
		changes = append(changes, review.Change{
			Variant: cluster + "/web", Before: parse("old", "small"), After: parse(cluster, size),
			Aliases: map[string]string{cluster: "repository"},
		})
	}
	report, err := review.Classify(changes)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(report.Summary)
	for _, c := range report.Classes {
		fmt.Println(c.Members)
	}
	// Output:
	// 3 variants: 2 × sets data.host of ConfigMap app to ${repository}.example.com; data.size of ConfigMap app small → large; 1 × data.host of ConfigMap app old.example.com → ${repository}.example.com; data.size of ConfigMap app small → huge
	// [cluster-03/web]
	// [cluster-01/web cluster-02/web]
}
