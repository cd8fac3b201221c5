package main

import (
	"context"

	"microbatch/internal/bench/report"
)

// transformSQL filters one row of ten away and computes three expressions.
const transformSQL = "SELECT id, ts, user_id % 1000 AS user_id, event, lower(country) AS country, amount * 1.19 AS amount, url, session FROM batch WHERE amount >= 100"

func transformed() input {
	in := plain()
	in.query = transformSQL
	return in
}

// measureTransform runs the same file with and without a sql step in turns. What the step gives is compared with what DuckDB itself gives.
func measureTransform(ctx context.Context, b *bench) ([]report.Samples, error) {
	in := transformed()
	from, err := in.make(ctx, b)
	if err != nil {
		return nil, err
	}
	if err := b.sameAsDuckDB(ctx, in, from); err != nil {
		return nil, err
	}
	var rate, cpu report.Samples
	for round := range b.rounds {
		with, _, err := b.copyByUs(ctx, in, from)
		if err != nil {
			return nil, err
		}
		without, _, err := b.copyByUs(ctx, plain(), from)
		if err != nil {
			return nil, err
		}
		b.say("  round %d: with sql %.3f s, without %.3f s", round+1, with.wall.Seconds(), without.wall.Seconds())
		rows := float64(in.count(b))
		rate.Add(rows/with.wall.Seconds(), rows/without.wall.Seconds())
		cpu.Add(with.cpu.Seconds(), without.cpu.Seconds())
	}
	return []report.Samples{rate, cpu}, b.removeAll("copy-ours")
}

// sameAsDuckDB runs both sides once and compares their rows.
func (b *bench) sameAsDuckDB(ctx context.Context, in input, from string) error {
	if _, _, err := b.copyByUs(ctx, in, from); err != nil {
		return err
	}
	dir, err := b.fresh("copy-peer")
	if err != nil {
		return err
	}
	if _, err := b.copyByDuckDB(ctx, in, from, dir); err != nil {
		return err
	}
	if err := sameRows(ctx, in.hash, b.dir+"/copy-ours/table/**/*.parquet", b.dir+"/copy-peer/**/*.parquet"); err != nil {
		return err
	}
	return b.removeAll("copy-peer")
}
