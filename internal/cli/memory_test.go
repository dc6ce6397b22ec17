package cli

import "testing"

func TestPercentFor(t *testing.T) {
	for held, want := range map[uint64]int{
		0: gcPercent, 1 << 20: gcPercent, 18 << 20: gcPercent, 36 << 20: 200, 72 << 20: 100, 144 << 20: 50, 1 << 30: leastPercent, 8 << 30: leastPercent,
	} {
		if got := percentFor(held); got != want {
			t.Errorf("%d MiB held: %d%%, want %d%%", held>>20, got, want)
		}
	}
}
