package api_test

import (
	"strings"
	"testing"

	"github.com/variform/variform/api"
)

func TestFleet(t *testing.T) {
	const objects, git = "source: {objects: {}}, manager: m", "source: {git: {repo: https://git.example.com/fleet}}"
	for spec, want := range map[string]string{
		git:     "",
		objects: "",
		"source: {git: {repo: x, directory: prod, ref: main}}, interval: 30s, suspend: true, prune: true, maxDeletions: 0": "",
		"source: {objects: {selector: {a: b}, context: [{apiVersion: v1, kind: ConfigMap}]}}, manager: m":                  "",
		"source: {objects: {}}":                                             "spec.manager is a required field",
		"source: {}, manager: m":                                            "spec.source",
		objects + ", interval: 5":                                           "spec.interval",
		objects + ", interval: 10ms":                                        "spec.interval",
		objects + ", interval: soon":                                        "spec.interval",
		objects + ", secretRef: {name: git}":                                "",
		objects + ", secretRef: {}":                                         "spec.secretRef.name",
		objects + ", secretRef: {name: git, namespace: other}":              "spec.secretRef.namespace",
		objects + ", serviceAccountName: tenant":                            "",
		objects + ", serviceAccountName: 'other:tenant'":                    "spec.serviceAccountName",
		objects + ", shards: 4":                                             "",
		objects + ", shards: 1001":                                          "spec.shards",
		objects + ", shards: -1":                                            "spec.shards",
		objects + ", maxDeletions: -1":                                      "spec.maxDeletions must be at least 0",
		objects + ", suspended: true":                                       "spec.suspended",
		"source: {objects: {}}, manager: Me":                                "spec.manager",
		"source: {git: {repo: x}, objects: {}}, manager: m":                 "spec.source",
		"source: {git: {repo: x, directory: ../y}}":                         "spec.source.git.directory",
		"source: {git: {directory: y}}":                                     "spec.source.git.repo",
		"source: {git: {repo: 'https://me:hunter2@git.example.com/fleet'}}": "spec.source.git.repo holds a password",
		"source: {objects: {selector: {'a b': c}}}, manager: m":             "spec.source.objects.selector",
		"source: {objects: {context: [{kind: ConfigMap}]}}, manager: m":     "apiVersion",
	} {
		_, report := api.Parse([]byte("apiVersion: variform.dev/v1alpha1\nkind: Fleet\nmetadata: {name: prod}\nspec: {" + spec + "}\nstatus: {observedGeneration: 1}\n"))
		got := report.Errors.Error()
		if want == "" && report.Err() != nil || want != "" && (report.Err() == nil || !strings.Contains(got, want)) || strings.Contains(got, "hunter2") || len(report.Warnings) > 0 {
			t.Errorf("%s: %q %v, want %q", spec, got, report.Warnings, want)
		}
	}
}
