package report

import "time"

// window is how far back the live rate looks.
const window = 5 * time.Second

// meter is a rate over the last few seconds.
type meter struct {
	samples []sample
}

type sample struct {
	at   time.Time
	rows int64
}

// add notes how many rows there have been in all until now, and returns the rate per second.
func (m *meter) add(now time.Time, rows int64) float64 {
	m.samples = append(m.samples, sample{now, rows})
	for len(m.samples) > 2 && now.Sub(m.samples[1].at) >= window {
		m.samples = m.samples[1:]
	}
	first := m.samples[0]
	if d := now.Sub(first.at).Seconds(); d > 0 && rows > first.rows {
		return float64(rows-first.rows) / d
	}
	return 0
}
