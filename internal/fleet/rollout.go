package fleet

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/variform/variform/api"
	"github.com/variform/variform/api/variform/v1alpha1"
	"github.com/variform/variform/internal/decide"
	"github.com/variform/variform/internal/reconcile"
	"github.com/variform/variform/internal/source"
)

// Waves are what a person asks for who approves in waves: the name of a strategy and, where
// they are not "", of the Rollout and of the one that it replaces.
type Waves struct{ Strategy, Name, Replaces string }

// ErrInGit is returned where a fleet's file is to be written and the fleet was read from Git.
var ErrInGit = errors.New("the fleet is in Git: clone it, and give the folder with -f")

// WriteRollout approves what a request names as a Rollout, and writes its file. A name is used
// once.
func WriteRollout(ctx context.Context, d *source.Directory, f *source.Fleet, e *reconcile.Engine, req reconcile.Request, classes []string, w Waves) (*v1alpha1.Rollout, string, error) {
	if d.Folder() == "" {
		return nil, "", ErrInGit
	}
	var names, used []string
	var strategy *v1alpha1.RolloutStrategy
	for _, s := range f.Strategies {
		if names = append(names, s.Name); s.Name == w.Strategy {
			strategy = s
		}
	}
	if strategy == nil {
		return nil, "", fmt.Errorf("no RolloutStrategy is called %q: %s", w.Strategy, decide.Hint(w.Strategy, names, "add one to the fleet's files"))
	}
	for _, r := range f.Rollouts {
		used = append(used, r.Name)
	}
	if w.Replaces != "" && !slices.Contains(used, w.Replaces) {
		return nil, "", fmt.Errorf("--replaces: no Rollout is called %q: %s", w.Replaces, decide.Hint(w.Replaces, used, "leave it out"))
	}
	members, err := reconcile.ToRollOut(ctx, e, req)
	if err == nil {
		err = decide.AssignWaves(&strategy.Spec, members)
	}
	if err != nil {
		return nil, "", err
	}
	r := &v1alpha1.Rollout{Spec: v1alpha1.RolloutSpec{Strategy: strategy.Spec, Replaces: w.Replaces, Classes: classes}}
	r.APIVersion, r.Kind, r.Namespace = v1alpha1.APIVersion, v1alpha1.KindRollout, strategy.Namespace
	if len(req.Exempt) > 0 {
		r.Annotations = map[string]string{v1alpha1.ExemptAnnotation: decide.Exempts(req.Exempt, req.Reason)}
	}
	for _, m := range members {
		to := v1alpha1.RolloutMember{Target: m.Target, Wave: m.Wave}
		for _, p := range m.Packages {
			to.Packages = append(to.Packages, p.RolloutPackage)
		}
		r.Spec.Members = append(r.Spec.Members, to)
	}
	if r.Name = w.Name; r.Name == "" {
		r.Name = rolloutName(members[0].Packages[0], strategy.Name)
	}
	if slices.Contains(used, r.Name) {
		return nil, "", fmt.Errorf("a Rollout is called %s already, and a name is used once: give another with --rollout-name", r.Name)
	}
	if issues := api.ValidateRollout(r); len(issues) > 0 {
		return nil, "", issues
	}
	file := filepath.Join(d.Folder(), "rollouts", r.Name+".yaml")
	return r, file, writeRollout(file, r)
}

// writeRollout writes the file of a Rollout.
func writeRollout(file string, r *v1alpha1.Rollout) error {
	data, err := api.Encode(r)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(file), 0o755)
	}
	if err == nil {
		err = os.WriteFile(file, data, 0o644)
	}
	return err
}

// rolloutName is web-1.4-prod, of package, version and strategy.
func rolloutName(p *decide.RolloutPackage, strategy string) string {
	parts := strings.Split(path.Base(p.Name)+"-"+p.Version+"-"+strategy, ".")
	for i := range parts {
		parts[i] = nameFrom(parts[i])
	}
	return strings.Join(parts, ".")
}

// ChangeRollout changes the file of a Rollout.
func ChangeRollout(d *source.Directory, f *source.Fleet, name string, change func(*v1alpha1.Rollout) error) error {
	if d.Folder() == "" {
		return ErrInGit
	}
	var names []string
	for _, r := range f.Rollouts {
		if names = append(names, r.Name); r.Name != name {
			continue
		}
		at := f.Origin(source.Key{Group: v1alpha1.Group, Kind: v1alpha1.KindRollout, Namespace: r.Namespace, Name: r.Name})
		text, _ := d.Text(at.File)
		if strings.Contains(string(text), "\n---") {
			return fmt.Errorf("%s holds several documents: give the Rollout a file of its own, or change it by hand", at.File)
		}
		if err := change(r); err != nil {
			return err
		}
		if issues := api.ValidateRollout(r); len(issues) > 0 {
			return issues
		}
		return writeRollout(filepath.Join(d.Folder(), filepath.FromSlash(at.File)), r)
	}
	return fmt.Errorf("no Rollout is called %q: %s", name, decide.Hint(name, names, "run rollout status to see what there is"))
}
