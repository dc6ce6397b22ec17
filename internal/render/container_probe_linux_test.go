package render

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// The functions here try what a container must not allow, and say how it went
// on stderr; on stdout all of them return what they were given.
func init() {
	for name, f := range map[string]func(w io.Writer){
		"probe": probe, "leave": leave, "dirty": dirty, "see": see,
		"hang": func(io.Writer) { time.Sleep(time.Hour) },
		"spin": func(io.Writer) {
			for n := uint64(1); n != 0; n += 2 { // for longer than anybody waits
				runtime.KeepAlive(n)
			}
		},
		"hog":   func(io.Writer) { hog() },
		"flood": func(w io.Writer) { fmt.Fprint(w, strings.Repeat("line\n", 100_000)) },
	} {
		rawFunctions[name] = func(in []byte, out, errs io.Writer) int {
			f(errs)
			_, _ = out.Write(in)
			return 0
		}
	}
	// turns does what the number in the name of its resource says.
	rawFunctions["turns"] = func(in []byte, out, errs io.Writer) int {
		for n, f := range []func(io.Writer){see, leave, see, dirty, see} {
			if strings.Contains(string(in), fmt.Sprintf("name: a%d ", n)) {
				f(errs)
			}
		}
		_, _ = out.Write(in)
		return 0
	}
	rawFunctions["sleep"] = func([]byte, io.Writer, io.Writer) int { time.Sleep(time.Hour); return 0 }
}

// probe describes what the function can reach, one line each.
func probe(w io.Writer) {
	fmt.Fprintln(w, "user", os.Getuid(), os.Getgid())
	status, _ := os.ReadFile("/proc/self/status")
	for _, line := range strings.Split(string(status), "\n") {
		if key, value, _ := strings.Cut(line, ":"); slices.Contains([]string{"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb", "NoNewPrivs", "Seccomp"}, key) {
			fmt.Fprintln(w, key, strings.TrimSpace(value))
		}
	}
	interfaces, _ := net.Interfaces()
	for _, i := range interfaces {
		fmt.Fprintln(w, "network", i.Name)
	}
	for _, dir := range []string{"/", "/etc", "/tmp", "/run", "/var/tmp", "/dev", "/dev/shm", "/dev/mqueue", "/usr/local/bin", "/sys/fs/cgroup"} {
		if err := os.WriteFile(filepath.Join(dir, "x"), nil, 0o600); err == nil {
			fmt.Fprintln(w, "can write", dir)
		}
	}
	for _, file := range []string{"/proc/1/mem", "/proc/1/environ"} {
		if _, err := os.ReadFile(file); os.Getpid() != 1 && err == nil {
			fmt.Fprintln(w, "can read", file)
		}
	}
	if f, err := os.OpenFile("/proc/1/fd/1", os.O_WRONLY, 0); os.Getpid() != 1 && err == nil {
		_ = f.Close()
		fmt.Fprintln(w, "can write to the first process's output")
	}
	if err := unix.PtraceAttach(1); os.Getpid() != 1 && err == nil {
		fmt.Fprintln(w, "can trace the first process")
	}
	dir, _ := os.Getwd()
	env := os.Environ()
	slices.Sort(env)
	for _, kv := range env {
		if !strings.HasPrefix(kv, "HOSTNAME=") {
			fmt.Fprintln(w, "env", kv)
		}
	}
	fmt.Fprintln(w, "folder", dir)
}

// leave leaves a process behind that holds its output open.
func leave(w io.Writer) {
	cmd := exec.Command("/proc/self/exe", runFunction, "sleep")
	cmd.Stderr = os.Stderr
	stdin, _ := cmd.StdinPipe()
	fmt.Fprintln(w, "left", cmd.Start())
	_ = stdin.Close()
}

// dirty leaves shared memory behind.
func dirty(w io.Writer) {
	_, err := unix.SysvShmGet(unix.IPC_PRIVATE, 4096, unix.IPC_CREAT|0o600)
	fmt.Fprintln(w, "shared memory", err)
}

// see counts what earlier calls left: processes besides the first and itself,
// and shared memory.
func see(w io.Writer) {
	processes := 0
	found, _ := filepath.Glob("/proc/[0-9]*")
	for _, p := range found {
		if base := filepath.Base(p); base != "1" && base != fmt.Sprint(os.Getpid()) {
			processes++
		}
	}
	shm, _ := os.ReadFile("/proc/sysvipc/shm")
	host, _ := os.Hostname()
	fmt.Fprintf(w, "processes %d segments %d host %s\n", processes, strings.Count(string(shm), "\n")-1, host)
}

func hog() {
	var all [][]byte
	for {
		b := make([]byte, 16<<20)
		for i := 0; i < len(b); i += 4096 {
			b[i] = 1
		}
		all = append(all, b)
		_ = all
	}
}
