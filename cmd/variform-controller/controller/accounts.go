package controller

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/variform/variform/api"
	variformv1alpha1 "github.com/variform/variform/api/variform/v1alpha1"
)

// reader reads what a Fleet is made of, each time from the API server itself: what one
// account may read is never another's answer.
type reader struct {
	client.Reader
	mapper  meta.RESTMapper
	account client.ObjectKey // whose rights count; the zero value is the controller
}

// reader is that of a Fleet, for a run.
func (r *Reconciler) reader(f *variformv1alpha1.Fleet) (*reader, error) {
	name := cmp.Or(f.Spec.ServiceAccountName, r.DefaultServiceAccount)
	if name == "" {
		return &reader{Reader: r.Reader, mapper: r.Mapper}, nil
	}
	account := client.ObjectKey{Namespace: f.Namespace, Name: name}
	as, err := r.As(account)
	if err != nil {
		return nil, fmt.Errorf("reading as ServiceAccount %s: %w", account, err)
	}
	return &reader{Reader: as, mapper: r.Mapper, account: account}, nil
}

// impersonating is a configuration whose requests have a ServiceAccount's rights alone. The
// API server adds the groups that the account is in.
func impersonating(cfg *rest.Config, account client.ObjectKey) *rest.Config {
	cfg = rest.CopyConfig(cfg)
	cfg.Impersonate = rest.ImpersonationConfig{UserName: "system:serviceaccount:" + account.Namespace + ":" + account.Name}
	return cfg
}

func (r *reader) secret(ctx context.Context, key client.ObjectKey) (*corev1.Secret, error) {
	secret := &corev1.Secret{}
	err := r.Get(ctx, key, secret)
	if apierrors.IsForbidden(err) && r.account.Name != "" {
		err = r.refused("get it", fmt.Sprintf(`{apiGroups: [""], resources: [secrets], resourceNames: [%s], verbs: [get]} by a Role of namespace %s`, key.Name, key.Namespace), err)
	}
	return secret, err
}

// mayNotList says who is to be granted what, where a kind may not be listed.
func (r *reader) mayNotList(namespace string, k schema.GroupVersionKind, err error) error {
	if r.account.Name == "" {
		return fmt.Errorf("kind %s of %s may not be listed: grant list and watch by a ClusterRole labelled variform.dev/aggregate-to-context (docs/controller.md#rights): %w", k.Kind, k.GroupVersion(), err)
	}
	mapping, unknown := r.mapper.RESTMapping(k.GroupKind(), k.Version)
	if unknown != nil {
		return errors.Join(err, unknown)
	}
	verbs, by := "list, watch", "a Role of namespace "+namespace
	if api.Handles(k.GroupVersion().String(), k.Kind) {
		verbs = "list" // the controller watches those itself
	}
	if mapping.Scope.Name() == meta.RESTScopeNameRoot {
		by = "a ClusterRole and a ClusterRoleBinding"
	}
	return r.refused(fmt.Sprintf("list kind %s of %s", k.Kind, k.GroupVersion()), fmt.Sprintf("{apiGroups: [%q], resources: [%s], verbs: [%s]} by %s", k.Group, mapping.Resource.Resource, verbs, by), err)
}

// refused says what an account is to be granted, or the controller where that may not act
// as the account at all.
func (r *reader) refused(what, grant string, err error) error {
	const see = "(docs/controller.md#as-a-serviceaccount)"
	// Servers differ in what they say that was asked for, and not in the verb.
	if strings.Contains(err.Error(), "cannot impersonate") {
		return fmt.Errorf(`the controller may not read as ServiceAccount %s: grant the controller's own {apiGroups: [""], resources: [serviceaccounts], resourceNames: [%s], verbs: [impersonate]} by a Role of namespace %s %s: %w`, r.account, r.account.Name, r.account.Namespace, see, err)
	}
	return fmt.Errorf("ServiceAccount %s may not %s: grant it %s %s: %w", r.account, what, grant, see, err)
}
