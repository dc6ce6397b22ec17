// Package install reads config/, by which the controller is installed, as those who
// install it do: as a kpt package that our own functions render, by kpt, and by kustomize.
// What it does on an API server its own module tests (cmd/variform-controller).
package install
