package probe

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"time"

	"github.com/google/uuid"

	"microbatch/internal/errcode"
	"microbatch/objstore"
)

// Dir is where the probe's key is, below the store's root: a fresh one each time, removed afterwards.
const Dir = "_engine/probe/"

// racers is how many creates race. Each is a put of its own with an identity and content of its own.
const racers = 16

// Check returns nil if the store creates objects atomically, an error of code StoreNotAtomic that says what it did instead, or the store's own error if it could
// not be asked.
func Check(ctx context.Context, s objstore.Store) (err error) {
	key := Dir + uuid.NewString()
	defer func() { err = errors.Join(err, remove(ctx, s, key)) }()
	winner, err := race(ctx, s, key)
	if err != nil {
		return err
	}
	if err := again(ctx, s, key); err != nil {
		return err
	}
	got, err := s.Get(ctx, key)
	if err != nil {
		return fmt.Errorf("probe: read back: %w", err)
	}
	if !bytes.Equal(got, content(winner)) {
		return refuse(s, "the create that was granted is not the one that is stored")
	}
	return nil
}

func race(ctx context.Context, s objstore.Store, key string) (winner int, err error) {
	errs := make([]error, racers)
	var group sync.WaitGroup
	for i := range racers {
		group.Go(func() { errs[i] = s.PutIfAbsent(ctx, key, content(i)) })
	}
	group.Wait()
	winners, losers := 0, 0
	for i, err := range errs {
		switch {
		case err == nil:
			winner = i
			winners++
		case errors.Is(err, fs.ErrExist):
			losers++
		}
	}
	switch {
	case winners > 1:
		return 0, refuse(s, "of %d concurrent creates of one key %d succeeded", racers, winners)
	case winners+losers < racers:
		return 0, fmt.Errorf("probe: %d concurrent creates of one key: %w", racers, firstTrouble(errs))
	case winners == 0:
		return 0, refuse(s, "of %d concurrent creates of one fresh key none succeeded", racers)
	}
	return winner, nil
}

func firstTrouble(errs []error) error {
	for _, err := range errs {
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return nil
}

// again creates what exists.
func again(ctx context.Context, s objstore.Store, key string) error {
	err := s.PutIfAbsent(ctx, key, []byte("a second create"))
	switch {
	case err == nil:
		return refuse(s, "a second create of an existing key succeeded: the condition If-None-Match is ignored")
	case errors.Is(err, fs.ErrExist):
		return nil
	}
	return fmt.Errorf("probe: second create: %w", err)
}

func content(i int) []byte { return fmt.Appendf(nil, "microbatch probe, racer %d\n", i) }

func refuse(s objstore.Store, format string, args ...any) error {
	return errcode.StoreNotAtomic.New(s.URL(), format, args...)
}

// remove works after ctx has ended too.
func remove(ctx context.Context, s objstore.Store, key string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	if err := s.Delete(ctx, key); err != nil {
		return fmt.Errorf("probe: remove its key: %w", err)
	}
	return nil
}
