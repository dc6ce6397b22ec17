package gitrepo

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"strings"

	"github.com/variform/variform/internal/wire"
)

// StoredCredentials reads logins from a file as Git's helper "store" keeps them: one URL
// with a user and password a line. A line is of its scheme, host and port, and, where it
// has a path, of what lies below that; the longest such path is taken. The file is read
// when a server asks, so that a Secret that is renewed counts; none is no login.
func StoredCredentials(file string) CredentialFunc {
	return func(_ context.Context, rawURL string) (user, password string, err error) {
		data, err := os.ReadFile(file)
		if errors.Is(err, fs.ErrNotExist) {
			return "", "", nil
		}
		if err != nil {
			return "", "", err
		}
		return storedLogin(file, string(data), rawURL)
	}
}

// CredentialsIn is StoredCredentials of a text that was read; name says where.
func CredentialsIn(name, text string) CredentialFunc {
	return func(_ context.Context, rawURL string) (user, password string, err error) {
		return storedLogin(name, text, rawURL)
	}
}

func storedLogin(name, text, rawURL string) (user, password string, err error) {
	wanted, err := url.Parse(rawURL)
	if err != nil {
		return "", "", errors.New("the address is not a URL")
	}
	longest, n := -1, 0
	for line := range strings.Lines(text) {
		n++
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		u, err := url.Parse(line)
		if err != nil || u.Host == "" || u.User == nil { // not that error: it has the line
			return "", "", fmt.Errorf("%s:%d: it is no https://USER:PASSWORD@HOST", name, n)
		}
		if path := strings.Trim(u.Path, "/"); len(path) > longest && wire.OriginOf(u) == wire.OriginOf(wanted) && below(path, strings.Trim(wanted.Path, "/")) {
			longest, user = len(path), u.User.Username()
			password, _ = u.User.Password()
		}
	}
	return user, password, nil
}

// below says that a path is dir or lies in it.
func below(dir, path string) bool {
	return dir == "" || path == dir || path == dir+".git" || strings.HasPrefix(path, dir+"/")
}
