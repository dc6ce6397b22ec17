//go:build unix

package render

import (
	"os/exec"
	"syscall"
)

// endGroup makes a program, which is to be started, the first of a group of
// processes that ends as one: when the program is stopped, and with what is
// returned.
func endGroup(cmd *exec.Cmd) (end func()) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	kill := func() error {
		if cmd.Process == nil {
			return nil
		}
		return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	}
	cmd.Cancel = kill
	return func() { _ = kill() }
}
