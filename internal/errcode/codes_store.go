package errcode

// Words that several stores share.
const (
	nothingHalf  = "No object is half there: what was not finished is invisible and the next start carries on from the checkpoint."
	truthIsRead  = "Nothing was deleted. The next start reads what is there and carries on from it."
	nothingAtAll = "Nothing was written."
)

// Errors of stores, raised by objstore/localfs, objstore/s3 and objstore/probe.
var (
	StoreFull = Code{ID: "MB1301", Title: "the disk is full", Class: Stop, Safe: nothingHalf,
		Next: "Free space or raise the quota, then start again."}
	StoreReadOnly = Code{ID: "MB1302", Title: "the file system is read-only", Class: Config, Safe: nothingHalf,
		Next: "Mount it writable, or name another path. A disk that turned read-only by itself has usually failed: look into the kernel's log."}
	StoreNoPermission = Code{ID: "MB1303", Title: "no permission", Class: Config, Safe: nothingHalf,
		Next: "Give the user of this process the right to read and write the place, then start again."}
	StoreOpenFiles = Code{ID: "MB1304", Title: "too many open files", Class: Stop, Safe: nothingHalf,
		Next: "Raise the limit (ulimit -n, LimitNOFILE of a systemd unit), then start again."}
	StoreDiskError = Code{ID: "MB1305", Title: "the disk reports an error", Class: Stop, Safe: truthIsRead,
		Next: "Look into the kernel's log; check or replace the disk before the next start."}
	StoreFsync = Code{ID: "MB1306", Title: "a write could not be made durable", Class: Stop, Safe: truthIsRead,
		Next: "Look into the kernel's log for a failing disk. The next start checks what is really there; a failed fsync is never tried again by the same process."}
	StoreNoLinks = Code{ID: "MB1307", Title: "the file system has no hard links", Class: Config, Safe: nothingAtAll,
		Next: "Put the checkpoint and the table on a file system with hard links (ext4, xfs, btrfs, apfs, nfs), or on S3."}
	StoreLocked = Code{ID: "MB1308", Title: "another process holds the lock", Class: Fenced, Safe: nothingAtAll,
		Next: "Stop the other process first, or let it work. The lock ends with its process; no file has to be deleted."}
	StoreLeavesRoot = Code{ID: "MB1309", Title: "a symbolic link leads out of the folder", Class: Config, Safe: nothingAtAll,
		Next: "Name the folder that the link points to, or replace the link by what it points to."}
	StoreUncertain = Code{ID: "MB1310", Title: "the outcome of a write is unknown", Class: Uncertain, Safe: truthIsRead,
		Next: "Check the network and the store. The engine reads the truth by itself before it goes on."}
	StoreUnreachable = Code{ID: "MB1311", Title: "the store does not answer", Class: Retry, Safe: nothingHalf,
		Next: "Check endpoint, name resolution, proxy and firewall, and whether the server runs."}
	StoreBusy = Code{ID: "MB1312", Title: "the store is overloaded or failing", Class: Retry, Safe: nothingHalf,
		Next: "Wait, or spread the load, and look into the server's log: it answered with 5xx, 429 or 409 for longer than the retry budget."}
	StoreCredentials = Code{ID: "MB1313", Title: "the store refuses the credentials", Class: Config, Safe: nothingHalf,
		Next: "Check access key, secret key and session token, or what the AWS credential chain finds (environment, profile, instance role)."}
	StoreForbidden = Code{ID: "MB1314", Title: "the credentials may not do this", Class: Config, Safe: nothingHalf,
		Next: "Grant s3:GetObject, s3:PutObject, s3:DeleteObject, s3:AbortMultipartUpload on the prefix and s3:ListBucket on the bucket."}
	StoreNoBucket = Code{ID: "MB1315", Title: "the bucket does not exist", Class: Config, Safe: nothingAtAll,
		Next: "Create the bucket, or correct its name, the endpoint or the region."}
	StoreClock = Code{ID: "MB1316", Title: "this machine's clock and the store's differ too much", Class: Config, Safe: nothingAtAll,
		Next: "Set the clock of this machine (NTP), then start again."}
	StoreEndpoint = Code{ID: "MB1317", Title: "the store refuses the request", Class: Config, Safe: nothingAtAll,
		Next: "Check endpoint, region and path_style: a bucket of another region, or a server that wants path_style: true, answers like this."}
	StoreUploadGone = Code{ID: "MB1318", Title: "the store has dropped an unfinished upload", Class: Retry, Safe: nothingHalf,
		Next: "If it happens again, look for a lifecycle rule of the bucket that aborts multipart uploads early."}
	StoreCertificate = Code{ID: "MB1319", Title: "the store's certificate is not trusted", Class: Config, Safe: nothingAtAll,
		Next: "Check the certificate's name and dates, and add the authority that signed it to the system's (or AWS_CA_BUNDLE)."}
	StoreNotAtomic = Code{ID: "MB1320", Title: "the store does not create objects atomically", Class: Config, Safe: nothingAtAll,
		Next: "Use a store that honours conditional writes (If-None-Match: *): AWS S3, a recent MinIO or versitygw, or a local disk. An old server may only need an update."}
	StoreNotFolder = Code{ID: "MB1321", Title: "a file stands where a folder should be", Class: Config, Safe: nothingAtAll,
		Next: "Name the folder of the table or checkpoint, not a file."}
)

// storeCodes are MB13xx: stores.
var storeCodes = []Code{
	StoreFull, StoreReadOnly, StoreNoPermission, StoreOpenFiles, StoreDiskError, StoreFsync, StoreNoLinks, StoreLocked, StoreLeavesRoot,
	StoreUncertain, StoreUnreachable, StoreBusy, StoreCredentials, StoreForbidden, StoreNoBucket, StoreClock, StoreEndpoint,
	StoreUploadGone, StoreCertificate, StoreNotAtomic, StoreNotFolder,
}
