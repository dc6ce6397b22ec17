package histories

import (
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	prepare()
	os.Exit(m.Run())
}
