package merge

import "testing"

// TestGuessedKeys: without a schema, these fields tell the items of a list
// apart; one that changed places on one side is changed on the other.
func TestGuessedKeys(t *testing.T) {
	one := []string{
		"name", "id", "key", "type", "conditionType", "alias", "mountPath", "devicePath", "containerPort", "ip", "topologyKey", "host", "path", "port", "url", "kind",
	}
	cases := map[string]valueCase{}
	for _, key := range one {
		a, b := "{"+key+": a, v: ", "{"+key+": b, v: 1}"
		cases[key] = valueCase{base: "[" + a + "1}, " + b + "]", upstream: "[" + a + "2}, " + b + "]", local: "[" + b + ", " + a + "1}]", want: "[" + b + ", " + a + "2}]"}
	}
	two := [][2]string{{"name", "kind"}, {"name", "namespace"}, {"host", "path"}, {"port", "protocol"}, {"kind", "group"}, {"kind", "apiVersion"}}
	for _, k := range two {
		a, b, c := "{"+k[0]+": a, "+k[1]+": c, v: ", "{"+k[0]+": a, "+k[1]+": d, v: 1}", "{"+k[0]+": b, "+k[1]+": c, v: 1}"
		cases[k[0]+" and "+k[1]] = valueCase{
			base: "[" + a + "1}, " + b + ", " + c + "]", upstream: "[" + a + "2}, " + b + ", " + c + "]",
			local: "[" + c + ", " + b + ", " + a + "1}]", want: "[" + c + ", " + b + ", " + a + "2}]",
		}
	}
	runValues(t, thing, "spec.v", cases)
}
