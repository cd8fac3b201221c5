// Package kafkaclient is how the Kafka source and the Kafka sink reach a cluster: its addresses, TLS, logins, and what an error of the client library means.
//
// It exists because adapters do not import each other, and a cluster is reached in one way.
package kafkaclient
