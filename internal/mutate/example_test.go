package mutate_test

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/variform/variform/api/config/v1alpha1"
	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/mutate"
)

func Example() {
	upstream, err := krm.Parse([]krm.File{{Path: "Kptfile", Data: []byte("apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {name: web}\n")}})
	if err != nil {
		fmt.Println(err)
		return
	}
	pkg, err := mutate.Clone(upstream, mutate.CloneOptions{Path: "fleet/shop", Deployment: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	variant := &v1alpha1.PackageVariant{
		ObjectMeta: metav1.ObjectMeta{Name: "shop", Namespace: "default"},
		Spec:       v1alpha1.PackageVariantSpec{PackageContext: &v1alpha1.PackageContext{Data: map[string]string{"region": "useast1"}}},
	}
	if _, err := mutate.Apply(pkg, variant, mutate.Options{}); err != nil {
		fmt.Println(err)
		return
	}
	files, err := pkg.Files()
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, f := range files {
		fmt.Printf("# %s\n%s", f.Path, f.Data)
	}
	// Output:
	// # Kptfile
	// apiVersion: kpt.dev/v1
	// kind: Kptfile
	// metadata: {name: shop}
	// # package-context.yaml
	// apiVersion: v1
	// kind: ConfigMap
	// metadata:
	//   name: kptfile.kpt.dev
	//   annotations:
	//     config.kubernetes.io/local-config: "true"
	// data:
	//   name: shop
	//   region: useast1
}
