// Package pipeline makes a pipeline file into a query: the one place that names the adapters.
//
//	c, err := pipeline.Load("orders.yaml")
//	q, err := pipeline.Build(ctx, c)
//	err = q.Run(ctx)
//
// Load reads and checks the file (package config) and opens nothing. Build constructs the components and opens nothing either: what is wrong
// with the surroundings (a missing topic, a bucket without rights) comes out when the query opens them, in Run, DryRun or Check.
package pipeline
