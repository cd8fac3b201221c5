// Command docgen writes the documentation that is made from the code, so that it cannot be wrong about it:
//
//	docs/pipeline.schema.json   from the config types and their comments, for editors
//	docs/pipeline.md            the reference of the pipeline file, between its markers
//	docs/errors.md              from the error codes
//	docs/cli.md                 from the commands, between its markers
//
// A page with markers keeps what stands outside of "<!-- generated: begin -->" and "<!-- generated: end -->". A test checks that all are current.
package main
