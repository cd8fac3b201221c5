// Package registry asks a schema registry with Confluent's API (Confluent's own, Apicurio, Karapace, Redpanda) for schemas, and registers them.
//
// Subjects have versions; each version is a schema, and each schema an id that is never given to another. A registry may refuse a version that is not compatible with
// the earlier ones. All requests are repeated while the registry does not answer, for a limited time; then the error is retryable.
package registry
