package column

import (
	"math"
	"math/rand"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
)

// TestInstantsAreWrittenAsPackageTimeDoes: every day that a column can hold, and any microsecond, also beyond.
func TestInstantsAreWrittenAsPackageTimeDoes(t *testing.T) {
	check := func(micros int64) {
		t.Helper()
		want := time.UnixMicro(micros).UTC().Format("2006-01-02T15:04:05.999999")
		if got := string(AppendInstant([]byte("x"), micros)); got != "x"+want {
			t.Fatalf("%d: %s, want %s", micros, got, want)
		}
	}
	for _, days := range []int32{math.MinInt32, math.MaxInt32, -719163, 2932897} {
		if got, want := string(AppendDate(nil, days)), arrow.Date32(days).ToTime().Format(time.DateOnly); got != want {
			t.Errorf("day %d: %s, want %s", days, got, want)
		}
	}
	rng := rand.New(rand.NewSource(1))
	for day := int64(minSecond); day <= maxSecond; day += secondsPerDay {
		days := int32(day / secondsPerDay)
		if got, want := string(AppendDate(nil, days)), time.Unix(day, 0).UTC().Format(time.DateOnly); got != want {
			t.Fatalf("day %d: %s, want %s", days, got, want)
		}
		check((day + rng.Int63n(secondsPerDay)) * microsPerSecond)
	}
	for range 30_000 {
		micros := (minSecond + rng.Int63n(maxSecond-minSecond+1)) * microsPerSecond
		for unit := int64(1); unit < microsPerSecond; unit *= 10 { // fractions of any length
			check(micros + rng.Int63n(microsPerSecond/unit)*unit)
		}
	}
	for _, micros := range []int64{0, -1, 1, minSecond * microsPerSecond, minSecond*microsPerSecond - 1, (maxSecond + 1) * microsPerSecond, (maxSecond+1)*microsPerSecond - 1, math.MinInt64, math.MaxInt64} {
		check(micros)
	}
}

func BenchmarkAppendInstant(b *testing.B) {
	var text []byte
	micros := int64(1_760_000_000_123_456)
	for b.Loop() {
		text = AppendInstant(text[:0], micros)
		micros += 1_234_567
	}
}

// TestFloatsAreWrittenAsTheShortestText: prices and the like, and what looks like them and is not.
func TestFloatsAreWrittenAsTheShortestText(t *testing.T) {
	rng := rand.New(rand.NewSource(1))
	check := func(v float64) {
		t.Helper()
		if got, want := string(AppendFloat([]byte("x"), v, 64)), "x"+string(shortest(nil, v, 64)); got != want {
			t.Fatalf("%x: %s, want %s", v, got, want)
		}
	}
	for range 100_000 {
		digits := rng.Int63n(int64(math.Pow10(1 + rng.Intn(17))))
		v := float64(digits) / math.Pow10(rng.Intn(8))
		for _, v := range []float64{v, -v, math.Nextafter(v, 0), math.Nextafter(v, math.Inf(1)), math.Float64frombits(rng.Uint64())} {
			if !math.IsNaN(v) && !math.IsInf(v, 0) {
				check(v)
			}
		}
	}
	for _, v := range []float64{0, math.Copysign(0, -1), 1, 0.01, 0.1, 0.29, 1.005, 1e15, 1e13, 9999999999999.99, 1e21, 1e20, 1e-6, 1e-7, math.MaxFloat64, math.SmallestNonzeroFloat64} {
		check(v)
		check(-v)
	}
}

func BenchmarkAppendFloat(b *testing.B) {
	var text []byte
	cents := 0
	for b.Loop() {
		text = AppendFloat(text[:0], float64(cents)/100, 64)
		cents = (cents + 12345) % 100_000
	}
}
