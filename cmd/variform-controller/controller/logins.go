package controller

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/authn/kubernetes"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	variformv1alpha1 "github.com/variform/variform/api/variform/v1alpha1"
	"github.com/variform/variform/internal/forge"
	"github.com/variform/variform/internal/gitrepo"
	"github.com/variform/variform/internal/ocirepo"
	"github.com/variform/variform/internal/session"
	"github.com/variform/variform/internal/wire"
)

// credentialsKey is the key of a Fleet's Secret that has Git's logins: each line names the
// server that it is for, so that no address of a fleet draws a login to another. Logins of
// registries have the key that Kubernetes gives them, and are for no Git server.
const credentialsKey = "credentials"

// logins are those of one run, each for one purpose, and how long servers are waited for.
type logins struct {
	budget wire.Budget
	// from names a Fleet's own Secret; "" is the controller.
	from   string
	git    gitrepo.CredentialFunc
	tokens func(variable string) string // of forges
	images authn.Keychain               // nil is Docker's configuration
	app    *forge.App                   // of GitHub; nil is none
}

// logins returns a Fleet's own logins and no others, or the controller's for a Fleet without
// secretRef. The Secret is read at each run, by its name alone.
func (r *Reconciler) logins(ctx context.Context, f *variformv1alpha1.Fleet, from *reader) (logins, error) {
	fleet := client.ObjectKey{Namespace: f.Namespace, Name: f.Name}
	budget := r.budget(fleet)
	if f.Spec.SecretRef == nil {
		app, err := r.app(client.ObjectKey{}, forge.AppVariables, os.Getenv)
		if err != nil {
			return logins{}, fmt.Errorf("the controller's environment: %w", err)
		}
		return logins{budget: budget, git: r.Credentials, tokens: os.Getenv, app: app}, nil
	}
	name := f.Namespace + "/" + f.Spec.SecretRef.Name
	secret, err := from.secret(ctx, client.ObjectKey{Namespace: f.Namespace, Name: f.Spec.SecretRef.Name})
	if err != nil {
		return logins{}, fmt.Errorf("spec.secretRef: reading Secret %s: %w", name, err)
	}
	l, err := loginsIn("Secret "+name, secret.Data)
	if err != nil {
		return logins{}, fmt.Errorf("spec.secretRef: %w", err)
	}
	if l.app, err = r.app(fleet, forge.AppKeys, l.tokens); err != nil {
		return logins{}, fmt.Errorf("spec.secretRef: Secret %s: %w", name, err)
	}
	l.budget = budget
	return l, nil
}

// app returns the GitHub App that some settings describe: the one of earlier runs where they
// describe the same, whose token is good for an hour. The zero fleet is the controller itself.
func (r *Reconciler) app(fleet client.ObjectKey, names forge.AppNames, get func(string) string) (*forge.App, error) {
	budget := r.budget(fleet)
	budget.Slow = nil // it outlives the run
	app, err := forge.NewApp(names, get, budget, r.Now)
	if err != nil {
		return nil, err
	}
	return r.knows.appOf(fleet, app), nil
}

// loginsIn returns the logins of a Secret. Of a Docker configuration its logins count alone:
// a helper that it names would be the controller's.
func loginsIn(name string, data map[string][]byte) (logins, error) {
	text, git := data[credentialsKey]
	docker, registries := data[corev1.DockerConfigJsonKey]
	if _, app := data[forge.AppKeys.ID]; !git && !registries && !app {
		return logins{}, fmt.Errorf("%s has no key %s: put a line https://USER:PASSWORD@HOST there for each Git server, and logins of registries under %s; a GitHub App has the keys %s, %s and %s", name, credentialsKey, corev1.DockerConfigJsonKey, forge.AppKeys.ID, forge.AppKeys.Installation, forge.AppKeys.Key)
	}
	images, err := kubernetes.NewFromPullSecrets(context.Background(), []corev1.Secret{
		{Type: corev1.SecretTypeDockerConfigJson, Data: map[string][]byte{corev1.DockerConfigJsonKey: docker}},
	})
	if err != nil { // not that error: it may have the login
		return logins{}, fmt.Errorf("%s: the key %s is no Docker configuration in JSON: make it by kubectl create secret docker-registry, or copy what docker login wrote", name, corev1.DockerConfigJsonKey)
	}
	return logins{
		from: name, git: gitrepo.CredentialsIn(name, string(text)), images: images,
		tokens: func(variable string) string { return strings.TrimSpace(string(data[variable])) },
	}, nil
}

// registries opens registries of images.
func (l logins) registries(cache string) *ocirepo.Store {
	return ocirepo.NewStore(ocirepo.Options{CacheDir: cache, Keychain: l.images, KeychainName: l.from, Budget: l.budget})
}

// forges signs in for pull requests.
func (l logins) forges() forge.Login { return session.Login(l.tokens, l.git) }
