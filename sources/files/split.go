package files

import (
	"context"
	"errors"

	"microbatch/batch"
	"microbatch/sources"
)

// leftError says that the receiver of a stream has left it.
type leftError struct{}

func (leftError) Error() string { return "the stream was left" }

// split reads units of the files that it shares with the other splits of its range.
type split struct {
	work    *work
	rows    int64
	bytes   int64
	covered []int64 // by file
}

// Records yields the rows of one unit after the other, until none is left for anybody.
func (p *split) Records(ctx context.Context) batch.Stream {
	return func(yield func(batch.Chunk, error) bool) {
		p.work.enter()
		more, err := true, error(nil)
		for more && err == nil {
			more, err = p.next(ctx, yield)
		}
		if closing := p.work.leave(); err == nil && closing != nil {
			err = closing
		}
		switch {
		case err != nil && !left(err):
			yield(batch.Chunk{}, err)
		case err == nil:
			p.work.source.density.learn(p.bytes, p.rows)
		}
	}
}

func left(err error) bool { return errors.Is(err, leftError{}) }

// next reads one unit; false if there is none.
func (p *split) next(ctx context.Context, yield func(batch.Chunk, error) bool) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	t, ok, err := p.work.take(ctx, p)
	if err != nil || !ok {
		return false, err
	}
	if err := p.decode(ctx, t, yield); err != nil {
		return false, errors.Join(err, p.work.drop(t))
	}
	return true, p.work.finish(ctx, t)
}

// decode reads one unit to its end. leftError: the receiver wants no more.
func (p *split) decode(ctx context.Context, t task, yield func(batch.Chunk, error) bool) error {
	in, s := p.work.inputs[t.input], p.work.source
	f, done, err := in.codecFile()
	if err != nil {
		return s.fileError(in.file, err)
	}
	defer done()
	var seen int64
	for chunk, err := range s.config.Format.Decode(ctx, f, t.unit, s.declared, s.config.Alloc, &seen) {
		if err != nil {
			return in.explain(ctx, err)
		}
		if !yield(chunk, nil) {
			return leftError{}
		}
	}
	p.rows += seen
	p.bytes += t.unit.To - t.unit.From
	p.covered[t.input] += t.unit.To - t.unit.From
	return nil
}

// Reached lists all files of the range, because the splits share them.
func (p *split) Reached() sources.Position {
	units := make([]sources.Unit, len(p.covered))
	for i, in := range p.work.inputs {
		units[i] = sources.Unit{Name: in.name, Want: in.file.size, Covered: p.covered[i]}
	}
	return sources.Position{Rows: p.rows, Units: units}
}
