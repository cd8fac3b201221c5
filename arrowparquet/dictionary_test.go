package arrowparquet

import (
	"math/rand/v2"
	"testing"
)

// TestDictionaryNumbersLikeAMap: strings have numbers in order of appearance, also those that differ in zeros at their end, or beyond what the quick look compares.
func TestDictionaryNumbersLikeAMap(t *testing.T) {
	begin := []string{"", "ab", "\x00", "https://shop.example.com/", "\xff\xff\xff\xff\xff\xff\xff\xff\xff"}
	for seed := range uint64(600) {
		rng := rand.New(rand.NewPCG(seed, 1))
		begins, width, letters := 1+rng.IntN(len(begin)), 1+rng.IntN(20), 1+rng.IntN(8)
		d, numbers := newDictionary(), map[string]int32{}
		for range 3 { // each with memory of its own, as pages have
			var data []byte
			offs := []uint32{0}
			for range 300 {
				data = append(data, begin[rng.IntN(begins)]...)
				for range rng.IntN(width) {
					data = append(data, "\x00abc1\xffzy"[rng.IntN(letters)])
				}
				offs = append(offs, uint32(len(data)))
			}
			for i := range len(offs) - 1 {
				s := string(data[offs[i]:offs[i+1]])
				want, ok := numbers[s]
				if !ok {
					want = int32(len(numbers))
					numbers[s] = want
				}
				if got := d.find(data, offs[i], offs[i+1]); got != want {
					t.Fatalf("seed %d: %q is number %d, want %d", seed, s, got, want)
				}
			}
		}
		if d.n() != len(numbers) {
			t.Fatalf("seed %d: %d entries, want %d", seed, d.n(), len(numbers))
		}
	}
}
