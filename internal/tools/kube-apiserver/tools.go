//go:build tools

// Package tools pins the Kubernetes API server that the controller's tests run
// against: a module of its own, so that its dependencies are nobody else's.
// make controller builds it.
package tools

import _ "k8s.io/kubernetes/cmd/kube-apiserver"
