package resolver

import "testing"

func TestMetBy(t *testing.T) {
	issuer := GVK{APIVersion: "cert-manager.io/v1", Kind: "Issuer"}
	db := &Package{Package: "db", Version: "1.4.0", Provides: []Provide{{Interface: "example.com/sql", Version: "2.1.0"}, {GVK: &issuer}}}
	for name, c := range map[string]struct {
		r    Requirement
		want bool
	}{
		"by name":               {Requirement{Package: "db"}, true},
		"in range":              {Requirement{Package: "db", Version: "^1.2"}, true},
		"out of range":          {Requirement{Package: "db", Version: "^2"}, false},
		"the default":           {Requirement{Package: "db", Version: "^2", Default: "1.4.0"}, true},
		"no range":              {Requirement{Package: "db", Version: "nonsense"}, false},
		"another":               {Requirement{Package: "dns"}, false},
		"an interface":          {Requirement{Interface: &Interface{ID: "example.com/sql", Version: "^2"}}, true},
		"of another version":    {Requirement{Interface: &Interface{ID: "example.com/sql", Version: "^3"}}, false},
		"another implements it": {Requirement{Package: "pg", Version: "^9", Interface: &Interface{ID: "example.com/sql"}}, true},
		"an API":                {Requirement{GVK: &issuer}, true},
		"another API":           {Requirement{GVK: &GVK{APIVersion: "v1", Kind: "Pod"}}, false},
		"a platform":            {Requirement{Platform: "db", Version: "1"}, false},
		"one of several":        {Requirement{AnyOf: []Requirement{{Package: "dns"}, {Package: "db", Version: "1.x"}}}, true},
		"none of several":       {Requirement{AnyOf: []Requirement{{Package: "dns"}}}, false},
	} {
		if got := c.r.MetBy(db); got != c.want {
			t.Errorf("%s: %s: %t", name, c.r.Asks(), got)
		}
	}
	pre := &Package{Package: "db", Version: "2.0.0-rc.1"}
	if (&Requirement{Package: "db", Version: "^2"}).MetBy(pre) || !(&Requirement{Package: "db", Version: "^2-0"}).MetBy(pre) {
		t.Error("prereleases are met where the range names one")
	}
	if (&Requirement{Package: "db", Version: "^1"}).MetBy(&Package{Package: "db", Version: "main"}) {
		t.Error("what is no version is in no range")
	}
}
