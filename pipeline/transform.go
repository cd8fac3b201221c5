package pipeline

import (
	"fmt"
	"os"

	"microbatch/pipeline/config"
	"microbatch/transforms"
	"microbatch/transforms/project"
	"microbatch/transforms/sql"
)

// transforms is the one switch over the kinds of operators.
func (b builder) transforms() ([]transforms.Operator, error) {
	var out []transforms.Operator
	for n, step := range b.c.Transform {
		op, err := b.transform(step)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", b.c.Place(fmt.Sprintf("transform[%d]", n)), err)
		}
		out = append(out, op)
	}
	return out, nil
}

func (b builder) transform(step config.Step) (transforms.Operator, error) {
	switch {
	case len(step.Select) > 0:
		return project.NewSelect(step.Select), nil
	case step.Filter != "":
		return project.NewFilter(step.Filter), nil
	default:
		return sql.New(sql.Config{SQL: step.SQL, TempDir: os.TempDir()}), nil
	}
}
