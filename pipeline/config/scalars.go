package config

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"microbatch/internal/secret"
)

// Duration is a length of time: 500ms, 30s, 15m, 1h, 7d, and sums such as 1h30m.
type Duration time.Duration

func (d *Duration) forms() string   { return "a duration such as 30s, 15m, 1h or 7d" }
func (d *Duration) pattern() string { return `^(0|([0-9]+(\.[0-9]+)?(ms|s|m|h|d))+)$` }

// maxDays is a century: more is a slip of the hand, and much more would not fit.
const maxDays = 36525

func (d *Duration) parse(word string) error {
	rest, days := word, time.Duration(0)
	if n, after, ok := strings.Cut(word, "d"); ok {
		count, err := strconv.ParseInt(n, 10, 32)
		switch {
		case err != nil:
			return errors.New("not a duration")
		case count < 0:
			return errors.New("a negative duration")
		case count > maxDays:
			return errors.New("too long a duration")
		}
		days, rest = time.Duration(count)*24*time.Hour, after
	}
	if rest == "" {
		*d = Duration(days)
		return nil
	}
	t, err := time.ParseDuration(rest)
	switch {
	case err != nil && onlyDigits.MatchString(word):
		return errors.New("a number without a unit")
	case err != nil:
		return errors.New("not a duration")
	case t < 0:
		return errors.New("a negative duration")
	case t > maxDays*24*time.Hour:
		return errors.New("too long a duration")
	}
	*d = Duration(days + t)
	return nil
}

var onlyDigits = regexp.MustCompile(`^[0-9]+$`)

// D is the duration as the standard library has it.
func (d Duration) D() time.Duration { return time.Duration(d) }

// Size is a number of bytes: 500, 64kB, 64MB (10^6), 64MiB (2^20), 1GiB.
type Size int64

func (s *Size) forms() string   { return "a size such as 500MB, 64MiB or 1GiB" }
func (s *Size) pattern() string { return `^[0-9]+(\.[0-9]+)?([kKMGT]i?B|B)?$` }

var sizeForm = regexp.MustCompile(`^([0-9]+(?:\.[0-9]+)?) ?(?:([kKMGT])(i?)B|B)?$`)

func (s *Size) parse(word string) error {
	m := sizeForm.FindStringSubmatch(strings.ReplaceAll(word, "_", ""))
	if m == nil {
		return errors.New("not a size")
	}
	n, err := strconv.ParseFloat(m[1], 64)
	if err != nil {
		return errors.New("not a size")
	}
	step := 1000.0
	if m[3] == "i" {
		step = 1024
	}
	for range strings.Index("kMGT", strings.Replace(m[2], "K", "k", 1)) + min(1, len(m[2])) {
		n *= step
	}
	if n > 1<<62 {
		return errors.New("too large a size")
	}
	*s = Size(n)
	return nil
}

// Ceiling is a number of rows, or a share of them: 1000 or 1%.
type Ceiling struct {
	Rows  int64   // 0 if a share was given
	Share float64 // between 0 and 1
	Set   bool
}

func (c *Ceiling) forms() string   { return "a number of rows such as 1000, or a share such as 1%" }
func (c *Ceiling) pattern() string { return `^[0-9]+(\.[0-9]+)?%?$` }

func (c *Ceiling) parse(word string) error {
	if share, ok := strings.CutSuffix(word, "%"); ok {
		x, err := strconv.ParseFloat(strings.TrimSpace(share), 64)
		if err != nil || !(x >= 0 && x <= 100) { // NaN is no share either
			return errors.New("not a share between 0% and 100%")
		}
		*c = Ceiling{Share: x / 100, Set: true}
		return nil
	}
	n, ok := wholeNumber(word)
	if !ok || n < 0 {
		return errors.New("not a number of rows")
	}
	*c = Ceiling{Rows: n, Set: true}
	return nil
}

// Time is a moment: 2026-01-31T12:00:00Z, or a date, which is its midnight in UTC.
type Time struct{ time.Time }

func (t *Time) forms() string {
	return "a time such as 2026-01-31T12:00:00Z or a date such as 2026-01-31"
}
func (t *Time) pattern() string { return `^[0-9]{4}-[0-9]{2}-[0-9]{2}([T ].+)?$` }

func (t *Time) parse(word string) error {
	for _, form := range []string{time.RFC3339Nano, time.DateOnly} {
		if x, err := time.Parse(form, word); err == nil {
			t.Time = x.UTC()
			return nil
		}
	}
	return errors.New("not a time")
}

// Secret is a password or key, given as a reference: env:NAME is an environment variable, file:PATH a file's content.
type Secret struct {
	Reference string
	value     secret.Secret
}

// Value is the secret, or the zero Secret if none was configured.
func (s Secret) Value() secret.Secret { return s.value }

func (s *Secret) forms() string        { return "a reference env:NAME or file:PATH, not the secret itself" }
func (s *Secret) pattern() string      { return `^(env|file):.+$` }
func (s *Secret) parse(_ string) error { return errors.New("secrets are resolved by the decoder") }

func (s *Secret) resolve(reference string) error {
	value, err := secret.Resolve(reference)
	if err != nil {
		return err
	}
	if value.IsZero() {
		return fmt.Errorf("%s is empty", reference)
	}
	*s = Secret{reference, value}
	return nil
}

// ParseDuration reads a duration as the pipeline file writes it.
func ParseDuration(word string) (Duration, error) {
	var d Duration
	err := d.parse(word)
	return d, err
}

// ParseSize reads a size as the pipeline file writes it.
func ParseSize(word string) (Size, error) {
	var s Size
	err := s.parse(word)
	return s, err
}

// ParseTime reads a time as the pipeline file writes it.
func ParseTime(word string) (Time, error) {
	var t Time
	err := t.parse(word)
	return t, err
}
