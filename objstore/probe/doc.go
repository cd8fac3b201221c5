// Package probe asks a store at start whether it keeps promise (S1): that of concurrent creates of one key exactly one wins, and that a key that exists is not
// created again. Servers exist that accept "If-None-Match: *" and ignore it, or check it and race; on them two drivers would both commit one batch.
package probe
