// Package variantgen turns PackageVariantSets into PackageVariants (seed 002,
// "PackageVariantSet API"; design section 4). It is pure: everything that a
// set may refer to is given in an Env.
//
//	env := variantgen.NewEnv(variantgen.Inputs{Repositories: repos, Objects: objects})
//	result := variantgen.ExpandAll(env, set)
//	for _, pv := range result.Variants { … }   // the good ones, sorted
//	for _, f := range result.Failures { … }    // each names target, field and expression
//
// Expressions are compiled once per set. One bad target does not stop the
// others. The same input gives the same output, byte for byte.
package variantgen
