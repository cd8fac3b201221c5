package status

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"microbatch/engine"
)

// metrics are the numbers of one query.
type metrics struct {
	registry *prometheus.Registry
	batches  prometheus.Counter
	retries  prometheus.Counter
	rows     *prometheus.CounterVec
	bytes    prometheus.Counter
	files    prometheus.Counter
	seconds  prometheus.Histogram
	phase    *prometheus.HistogramVec
	behind   prometheus.Gauge
	batch    prometheus.Gauge
	version  prometheus.Gauge
	epoch    prometheus.Gauge
	last     prometheus.Gauge
	up       prometheus.Gauge
}

func newMetrics(pipeline string) *metrics {
	label := prometheus.Labels{"pipeline": pipeline}
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: "microbatch_" + name, Help: help, ConstLabels: label})
	}
	gauge := func(name, help string) prometheus.Gauge {
		return prometheus.NewGauge(prometheus.GaugeOpts{Name: "microbatch_" + name, Help: help, ConstLabels: label})
	}
	buckets := prometheus.ExponentialBuckets(0.001, 2.5, 14) // 1 ms to 2.5 min
	m := &metrics{
		registry: prometheus.NewRegistry(),
		batches:  counter("batches_total", "Batches recorded by this process."),
		retries:  counter("attempts_repeated_total", "Attempts of batches beyond the first."),
		rows: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "microbatch_rows_total", ConstLabels: label,
			Help: "Rows by what became of them: input = decoded + rejected, output = inserted + updated + deleted + unchanged where a sink tells these."}, []string{"kind"}),
		bytes: counter("sink_bytes_total", "Bytes of data files written."),
		files: counter("sink_files_total", "Data files written."),
		seconds: prometheus.NewHistogram(prometheus.HistogramOpts{Name: "microbatch_batch_seconds", ConstLabels: label, Buckets: buckets,
			Help: "Time of a batch from trigger to record."}),
		phase: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "microbatch_phase_seconds", ConstLabels: label, Buckets: buckets,
			Help: "Time of each phase of a batch."}, []string{"phase"}),
		behind:  gauge("rows_behind", "Rows in the sources after the last batch; -1 if unknown."),
		batch:   gauge("last_batch_id", "The last batch recorded; -1 if none."),
		version: gauge("table_version", "The table version of the last batch; -1 for other sinks."),
		epoch:   gauge("epoch", "The epoch of this driver."),
		last:    gauge("last_batch_timestamp_seconds", "When the last batch was recorded, in seconds since 1970."),
		up:      gauge("running", "1 while the query runs."),
	}
	m.registry.MustRegister(m.batches, m.retries, m.rows, m.bytes, m.files, m.seconds, m.phase, m.behind, m.batch, m.version, m.epoch, m.last, m.up,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	for _, kind := range []string{"input", "decoded", "rejected", "filtered", "output", "dropped"} {
		m.rows.WithLabelValues(kind)
	}
	m.batch.Set(-1)
	m.behind.Set(-1)
	m.version.Set(-1)
	return m
}

func (m *metrics) listener() engine.Listener {
	return engine.Listener{
		Started:    func(s engine.Started) { m.up.Set(1); m.epoch.Set(float64(s.Epoch)) },
		Progress:   m.progress,
		Terminated: func(error) { m.up.Set(0) },
	}
}

func (m *metrics) progress(p engine.Progress) {
	m.batches.Inc()
	m.retries.Add(float64(max(0, p.Attempts-1)))
	for kind, n := range map[string]int64{"input": p.InputRows, "decoded": p.Decoded, "rejected": p.Rejected, "filtered": p.Filtered, "output": p.Sink.Rows, "dropped": p.Sink.Dropped} {
		m.rows.WithLabelValues(kind).Add(float64(max(0, n)))
	}
	if c := p.Sink.Changes; c != nil {
		for kind, n := range map[string]int64{"inserted": c.Inserted, "updated": c.Updated, "deleted": c.Deleted, "unchanged": c.Unchanged} {
			m.rows.WithLabelValues(kind).Add(float64(n))
		}
	}
	m.bytes.Add(float64(max(0, p.Sink.Bytes)))
	m.files.Add(float64(max(0, p.Sink.Files)))
	m.seconds.Observe(float64(p.BatchDuration) / 1000)
	for phase, ms := range p.Phases {
		m.phase.WithLabelValues(phase).Observe(ms / 1000)
	}
	m.behind.Set(float64(p.Behind))
	m.batch.Set(float64(p.Batch))
	m.version.Set(float64(p.Sink.Version))
	m.last.Set(float64(time.Now().UnixMilli()) / 1000)
}
