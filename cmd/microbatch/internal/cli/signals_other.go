//go:build !unix

package cli

func catchFileLimit() {}
