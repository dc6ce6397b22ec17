package function

// Builtin are Variform's own functions by name, the same whether they run in
// process or as a binary of functions/<name>.
var Builtin = map[string]Processor{
	"apply-variant":        ApplyVariant,
	"generate-variants":    GenerateVariants,
	"inject-config":        InjectConfig,
	"resolve-dependencies": ResolveDependencies,
	"set-fields":           SetFields,
	"validate-package":     ValidatePackage,
}

// Doc is what a function says about itself. Its help, its page, its metadata and
// the JSON Schema of its functionConfig are made from it.
type Doc struct {
	Short  string // one line without a full stop
	Long   string // what it does, reads and writes
	Tags   []string
	Config string  // the functionConfig, as commented YAML
	Fields []Field // of the functionConfig that count
}

// Field is one field of a functionConfig.
type Field struct {
	Path    string // from the root; [] behind a list
	Type    string // string, boolean, integer (in a ConfigMap as text), object, strings, texts (a map) or objects
	Text    string // what it does, without a full stop
	Values  []string
	Pattern string // a regular expression that values match
	// Required says that it must be there wherever the object around it is.
	Required bool
}

// Docs are the docs of Builtin, by name.
var Docs = map[string]Doc{
	"apply-variant": {
		Short: "Apply a PackageVariant's mutations to a package",
		Long: `Makes the package context, the pipeline functions and the injected configuration
of a PackageVariant in a package whose clone or update is done already. The
package context needs the ConfigMap kptfile.kpt.dev; pipeline functions are
prepended under names that later runs replace; injection points are filled from
items annotated variform.dev/context: "true", which pass through unchanged.
Everything else passes through untouched. A second run changes nothing.`,
		Config: `apiVersion: config.porch.kpt.dev/v1alpha1
kind: PackageVariant
metadata: {name: my-variant, namespace: default}
spec:
  upstream: {repo: catalog, package: web, workspaceName: v1}  # required, not fetched
  downstream: {repo: fleet, package: web}                # required
  packageContext:
    data: {region: useast1}       # set in the ConfigMap; name and package-path are kept by kpt
    removeKeys: [old]             # removed, even where data has them
  pipeline:                       # a Kptfile's pipeline, prepended
    mutators: [{image: set-labels:v0.1, configMap: {app: web}}]
  injectors:                      # tried in order for each injection point
  - {group: hr.example.com, kind: Team, name: dev-team}  # name is required`,
		Tags: []string{"mutator"},
		Fields: []Field{
			{Path: "spec.upstream", Type: "object", Required: true, Text: "the package revision that the variant is of: repo, package, revision or workspaceName; it is not fetched"},
			{Path: "spec.downstream", Type: "object", Required: true, Text: "the package that is made: repo and package"},
			{Path: "spec.packageContext.data", Type: "texts", Text: "set in the ConfigMap kptfile.kpt.dev; name and package-path are refused"},
			{Path: "spec.packageContext.removeKeys", Type: "strings", Text: "removed from that ConfigMap, even where data has them"},
			{Path: "spec.pipeline.mutators", Type: "objects", Text: "functions as in a Kptfile, prepended to its mutators"},
			{Path: "spec.pipeline.validators", Type: "objects", Text: "functions as in a Kptfile, prepended to its validators"},
			{Path: "spec.injectors[].name", Type: "string", Required: true, Text: "the context object that fills injection points; injectors are tried in order"},
			{Path: "spec.injectors[].group", Type: "string", Text: "the injection point's API group, any where left out"},
			{Path: "spec.injectors[].version", Type: "string", Text: "its API version, any where left out"},
			{Path: "spec.injectors[].kind", Type: "string", Text: "its kind, any where left out"},
			{Path: "spec.injectors[].point", Type: "string", Text: "its name, any where left out: one of several points of a kind"},
		},
	},
	"generate-variants": {
		Short: "Generate PackageVariants from PackageVariantSets",
		Long: `Expands every PackageVariantSet (config.porch.kpt.dev/v1alpha2) over its targets
and adds or changes one PackageVariant for each. Repositories, PackageRevisions
and all other items are what sets can select and what their CEL expressions see;
without any Repository item, none counts as missing. Variants that no target asks
for any more are removed only with prune, only those that carry a set's label,
never while a target of their set fails, and never more than a quarter of a set
(three or more) without maxDelete.`,
		Config: `apiVersion: v1
kind: ConfigMap
metadata: {name: generate}
data:
  prune: "false"                  # "true" removes variants that no target asks for
  maxDelete: "10"                 # how many prune may remove in all
  onError: fail                   # continue: failing targets are warnings, exit 0
# may be left out`,
		Tags: []string{"mutator"},
		Fields: []Field{
			{Path: "data.prune", Type: "boolean", Values: []string{"true", "false"}, Text: "remove generated variants that no target asks for; false where left out"},
			{Path: "data.maxDelete", Type: "integer", Pattern: "^[0-9]+$", Text: "how many variants prune may remove in all; where left out, fewer than three or a quarter of a set"},
			{Path: "data.onError", Type: "string", Values: []string{"fail", "continue"}, Text: "what a failing target is: an error, or a warning beside exit code 0; fail where left out"},
		},
	},
	"inject-config": {
		Short: "Fill a package's injection points with configuration",
		Long: `Copies spec (data of a ConfigMap) from context objects into the resources that
are annotated kpt.dev/config-injection: required or optional, and writes
conditions, and readiness gates for required points, into the root Kptfile.
Context objects are items annotated variform.dev/context: "true" and those in
the functionConfig; only objects of the configured namespace count. A point that
nothing matched is a condition False and a warning, not a failure. Secrets are
never injected.`,
		Config: `apiVersion: variform.dev/v1alpha1
kind: InjectConfig
metadata: {name: inject}
namespace: default                # of the context objects
injectors:                        # tried in order for each injection point
- name: useast1-endpoints         # required; group, version, kind narrow it
resources:                        # more context objects, inline
- {apiVersion: v1, kind: ConfigMap, metadata: {name: useast1-endpoints}, data: {url: "https://a"}}
# or a PackageVariant, of which namespace and spec.injectors count`,
		Tags: []string{"mutator"},
		Fields: []Field{
			{Path: "namespace", Type: "string", Text: "of the context objects; default where left out"},
			{Path: "injectors[].name", Type: "string", Required: true, Text: "the context object that fills injection points; injectors are tried in order"},
			{Path: "injectors[].group", Type: "string", Text: "the injection point's API group, any where left out"},
			{Path: "injectors[].version", Type: "string", Text: "its API version, any where left out"},
			{Path: "injectors[].kind", Type: "string", Text: "its kind, any where left out"},
			{Path: "injectors[].point", Type: "string", Text: "its name, any where left out: one of several points of a kind"},
			{Path: "resources", Type: "objects", Text: "context objects, beside the items with the annotation"},
		},
	},
	"resolve-dependencies": {
		Short: "Resolve what Installations need into one PackageLock a target",
		Long: `Answers which packages, at which versions, are to be where, so that all that the
Installations ask for is met. PackageManifests are the versions to choose from,
one item a version; Catalogs give the default implementation of an interface;
PackageLocks are previous answers, kept to where they still hold;
CustomResourceDefinitions are APIs that the target serves already; Repositories
say by their annotations which of their folders are targets. Each target's
PackageLock is added, or changed where it stands. A conflict, or a choice that a
person must make, is an error with its explanation; that target's lock is left as
it is, the others are written.`,
		Config: `apiVersion: v1
kind: ConfigMap
metadata: {name: resolve}
data:
  target: cluster-01              # this target only; without it, all that Installations name
  platform: kubernetes=1.31.0     # what packages may require of the target, comma-separated
# may be left out`,
		Tags: []string{"mutator"},
		Fields: []Field{
			{Path: "data.target", Type: "string", Text: "resolve for this target alone; all that Installations name where left out"},
			{Path: "data.platform", Type: "string", Text: "what packages may require of the target, as name=version, comma-separated"},
		},
	},
	"set-fields": {
		Short: "Set fields of resources from parameters",
		Long: `Sets fields of resources, named as the upstream has them, from the parameters in
spec. spec comes from a context object where the functionConfig is an injection
point. A rule sets the parameter of its name, if spec has it; else its value, in
which ${NAME} is replaced by another parameter; else what values has for the parameter
that from names. Without a value, the field stays as the package has it. A
resource or a list item that the function renamed is found by its new name. A
path that is not in the package is an error that lists the existing ones, unless the
target is optional. Comments, quotes and all other fields stay.`,
		Config: `apiVersion: fields.example.com/v1 # any kind, such as one of your own
kind: WebFields
metadata:
  name: web
  annotations:
    config.kubernetes.io/local-config: "true"
    kpt.dev/config-injection: required  # a context object of this kind gives spec
spec: {name: web-1, environment: production}
fields:
- value: ${name}-config           # a template
  targets:
  - select: {kind: ConfigMap, name: example-config}  # as in the upstream
    fieldPaths: [metadata.name]
- name: image                     # spec.image, if spec has it
  targets:
  - select: {group: apps, kind: Deployment, name: web, file: web.yaml}
    fieldPaths: ["spec.template.spec.containers.[name=web].image"]
- from: environment               # follows from another parameter
  values: {production: 3}
  targets:
  - select: {kind: Deployment, name: web}
    fieldPaths: [spec.replicas]
    optional: true                # skipped where the package lacks it`,
		Tags: []string{"mutator"},
		Fields: []Field{
			{Path: "spec", Type: "object", Text: "the parameters: names and single values"},
			{Path: "fields", Type: "objects", Required: true, Text: "the rules, each with targets"},
			{Path: "fields[].name", Type: "string", Text: "a parameter; its value in spec is used first"},
			{Path: "fields[].value", Type: "string", Text: "the default; ${NAME} is replaced by a parameter"},
			{Path: "fields[].from", Type: "string", Text: "the parameter by which the value is looked up in values"},
			{Path: "fields[].values", Type: "object", Text: "values by those of from; others leave the field as it is"},
			{Path: "fields[].targets[].select.kind", Type: "string", Required: true, Text: "kind of the resource in the upstream"},
			{Path: "fields[].targets[].select.name", Type: "string", Required: true, Text: "its name in the upstream"},
			{Path: "fields[].targets[].select.group", Type: "string", Text: "its API group, any where left out"},
			{Path: "fields[].targets[].select.namespace", Type: "string", Text: "its namespace in the upstream, any where left out"},
			{Path: "fields[].targets[].select.file", Type: "string", Text: "its file, which decides between several resources"},
			{Path: "fields[].targets[].fieldPaths", Type: "strings", Required: true, Text: "paths as in kustomize: spec.containers.[name=web].image, data.a\\.yaml, spec.hosts.[=a.example.com]"},
			{Path: "fields[].targets[].optional", Type: "boolean", Text: "skip what the package lacks; false where left out"},
		},
	},
	"validate-package": {
		Short: "Check a package and Variform's kinds in it",
		Long: `Reports, and changes nothing: Kptfiles with unknown or wrong fields, functions
without an image or exec, with an invalid image or a configPath that leads
nowhere, invalid injection points, PackageVariants, PackageVariantSets,
Repositories and InjectConfigs with mistakes, resources that stand twice in one
package, and unsafe or repeated paths, all as errors; unmet readiness gates and
repeated function names as warnings.`,
		Config: `apiVersion: v1
kind: ConfigMap
metadata: {name: validate}
data:
  strict: "false"                 # "true" makes warnings about gates and names errors
# may be left out`,
		Tags: []string{"validator"},
		Fields: []Field{
			{Path: "data.strict", Type: "boolean", Values: []string{"true", "false"}, Text: "unmet gates and repeated function names are errors; false where left out"},
		},
	},
}
