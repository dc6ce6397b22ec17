package gitrepo

import (
	"bytes"
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"time"
)

// CredentialFunc gives the user and password for an http(s) address without
// userinfo. Both empty means that there are none.
type CredentialFunc func(ctx context.Context, url string) (user, password string, err error)

// helperCredentials asks git's credential helpers, never the terminal.
func helperCredentials(ctx context.Context, rawURL, user string) (string, string, error) {
	out, err := gitCredential(ctx, "fill", credentialInput(rawURL, user, ""))
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

// tellHelpers says whether a credential that the helpers gave has worked.
func tellHelpers(ctx context.Context, worked bool, rawURL, user, password string) {
	verb := "reject"
	if worked {
		verb = "approve"
	}
	_, _ = gitCredential(ctx, verb, credentialInput(rawURL, user, password)) // the helpers' own affair
}

func credentialInput(rawURL, user, password string) string {
	u, err := url.Parse(rawURL)
	if err != nil {
		return "\n"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "protocol=%s\nhost=%s\npath=%s\n", u.Scheme, u.Host, strings.TrimPrefix(u.Path, "/"))
	if user != "" {
		fmt.Fprintf(&b, "username=%s\n", user)
	}
	if password != "" {
		fmt.Fprintf(&b, "password=%s\n", password)
	}
	return b.String() + "\n"
}

func gitCredential(ctx context.Context, verb, input string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, "git", "-c", "core.askPass=", "credential", verb)
	cmd.Env = append(os.Environ(), "GIT_TERMINAL_PROMPT=0", "GIT_ASKPASS=", "SSH_ASKPASS=", "GCM_INTERACTIVE=never")
	cmd.Stdin = strings.NewReader(input)
	var out bytes.Buffer
	cmd.Stdout = &out // stderr may repeat what was put in: not kept
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("git credential %s gave nothing", verb)
	}
	return out.String(), nil
}

// UserSignature is the person at the keyboard as git knows them (GIT_AUTHOR_*
// in the environment, then user.name and user.email), dated when. It fails where
// git knows nobody, and says what to configure.
func UserSignature(ctx context.Context, when time.Time) (Signature, error) {
	cmd := exec.CommandContext(ctx, "git", "-c", "user.useConfigOnly=true", "var", "GIT_AUTHOR_IDENT")
	out, err := cmd.Output()
	if err != nil {
		return Signature{}, fmt.Errorf("git does not know who you are: run git config --global user.name \"…\" and git config --global user.email \"…\"")
	}
	s := parseSignature(strings.TrimSpace(string(out)))
	s.When = when
	return s, nil
}
