//go:build !unix

package render

import "os/exec"

// endGroup does nothing where there are no groups: the program alone is stopped.
func endGroup(*exec.Cmd) (end func()) { return func() {} }
