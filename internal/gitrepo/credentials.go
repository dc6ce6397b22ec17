package gitrepo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"time"
	"unicode"
)

// CredentialFunc gives the user and password for an http(s) address without
// userinfo. Both empty means that there are none.
type CredentialFunc func(ctx context.Context, url string) (user, password string, err error)

// Expiring has logins that expire: it is asked for each request, and gives one that is good for
// a while. Safe for concurrent use.
type Expiring interface {
	// Login is a CredentialFunc.
	Login(ctx context.Context, url string) (user, password string, err error)
	// Reject forgets a password that a server refused.
	Reject(password string)
}

// HelperCredentials is what git's credential helpers have for an address, both empty
// where that is nothing. They are never asked to ask at the terminal.
func HelperCredentials(ctx context.Context, rawURL string) (user, password string, err error) {
	return helperCredentials(ctx, rawURL, "")
}

// helperCredentials asks git's credential helpers, never the terminal.
func helperCredentials(ctx context.Context, rawURL, user string) (string, string, error) {
	in, err := credentialInput(rawURL, user, "")
	if err != nil {
		return "", "", err
	}
	out, err := gitCredential(ctx, "fill", in)
	if err != nil {
		return "", "", err
	}
	var password string
	for _, line := range strings.Split(out, "\n") {
		switch key, value, _ := strings.Cut(line, "="); key {
		case "username":
			user = value
		case "password":
			password = value
		}
	}
	return user, password, nil
}

// answerHelpers says whether a login that the helpers gave has worked.
func answerHelpers(ctx context.Context, worked bool, rawURL, user, password string) {
	verb := "reject"
	if worked {
		verb = "approve"
	}
	if in, err := credentialInput(rawURL, user, password); err == nil {
		_, _ = gitCredential(ctx, verb, in) // the helpers' own affair
	}
}

// credentialInput describes a login in git's protocol of lines: what would be
// more than one line is refused, for a helper would take the rest as another
// server's.
func credentialInput(rawURL, user, password string) (string, error) {
	u, err := url.Parse(rawURL)
	if err != nil {
		return "", errors.New("the address is not a URL")
	}
	var b strings.Builder
	for _, field := range []struct{ key, value string }{
		{"protocol", u.Scheme}, {"host", u.Host}, {"path", strings.TrimPrefix(u.Path, "/")}, {"username", user}, {"password", password},
	} {
		if strings.ContainsFunc(field.value, unicode.IsControl) {
			return "", fmt.Errorf("the %s holds control characters, which no credential helper is given", field.key)
		}
		if field.value != "" {
			fmt.Fprintf(&b, "%s=%s\n", field.key, field.value)
		}
	}
	return b.String() + "\n", nil
}

// helperPatience bounds a credential helper; what it leaves running keeps no
// command from ending.
const (
	helperPatience = 30 * time.Second
	helperDelay    = 200 * time.Millisecond
)

func gitCredential(ctx context.Context, verb, input string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, helperPatience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "git", "-c", "core.askPass=", "credential", verb)
	cmd.Env = append(os.Environ(), "GIT_TERMINAL_PROMPT=0", "GIT_ASKPASS=", "SSH_ASKPASS=", "GCM_INTERACTIVE=never")
	cmd.Stdin = strings.NewReader(input)
	cmd.WaitDelay = helperDelay
	var out bytes.Buffer
	cmd.Stdout = &out // stderr may repeat what was put in: not kept
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("git credential %s gave nothing", verb)
	}
	return out.String(), nil
}

// UserSignature is the person at the keyboard as git knows them (GIT_AUTHOR_*
// in the environment, then user.name and user.email), dated when, or as
// GIT_AUTHOR_DATE says. Where git knows nobody, the error says what to
// configure; any other names what hinders git. Without git the environment counts alone.
func UserSignature(ctx context.Context, when time.Time) (Signature, error) {
	cmd := exec.CommandContext(ctx, "git", "-c", "user.useConfigOnly=true", "var", "GIT_AUTHOR_IDENT")
	cmd.Env = append(os.Environ(), "LC_ALL=C") // what it says is read below
	out, err := cmd.Output()
	if err := ctx.Err(); err != nil {
		return Signature{}, err
	}
	if errors.Is(err, exec.ErrNotFound) {
		s := Signature{Name: os.Getenv("GIT_AUTHOR_NAME"), Email: os.Getenv("GIT_AUTHOR_EMAIL"), When: when}
		if s.Name == "" || s.Email == "" {
			return s, errors.New("git is not installed, so that nobody knows who you are: set GIT_AUTHOR_NAME and GIT_AUTHOR_EMAIL")
		}
		return s, nil
	}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		said := strings.TrimSpace(string(exit.Stderr))
		if containsAny(said, "tell me who you are", "empty ident") {
			return Signature{}, errors.New("git does not know who you are: run git config --global user.name \"…\" and git config --global user.email \"…\"")
		}
		err = fmt.Errorf("%w: %s", err, said[strings.LastIndexByte(said, '\n')+1:])
	}
	if err != nil {
		return Signature{}, fmt.Errorf("asking git who you are, to sign what you decide: %w", err)
	}
	s := parseSignature(strings.TrimSpace(string(out)))
	if os.Getenv("GIT_AUTHOR_DATE") == "" {
		s.When = when
	}
	return s, nil
}
