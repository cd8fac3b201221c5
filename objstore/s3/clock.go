package s3

import (
	"net/http"
	"sync/atomic"
	"time"
)

// answers is a transport that remembers the date of the newest answer.
type answers struct {
	http.RoundTripper
	date atomic.Pointer[string]
}

func (a *answers) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := a.RoundTripper.RoundTrip(r)
	if err == nil {
		date := resp.Header.Get("Date")
		a.date.Store(&date)
	}
	return resp, err
}

// Clock is the date of the newest answer, to the second; the zero time if it has none.
func (s *Store) Clock() time.Time {
	date := s.answered.date.Load()
	if date == nil {
		return time.Time{}
	}
	t, err := http.ParseTime(*date)
	if err != nil {
		return time.Time{}
	}
	return t
}
