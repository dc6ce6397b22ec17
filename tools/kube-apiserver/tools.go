//go:build tools

// Package tools pins the Kubernetes API server that the controller's tests run
// against, and the kubectl that they drive it with: a module of its own, so that
// its dependencies are nobody else's. make controller builds them.
package tools

import (
	_ "k8s.io/kubernetes/cmd/kube-apiserver"
	_ "k8s.io/kubernetes/cmd/kubectl"
)
