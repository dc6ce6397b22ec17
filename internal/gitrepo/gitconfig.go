package gitrepo

import (
	"context"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// gitConfig holds the settings of Git's configuration about how servers are reached, as git reads
// them in the current folder: of the machine, of the user, and of the repository around it.
type gitConfig struct {
	instead []setting // url.<base>.insteadOf: of is the base, value what it replaces
	http    []setting // http.<url>.extraHeader and http.<url>.proxy, in their order
	ssh     string    // core.sshCommand
}

// setting is one value of the configuration; of is the middle of its name, "" for none.
type setting struct{ of, name, value string }

// readGitConfig asks git. Without git, or with a configuration that it cannot read, there are
// no settings: git itself reports what is wrong with it.
func readGitConfig(ctx context.Context) (c gitConfig) {
	out, err := exec.CommandContext(ctx, "git", "config", "--null", "--list").Output()
	if err != nil {
		return c
	}
	for entry := range strings.SplitSeq(string(out), "\x00") {
		key, value, _ := strings.Cut(entry, "\n")
		section, rest, _ := strings.Cut(key, ".")
		s := setting{name: rest, value: value}
		if dot := strings.LastIndexByte(rest, '.'); dot >= 0 {
			s.of, s.name = rest[:dot], rest[dot+1:]
		}
		switch {
		case section == "url" && s.name == "insteadof":
			c.instead = append(c.instead, s)
		case section == "http" && (s.name == "extraheader" || s.name == "proxy"):
			c.http = append(c.http, s)
		case key == "core.sshcommand":
			c.ssh = value
		}
	}
	return c
}

// address returns an address after insteadOf: the setting with the longest matching prefix
// replaces that prefix.
func (c *gitConfig) address(raw string) string {
	out, longest := raw, 0
	for _, s := range c.instead {
		if rest, ok := strings.CutPrefix(raw, s.value); ok && len(s.value) > longest {
			out, longest = s.of+rest, len(s.value)
		}
	}
	return out
}

// values lists the values of a setting for an address, as git takes them: in order, without
// those that are less specific than one before, and an empty one drops those before it. set
// reports whether there is any, be it empty.
func (c *gitConfig) values(name string, u *url.URL) (values []string, set bool) {
	best := 0
	for _, s := range c.http {
		if n, ok := matches(s.of, u); s.name == name && ok && n >= best {
			if best, set = n, true; s.value == "" {
				values = nil
			} else {
				values = append(values, s.value)
			}
		}
	}
	return values, set
}

// matches reports whether an address is below that of a setting, and how specific it is: by
// host, then by path, then by user. The host of a setting may have labels *.
func matches(of string, u *url.URL) (specific int, ok bool) {
	if of == "" {
		return 0, true
	}
	want, err := url.Parse(of)
	if err != nil || !strings.EqualFold(want.Scheme, u.Scheme) || portOf(want) != portOf(u) {
		return 0, false
	}
	labels, its := strings.Split(strings.ToLower(want.Hostname()), "."), strings.Split(strings.ToLower(u.Hostname()), ".")
	if len(labels) != len(its) {
		return 0, false
	}
	host := 0
	for i, label := range labels {
		switch {
		case label == its[i]:
			host += len(label) + 1
		case label != "*":
			return 0, false
		}
	}
	path := strings.TrimSuffix(want.Path, "/")
	if rest, below := strings.CutPrefix(u.Path, path); !below || rest != "" && rest[0] != '/' {
		return 0, false
	}
	specific = 1 + host<<24 + len(path)<<1
	if name := want.User.Username(); name != "" {
		if name != u.User.Username() {
			return 0, false
		}
		specific++
	}
	return specific, true
}

func portOf(u *url.URL) string {
	if p := u.Port(); p != "" {
		return p
	}
	return map[string]string{"http": "80", "https": "443"}[strings.ToLower(u.Scheme)]
}

// headers adds the headers that Git's configuration has for an address, and reports whether
// one of them is a login.
func (c *gitConfig) headers(req *http.Request) (login bool) {
	values, _ := c.values("extraheader", req.URL)
	for _, v := range values {
		key, value, ok := strings.Cut(v, ":")
		if key = http.CanonicalHeaderKey(strings.TrimSpace(key)); ok && key != "" {
			req.Header.Add(key, strings.TrimSpace(value))
			login = login || key == "Authorization"
		}
	}
	return login
}

// secrets lists what no message may hold of the headers: each whole, and its last word.
func (c *gitConfig) secrets() (out []string) {
	for _, s := range c.http {
		_, value, _ := strings.Cut(s.value, ":")
		if value = strings.TrimSpace(value); s.name == "extraheader" && value != "" {
			out = append(out, value, value[strings.LastIndexByte(value, ' ')+1:])
		}
	}
	return out
}

// proxy returns the proxy for a request: Git's configuration goes before the environment.
func (c *gitConfig) proxy(req *http.Request) (*url.URL, error) {
	values, set := c.values("proxy", req.URL)
	switch {
	case !set:
		return http.ProxyFromEnvironment(req)
	case len(values) == 0:
		return nil, nil
	}
	address := values[len(values)-1]
	if !strings.Contains(address, "://") {
		address = "http://" + address
	}
	return url.Parse(address)
}

// netrcLogin returns the login that the user's .netrc has for the host of an address, "" for
// none.
func netrcLogin(address string) (user, password string) {
	u, err := url.Parse(address)
	if err != nil {
		return "", ""
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", ""
	}
	data, err := os.ReadFile(filepath.Join(home, ".netrc"))
	if err != nil {
		return "", ""
	}
	return parseNetrc(string(data), u.Hostname())
}

// parseNetrc reads the first entry for a host, or else the default one.
func parseNetrc(text, host string) (user, password string) {
	var words []string
	macro := false
	for line := range strings.Lines(text) {
		if macro = macro && strings.TrimSpace(line) != ""; macro {
			continue // the lines of a macdef end with an empty one
		}
		for _, word := range strings.Fields(line) {
			if strings.HasPrefix(word, "#") {
				break
			}
			if macro = word == "macdef"; macro {
				break
			}
			words = append(words, word)
		}
	}
	its := false
	for i := 0; i < len(words); i++ {
		value := ""
		if i+1 < len(words) {
			value = words[i+1]
		}
		switch words[i] {
		case "default":
			if its {
				return user, password
			}
			its = true
			continue
		case "machine":
			if its {
				return user, password
			}
			its = strings.EqualFold(value, host)
		case "login":
			if its {
				user = value
			}
		case "password":
			if its {
				password = value
			}
		}
		i++
	}
	return user, password
}
