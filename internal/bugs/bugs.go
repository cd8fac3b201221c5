package bugs

import "strconv"

// Bug is the number of a seeded bug. Up to 26 they are those that engines of this kind have had elsewhere; then come those that this one could have. From 45 to
// 49 they are some that it had.
type Bug int

// The bugs, by what the code does wrongly.
const (
	SkipTxn           Bug = 1  // a table commit does not hold the batch's id
	TxnCheckedOnce    Bug = 2  // whether the batch is visible is asked before the first try only, not after a lost race for a version
	TakenIsAnothers   Bug = 3  // "the key is taken" is believed to be about somebody else's object, also after a lost answer
	DeleteUnknown     Bug = 4  // staged files are deleted although nobody knows whether the commit has landed
	NoDirectorySync   Bug = 5  // a put is answered before the file's name is durable
	WriteInPlace      Bug = 6  // a key is created by O_EXCL and write, so that half a file is visible
	RecordFirst       Bug = 7  // commits/<id> is put before the sink has committed
	Replan            Bug = 8  // a pending batch runs again with whatever range is there now
	PurgeReopens      Bug = 9  // a purge leaves neither low watermark nor epoch, so that the slots are free for a driver that slept
	ResetToEarliest   Bug = 10 // an offset that the broker no longer has is replaced by the earliest one
	PlanToTheEnd      Bug = 11 // under read_committed a range goes up to the high watermark
	StopAtHole        Bug = 12 // reading ends at the first offset that is missing
	IgnoreShortRead   Bug = 13 // a range that was not read to its end is committed
	ClockInTransform  Bug = 16 // operators get the clock instead of the batch's time
	ExpireTxn         Bug = 17 // a log checkpoint drops the txns of queries that have not committed for long
	VacuumYoung       Bug = 18 // vacuum deletes files however young they are
	ConflictIsTaken   Bug = 19 // S3's 409 is taken for "the key exists"
	PositionApart     Bug = 20 // PostgreSQL gets rows and position in two transactions
	MarkerApart       Bug = 21 // the marker of a Kafka sink is written in a transaction of its own, behind that of the records
	ForgetPartitions  Bug = 22 // a partition that the metadata lack for a moment is forgotten, and new when it is back
	UnescapedValue    Bug = 23 // a partition value is a directory name as it stands
	NaNSplit          Bug = 24 // each kind of NaN is a partition of its own
	ProgressFirst     Bug = 25 // a batch is reported before its commit
	NoEpoch           Bug = 26 // a table commit does not hold the driver's epoch
	FenceNotAwaited   Bug = 27 // a batch is committed before the look for a newer epoch has answered
	StartFromMemory   Bug = 28 // a batch starts where memory says, whatever the durable entry before it says
	RetryFsync        Bug = 29 // a failed fsync is tried again, and its success believed
	NoSyncOfFound     Bug = 30 // a start builds on entries of the checkpoint that it has found and not made durable
	RejectedLate      Bug = 31 // rejected rows are committed after the batch that lacks them
	AnyDigest         Bug = 32 // a visible batch of the same number is taken for this one, whatever it was made from
	SweepUnseen       Bug = 33 // files of a batch are swept although the version that names them was not read back
	AheadIsAnyRange   Bug = 34 // what was read ahead is used for whatever range is asked for
	ForgetRemoves     Bug = 35 // a log checkpoint drops removes at once, so that nothing says when their files went
	CleanupFromTop    Bug = 36 // old log entries are deleted from the newest down
	ReleaseFirst      Bug = 37 // sources may forget rows before the batch is recorded
	NoSyncOfForeign   Bug = 38 // a commit builds on another writer's log entry without making it durable
	NoLookBack        Bug = 39 // a commit that landed does not look at the version before it
	SharedEpoch       Bug = 40 // a driver that loses the race for an epoch takes it all the same
	BlindToRemoves    Bug = 41 // a commit that replaces files does not see that another has replaced them
	ForgetTopicID     Bug = 42 // a topic that was deleted and created again is read on
	TrustTheListing   Bug = 43 // checkpoint and sink are believed although they changed while they were looked at
	ChangedFileIsRead Bug = 44 // a file that has changed since it was planned is read all the same
	SweepIsNotDurable Bug = 45 // files of dead attempts are deleted, but not durably, before the batch is recorded
	BuildOnStray      Bug = 46 // what stands behind a version that was cleaned up is taken for the log
	ClockOfTheMachine Bug = 47 // how old a file is is measured by the clock of this machine alone
	UpkeepGoesOn      Bug = 48 // a failed fsync in the upkeep after a batch is a warning
	CutLogIsReadOn    Bug = 49 // a reader that meets a new leader does not ask where the log of the former one ended
	TimeGoesBack      Bug = 50 // a batch gets the clock's time even if the batch before it has a later one
	FightOn           Bug = 51 // a driver that meets what a newer one has done claims a newer epoch still
	NoFenceAtChange   Bug = 52 // an accepted change of the pipeline judges the pending batch before the past is fenced
	TrustTheList      Bug = 53 // the newest version that a listing shows is taken for the newest there is
	OwnIsForeign      Bug = 54 // a commit whose answer was lost does not recognise its own entry
	ForgetSinkEpoch   Bug = 55 // a new epoch is above those of the checkpoint only, whatever the sink has seen
	CountsUnchecked   Bug = 56 // rows read, filtered, rejected and staged are not compared
	EndsUnchecked     Bug = 57 // a start does not ask whether a source is still the one that was read
	MarkerFromMemory  Bug = 58 // who has taken a transactional id over does not read the marker, and goes on from what was seen before
	ProducerIsKept    Bug = 59 // a Kafka producer is used again after an error that says nothing of its transaction
	PositionUnlocked  Bug = 60 // the position in PostgreSQL is read before its row is locked
	FilesNotSynced    Bug = 61 // a batch's folder gets its name before its files are durable
	GroundStays       Bug = 62 // what older epochs have staged for the files sink is left to them
	LedgerForgets     Bug = 63 // a start of the files sink does not enter into the ledger what a crash has left out
	BlindToAdds       Bug = 64 // an upsert does not see that another writer has added rows meanwhile
	LostRunsAgain     Bug = 65 // at_most_once runs a batch again that is recorded
	KeyOfAttempt      Bug = 66 // the Idempotency-Key of a row is another one at each try
)

