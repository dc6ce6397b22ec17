//go:build tools

// Package tools pins the forge that test/forge runs fleets against: a module of its
// own, so that its dependencies are nobody else's. make forge builds it.
package tools

import _ "code.gitea.io/gitea"
