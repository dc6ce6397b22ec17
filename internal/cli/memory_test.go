package cli

import "testing"

func TestPercentFor(t *testing.T) {
	for held, want := range map[uint64]int{
		0: gcPercent, 1 << 20: gcPercent, 24 << 20: gcPercent, 48 << 20: 200, 96 << 20: 100, 192 << 20: 50, 1 << 30: leastPercent, 8 << 30: leastPercent,
	} {
		if got := percentFor(held); got != want {
			t.Errorf("%d MiB held: %d%%, want %d%%", held>>20, got, want)
		}
	}
}
