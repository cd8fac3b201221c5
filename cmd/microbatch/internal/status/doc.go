// Package status serves what a running query does over HTTP, read-only:
//
//	GET /status    JSON: ids, state in words, the last and the recent progress reports
//	GET /metrics   Prometheus
//	GET /healthz   200 while the query runs, 503 after its end
//
// It listens on the loopback interface only, unless told otherwise, and answers only requests whose Host is the address itself, so that a web page
// cannot reach it through the browser of somebody on the machine (DNS rebinding); nor does it answer scripts of other sites (Origin).
package status
