package catalogfn

import (
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"regexp"

	"go.starlark.net/lib/json"
	"go.starlark.net/lib/math"
	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// libraries are what scripts may load: those of the catalogue that need no
// environment, network or clock.
var libraries = map[string]starlark.StringDict{
	"encoding/json.star":   {"json": json.Module},
	"math.star":            {"math": math.Module},
	"encoding/base64.star": {"base64": module("base64", map[string]builtin{"encode": base64Encode, "decode": base64Decode})},
	"encoding/yaml.star":   {"yaml": module("yaml", map[string]builtin{"loads": yamlLoads, "dumps": yamlDumps})},
	"hash.star": {"hash": module("hash", map[string]builtin{
		"md5":    hashOf(func(b []byte) []byte { s := md5.Sum(b); return s[:] }),
		"sha1":   hashOf(func(b []byte) []byte { s := sha1.Sum(b); return s[:] }),
		"sha256": hashOf(func(b []byte) []byte { s := sha256.Sum256(b); return s[:] }),
	})},
	"re.star": {"re": module("re", map[string]builtin{"findall": reFindAll, "split": reSplit, "sub": reSub})},
}

// krmfn is the library krmfn.star, which differs between releases.
const krmfn = "krmfn.star"

type builtin = func(*starlark.Thread, *starlark.Builtin, starlark.Tuple, []starlark.Tuple) (starlark.Value, error)

func module(name string, functions map[string]builtin) *starlarkstruct.Module {
	m := &starlarkstruct.Module{Name: name, Members: starlark.StringDict{}}
	for k, f := range functions {
		m.Members[k] = starlark.NewBuiltin(name+"."+k, f)
	}
	m.Freeze()
	return m
}

func (rules scriptRules) load(_ *starlark.Thread, name string) (starlark.StringDict, error) {
	if name == krmfn && rules.matches != nil {
		return starlark.StringDict{"krmfn": module("krmfn", map[string]builtin{
			"match_gvk": rules.matchGVK, "match_name": matchMeta("name"), "match_namespace": matchMeta("namespace"),
		})}, nil
	}
	if lib, ok := libraries[name]; ok {
		return lib, nil
	}
	return nil, fmt.Errorf("library %q is not built in; a script that needs it runs from its image, pinned to a digest", name)
}

func base64Encode(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kw []starlark.Tuple) (starlark.Value, error) {
	s, enc, err := base64Args(b, args, kw)
	if err != nil {
		return nil, err
	}
	return starlark.String(enc.EncodeToString([]byte(s))), nil
}

func base64Decode(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kw []starlark.Tuple) (starlark.Value, error) {
	s, enc, err := base64Args(b, args, kw)
	if err != nil {
		return nil, err
	}
	out, err := enc.DecodeString(s)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", b.Name(), err)
	}
	return starlark.String(out), nil
}

func base64Args(b *starlark.Builtin, args starlark.Tuple, kw []starlark.Tuple) (string, *base64.Encoding, error) {
	s, kind := "", "standard"
	if err := starlark.UnpackArgs(b.Name(), args, kw, "data", &s, "encoding?", &kind); err != nil {
		return "", nil, err
	}
	enc, ok := map[string]*base64.Encoding{
		"standard": base64.StdEncoding, "standard_raw": base64.RawStdEncoding, "url": base64.URLEncoding, "url_raw": base64.RawURLEncoding,
	}[kind]
	if !ok {
		return "", nil, fmt.Errorf("%s: encoding %q is unknown", b.Name(), kind)
	}
	return s, enc, nil
}

func hashOf(sum func([]byte) []byte) builtin {
	return func(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kw []starlark.Tuple) (starlark.Value, error) {
		var s string
		if err := starlark.UnpackPositionalArgs(b.Name(), args, kw, 1, &s); err != nil {
			return nil, err
		}
		return starlark.String(hex.EncodeToString(sum([]byte(s)))), nil
	}
}

func yamlLoads(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kw []starlark.Tuple) (starlark.Value, error) {
	var s string
	if err := starlark.UnpackPositionalArgs(b.Name(), args, kw, 1, &s); err != nil {
		return nil, err
	}
	n, err := yaml.Parse(s)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", b.Name(), err)
	}
	return toValue(n.YNode())
}

func yamlDumps(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kw []starlark.Tuple) (starlark.Value, error) {
	var v starlark.Value
	if err := starlark.UnpackPositionalArgs(b.Name(), args, kw, 1, &v); err != nil {
		return nil, err
	}
	budget := maxValues
	n, err := toNode(v, &budget)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", b.Name(), err)
	}
	s, err := yaml.String(n)
	return starlark.String(s), err
}

func reFindAll(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kw []starlark.Tuple) (starlark.Value, error) {
	var pattern, s string
	if err := starlark.UnpackArgs(b.Name(), args, kw, "pattern", &pattern, "text", &s); err != nil {
		return nil, err
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return nil, err
	}
	return stringList(re.FindAllString(s, -1)), nil
}

func reSplit(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kw []starlark.Tuple) (starlark.Value, error) {
	var pattern, s string
	limit := -1
	if err := starlark.UnpackArgs(b.Name(), args, kw, "pattern", &pattern, "text", &s, "maxsplit?", &limit); err != nil {
		return nil, err
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return nil, err
	}
	if limit <= 0 {
		limit = -1
	}
	return stringList(re.Split(s, limit)), nil
}

func reSub(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kw []starlark.Tuple) (starlark.Value, error) {
	var pattern, with, s string
	if err := starlark.UnpackArgs(b.Name(), args, kw, "pattern", &pattern, "repl", &with, "text", &s); err != nil {
		return nil, err
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return nil, err
	}
	return starlark.String(re.ReplaceAllString(s, with)), nil
}

func stringList(ss []string) *starlark.List {
	out := make([]starlark.Value, len(ss))
	for i, s := range ss {
		out[i] = starlark.String(s)
	}
	return starlark.NewList(out)
}

func (rules scriptRules) matchGVK(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kw []starlark.Tuple) (starlark.Value, error) {
	var r *starlark.Dict
	var apiVersion, kind string
	if err := starlark.UnpackPositionalArgs(b.Name(), args, kw, 3, &r, &apiVersion, &kind); err != nil {
		return nil, err
	}
	return starlark.Bool(rules.matches(field(r, "apiVersion"), field(r, "kind"), apiVersion, kind)), nil
}

func matchMeta(key string) builtin {
	return func(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kw []starlark.Tuple) (starlark.Value, error) {
		var r *starlark.Dict
		var want string
		if err := starlark.UnpackPositionalArgs(b.Name(), args, kw, 2, &r, &want); err != nil {
			return nil, err
		}
		return starlark.Bool(field(r, "metadata", key) == want), nil
	}
}

// field is the string at keys, "" where there is none.
func field(d *starlark.Dict, keys ...string) string {
	var v starlark.Value = d
	for _, k := range keys {
		m, ok := v.(*starlark.Dict)
		if !ok {
			return ""
		}
		if v, ok, _ = m.Get(starlark.String(k)); !ok {
			return ""
		}
	}
	s, _ := starlark.AsString(v)
	return s
}
