package files

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"microbatch/checkpointlog"
	"microbatch/internal/errcode"
	"microbatch/schema"
)

// pinKey holds an inferred schema in sources/<n>/.
const pinKey = "schema"

// pin is the content of pinKey.
type pin struct {
	Schema string `json:"schema"`
}

// findSchema takes the declared schema, or the pinned one, or infers it.
func (s *Source) findSchema(ctx context.Context) error {
	if s.config.Schema != nil {
		return nil
	}
	data, err := s.own.Get(ctx, pinKey)
	switch {
	case err == nil:
		return s.takePin(data)
	case errors.Is(err, fs.ErrNotExist):
		return s.infer(ctx)
	}
	return fmt.Errorf("files source: read the pinned schema: %w", err)
}

func (s *Source) takePin(data []byte) error {
	var p pin
	err := checkpointlog.Unseal(data, &p)
	if err == nil {
		s.declared, err = schema.ParseDDL(p.Schema)
	}
	if err != nil {
		return errcode.PinDamaged.Wrap(err, s.own.URL()+"/"+pinKey, "")
	}
	s.inferred = true
	return nil
}

// infer reads the beginning of the first file in plan order, whether it was seen or not.
func (s *Source) infer(ctx context.Context) error {
	var first file
	for info, err := range s.config.Store.List(ctx, s.pattern.prefix, "") {
		if errors.Is(err, fs.ErrNotExist) {
			break
		}
		if err != nil {
			return s.listingError(err)
		}
		if hidden(info.Key) || info.Size == 0 || !s.pattern.matches(info.Key) {
			continue
		}
		if f := fileOf(info); first.key == "" || inPlanOrder(f, first) < 0 {
			first = f
		}
	}
	if first.key == "" {
		return errcode.NoSample.New(s.root.uri(s.config.Glob), "no file with content matches")
	}
	in := newInput(s, first)
	if err := in.open(ctx); err != nil {
		return err
	}
	defer in.close()
	f, done, err := in.codecFile()
	if err != nil {
		return err
	}
	defer done()
	if s.declared, err = s.config.Format.Infer(ctx, f); err != nil {
		return fmt.Errorf("files source: infer a schema from %s: %w", in.name, s.fileError(first, err))
	}
	s.inferred = true
	return nil
}

// pinSchema makes an inferred schema durable.
func (s *Source) pinSchema(ctx context.Context) error {
	if !s.inferred {
		return nil
	}
	ours := schema.FormatDDL(s.declared)
	data, err := checkpointlog.Seal(pin{ours})
	if err != nil {
		return fmt.Errorf("files source: %w", err)
	}
	err = s.own.PutIfAbsent(ctx, pinKey, data)
	if !errors.Is(err, fs.ErrExist) {
		if err != nil {
			return fmt.Errorf("files source: pin the schema: %w", err)
		}
		return nil
	}
	if err := s.own.Sync(ctx, pinKey); err != nil {
		return fmt.Errorf("files source: pin the schema: %w", err)
	}
	if data, err = s.own.Get(ctx, pinKey); err != nil {
		return fmt.Errorf("files source: read the pinned schema: %w", err)
	}
	if err := s.takePin(data); err != nil {
		return err
	}
	if theirs := schema.FormatDDL(s.declared); theirs != ours {
		return errcode.SchemaRaced.New(s.own.URL()+"/"+pinKey, "it holds %s, and %s was inferred", theirs, ours)
	}
	return nil
}
