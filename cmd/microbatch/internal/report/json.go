package report

import (
	"encoding/json"
	"io"

	"microbatch/engine"
	"microbatch/internal/errcode"
)

// JSON writes one JSON object a line: {"event":"progress", ...} with the fields of Spark's StreamingQueryProgress, and the other events of a run.
func JSON(out io.Writer) engine.Listener {
	e := json.NewEncoder(out)
	e.SetEscapeHTML(false)
	// A reader that has gone away ends the program by SIGPIPE or is not worth an error: progress is not the result.
	write := func(v any) { _ = e.Encode(v) }
	return engine.Listener{
		Started: func(s engine.Started) {
			write(struct {
				Event     string `json:"event"`
				ID        string `json:"id"`
				Run       string `json:"runId"`
				Name      string `json:"name"`
				Epoch     int64  `json:"epoch"`
				Plan      string `json:"plan"`
				Guarantee string `json:"guarantee"`
			}{"started", string(s.ID), string(s.Run), s.Name, int64(s.Epoch), s.Plan, s.Guarantee})
		},
		Progress: func(p engine.Progress) {
			write(struct {
				Event string `json:"event"`
				engine.Progress
			}{"progress", p})
		},
		Idle: func(i engine.Idle) {
			write(struct {
				Event string `json:"event"`
				engine.Idle
			}{"idle", i})
		},
		Notice: func(text string) {
			write(struct {
				Event string `json:"event"`
				Text  string `json:"text"`
			}{"notice", text})
		},
		Terminated: func(err error) {
			end := struct {
				Event string `json:"event"`
				Error string `json:"exception,omitempty"`
				Class string `json:"errorClassOnException,omitempty"`
			}{Event: "terminated"}
			if err != nil {
				end.Error, end.Class = err.Error(), errcode.ClassOf(err).String()
			}
			write(end)
		},
	}
}
