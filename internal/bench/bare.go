package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"syscall"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"golang.org/x/sync/errgroup"

	"microbatch/arrowparquet"
	jsoncodec "microbatch/codec/json"
	"microbatch/schema"
)

// bareKafkaCommand is the hidden command that times the steps of Kafka to table one by one.
const bareKafkaCommand = "bare-kafka"

// bareTimes are seconds of each step alone, with two threads. Raw is to fetch without unpacking; CPU is the processor time of the other three.
type bareTimes struct{ Raw, Fetch, Decode, Encode, CPU float64 }

func (t bareTimes) String() string {
	return fmt.Sprintf("fetch %.3f s and unpacked %.3f s, decode %.3f s, encode %.3f s, %.2f CPU s", t.Raw, t.Fetch, t.Decode, t.Encode, t.CPU)
}

// bareKafkaMain fetches a topic without looking into its records, decodes the same rows from memory, and encodes them into files.
func bareKafkaMain(ctx context.Context, args []string) error {
	rows, err := strconv.Atoi(args[2])
	if err != nil {
		return err
	}
	values, ends := bareValues(rows)
	var t bareTimes
	if t.Raw, err = timed(func() error { return fetchAll(ctx, args[0], args[1], int64(rows), false) }); err != nil {
		return err
	}
	before := processorTime()
	if t.Fetch, err = timed(func() error { return fetchAll(ctx, args[0], args[1], int64(rows), true) }); err != nil {
		return err
	}
	var records [2][]arrow.RecordBatch
	if t.Decode, err = timed(func() error { return decodeAll(values, ends, &records) }); err != nil {
		return err
	}
	if t.Encode, err = timed(func() error { return encodeAll(&records) }); err != nil {
		return err
	}
	t.CPU = processorTime() - before
	return json.NewEncoder(os.Stdout).Encode(t)
}

func timed(do func() error) (float64, error) {
	begin := time.Now()
	err := do()
	return time.Since(begin).Seconds(), err
}

// processorTime is what this process has used so far, in seconds.
func processorTime() float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()).Seconds()
}

// bareValues are the values of the topic in one piece of memory, and where each ends.
func bareValues(rows int) (values []byte, ends []int) {
	g := newGenerator(3)
	for range rows {
		values = g.append(values)
		values = values[:len(values)-1]
		ends = append(ends, len(values))
	}
	return values, ends
}

// decodeAll decodes half of the values in each of two goroutines.
func decodeAll(values []byte, ends []int, records *[2][]arrow.RecordBatch) error {
	declared, err := schema.ParseDDL(eventsDDL)
	if err != nil {
		return err
	}
	var group errgroup.Group
	for half := range 2 {
		group.Go(func() error {
			d, err := jsoncodec.New(jsoncodec.Options{}).NewDecoder(declared, memory.DefaultAllocator)
			if err != nil {
				return err
			}
			defer d.Release()
			from, to := half*len(ends)/2, (half+1)*len(ends)/2
			for i := from; i < to; i++ {
				begin := 0
				if i > 0 {
					begin = ends[i-1]
				}
				if err := d.Decode(values[begin:ends[i]]); err != nil {
					return err
				}
				if d.Rows() == 64<<10 || i == to-1 {
					records[half] = append(records[half], d.Flush())
				}
			}
			return nil
		})
	}
	return group.Wait()
}

// encodeAll writes the records of each half into a file of its own, durably.
func encodeAll(records *[2][]arrow.RecordBatch) error {
	var group errgroup.Group
	for half := range 2 {
		group.Go(func() error {
			if len(records[half]) == 0 {
				return nil
			}
			f, err := os.Create(fmt.Sprintf("%d.parquet", half))
			if err != nil {
				return err
			}
			defer f.Close()
			w, err := arrowparquet.NewWriter(f, records[half][0].Schema(), arrowparquet.Options{})
			if err != nil {
				return err
			}
			for _, r := range records[half] {
				if err := w.Write(r); err != nil {
					return err
				}
				r.Release()
			}
			if _, err := w.Close(); err != nil {
				return err
			}
			return f.Sync()
		})
	}
	return group.Wait()
}
