// Package s3 keeps objects in a bucket of Amazon S3 or of a server with its interface (MinIO, versitygw).
//
// Commits rest on conditional writes: PutIfAbsent is one PutObject with "If-None-Match: *". Every put carries a fresh id in the metadata of its object, so a put
// whose answer was lost is settled by identity, never by status or content:
//
//	200                    ours
//	412 as first answer    somebody else's
//	412 after a lost one   HEAD: our id means ours, another id means somebody else's
//	304                    HEAD, as some old servers answer so
//	409                    a concurrent put is in progress: the same put again; it never means "exists"
//	5xx, reset, time-out   lost: the same put again, same bytes, same id. A 404 now proves nothing: the put may still be under way.
//	403 and other 4xx      refused, unless an answer was lost before: then unknown
//
// A server that asks by Retry-After to be left alone is, for up to ten seconds at a time. What is not settled within Config.RetryFor is objstore.ErrUncertain. The SDK's own retries are off, since they would hide that an answer was lost.
//
// Writers collect up to one part (8 MiB). A smaller object is one PutObject; a larger one is a multipart upload whose parts are sent while the caller goes on
// writing, a few at a time for the whole store. Readers fetch ranges; one that reads on where it stopped is given larger and larger ranges.
//
// A redirect is an answer like any other and refused: neither data nor signatures go to a host that the configuration does not name.
//
// Keys that end in a slash are other programs' folder markers: they are not listed.
package s3