// names of the bugs. An array, and no map: what nobody uses of it is in no program.
var names = [...]string{
	SkipTxn: "skip-txn", TxnCheckedOnce: "txn-checked-once", TakenIsAnothers: "taken-is-anothers", DeleteUnknown: "delete-unknown",
	NoDirectorySync: "no-directory-sync", WriteInPlace: "write-in-place", RecordFirst: "record-first", Replan: "replan", PurgeReopens: "purge-reopens",
	ResetToEarliest: "reset-to-earliest", PlanToTheEnd: "plan-to-the-end", StopAtHole: "stop-at-hole", IgnoreShortRead: "ignore-short-read",
	ClockInTransform: "clock-in-transform", ExpireTxn: "expire-txn", VacuumYoung: "vacuum-young", ConflictIsTaken: "conflict-is-taken",
	PositionApart: "position-apart", ForgetPartitions: "forget-partitions", UnescapedValue: "unescaped-value", NaNSplit: "nan-split", ProgressFirst: "progress-first", NoEpoch: "no-epoch",
	FenceNotAwaited: "fence-not-awaited", StartFromMemory: "start-from-memory", RetryFsync: "retry-fsync", NoSyncOfFound: "no-sync-of-found",
	RejectedLate: "rejected-late", AnyDigest: "any-digest", SweepUnseen: "sweep-unseen", AheadIsAnyRange: "ahead-is-any-range", ForgetRemoves: "forget-removes",
	CleanupFromTop: "cleanup-from-top", ReleaseFirst: "release-first", NoSyncOfForeign: "no-sync-of-foreign", NoLookBack: "no-look-back",
	SharedEpoch: "shared-epoch", BlindToRemoves: "blind-to-removes", ForgetTopicID: "forget-topic-id", TrustTheListing: "trust-the-listing",
	ChangedFileIsRead: "changed-file-is-read", SweepIsNotDurable: "sweep-is-not-durable", BuildOnStray: "build-on-stray", ClockOfTheMachine: "clock-of-the-machine",
	UpkeepGoesOn: "upkeep-goes-on", CutLogIsReadOn: "cut-log-is-read-on",
	TimeGoesBack: "time-goes-back", FightOn: "fight-on", NoFenceAtChange: "no-fence-at-change", TrustTheList: "trust-the-list", OwnIsForeign: "own-is-foreign",
	ForgetSinkEpoch: "forget-sink-epoch", CountsUnchecked: "counts-unchecked", EndsUnchecked: "ends-unchecked",
	MarkerApart: "marker-apart", MarkerFromMemory: "marker-from-memory", ProducerIsKept: "producer-is-kept", PositionUnlocked: "position-unlocked",
	FilesNotSynced: "files-not-synced", GroundStays: "ground-stays", LedgerForgets: "ledger-forgets", BlindToAdds: "blind-to-adds",
	LostRunsAgain: "lost-runs-again", KeyOfAttempt: "key-of-attempt",
}

// All lists the bugs by number.
func All() (bugs []Bug) {
	for b, name := range names {
		if name != "" {
			bugs = append(bugs, Bug(b))
		}
	}
	return bugs
}

// String is the bug's name; its number, if it has none.
func (b Bug) String() string {
	if b >= 0 && int(b) < len(names) && names[b] != "" {
		return names[b]
	}
	return strconv.Itoa(int(b))
}

// Parse reads a name or a number; ok is false for what is neither.
func Parse(text string) (b Bug, ok bool) {
	for _, b := range All() {
		if text == b.String() || text == strconv.Itoa(int(b)) {
			return b, true
		}
	}
	return 0, false
}
