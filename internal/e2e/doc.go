// Package e2e runs the real program as a child process: killed at random and at named points, against real services, and read by other people's programs.
//
// Tests without a build tag need nothing but Go and the S3 servers that package services builds. Those with the tag "services" need root, Java, Maven and
// Python, and are run by `make test-services`.
package e2e
