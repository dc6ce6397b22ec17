package kubeschemas

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// unasked are fields that the documents require although the server accepts an object
// without them.
var unasked = []string{
	"core.v1.HTTPHeader.value", "core.v1.Sysctl.value", "core.v1.LimitRangeSpec.limits", "core.v1.EvictionResponder.priority",
	"apps.v1.ControllerRevision.data", "batch.v1.PodFailurePolicy.rules", "core.v1.Event.metadata", "core.v1.Event.involvedObject",
	"events.v1.Event.eventTime", "storage.v1.CSIDriver.spec", "storage.v1.CSINode.spec", "storage.v1.CSINodeSpec.drivers",
}

// positive are the required integers that the server refuses to be 0. Where another
// integer or a boolean is absent, the server reads 0 or false and accepts that.
var positive = []string{"containerPort", "port", "maxReplicas", "maxSkew", "weight", "groupPriorityMinimum", "versionPriority", "periodSeconds"}

var unstable = regexp.MustCompile(`\.v\d+(alpha|beta)\d+\.`)

// notRequired reports whether the server does not ask for a field that the documents
// require. Those of alpha and beta versions are not believed.
func notRequired(typeName, name, expr string) bool {
	switch expr {
	case "int32", "int64", "integer", "boolean", "number":
		if !slices.Contains(positive, name) {
			return true
		}
	}
	return unstable.MatchString(typeName+".") || slices.Contains(unasked, typeName+"."+name)
}

// enums reads the values that fields may have from the generated code of a release, which
// has them where the documents have none: =A|B by TYPE.field.
func enums(m fs.FS) (map[string]string, error) {
	const file = "pkg/generated/openapi/zz_generated.openapi.go"
	data, err := fs.ReadFile(m, file)
	if err != nil {
		return nil, err
	}
	parsed, err := parser.ParseFile(token.NewFileSet(), file, data, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for _, d := range parsed.Decls {
		f, ok := d.(*ast.FuncDecl)
		if name, found := strings.CutPrefix(nameOf(f), "schema_k8sio_api_"); ok && found {
			enumsOf(f, strings.ReplaceAll(name, "_", "."), out)
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%s has no enum", file)
	}
	return out, nil
}

func nameOf(f *ast.FuncDecl) string {
	if f == nil {
		return ""
	}
	return f.Name.Name
}

// enumKey is the name of a type as the generated code has it.
func enumKey(id string) string { return strings.ReplaceAll(id, "-", "") }

// enumsOf finds each Enum and the property around it.
func enumsOf(f *ast.FuncDecl, typeName string, out map[string]string) {
	property := ""
	ast.Inspect(f.Body, func(n ast.Node) bool {
		pair, ok := n.(*ast.KeyValueExpr)
		if !ok {
			return true
		}
		switch key := pair.Key.(type) {
		case *ast.BasicLit:
			if s, err := strconv.Unquote(key.Value); err == nil {
				property = s
			}
		case *ast.Ident:
			if values, ok := pair.Value.(*ast.CompositeLit); ok && key.Name == "Enum" {
				out[typeName+"."+property] = "=" + strings.Join(texts(values), "|")
			}
		}
		return true
	})
}

func texts(list *ast.CompositeLit) (out []string) {
	for _, e := range list.Elts {
		if lit, ok := e.(*ast.BasicLit); ok {
			if s, err := strconv.Unquote(lit.Value); err == nil {
				out = append(out, s)
			}
		}
	}
	return out
}
