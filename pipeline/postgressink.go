package pipeline

import (
	"microbatch/codec/json"
	"microbatch/pipeline/config"
	"microbatch/sinks"
	"microbatch/sinks/postgres"
)

func (b builder) postgres(p *config.Postgres) (sinks.Sink, error) {
	return postgres.New(postgres.Config{
		URL:             p.URL,
		Password:        p.Password.Value(),
		Table:           p.Table,
		Mode:            p.Mode,
		Keys:            p.Keys,
		OrderBy:         p.OrderBy,
		OperationColumn: p.OperationColumn,
		DeleteValues:    p.DeleteValues,
		CreateOff:       !p.Create,
		Timeout:         p.Timeout.D(),
		RetryFor:        b.RetryFor,
		JSON:            json.NewEncoder,
	})
}
