package main

import "microbatch/internal/bugs"

// exhibit is a seeded bug, with what it would do to a user and the tests that catch it.
type exhibit struct {
	bug  bugs.Bug
	harm string
	by   []catcher
}

// catcher are tests of one package, each of which must fail.
type catcher struct {
	pkg   string
	tests []string
	// seeds: they switch the bug on themselves, in a subtest of its name, and pass if they have found it.
	seeds bool
}

// in is a catcher.
func in(pkg string, tests ...string) catcher { return catcher{pkg: pkg, tests: tests} }

// Proofs of whole systems that find bugs which they were not written for.
var (
	explorer   = catcher{pkg: "internal/sim/explore", tests: []string{"TestTheExplorerFindsSeededBugs"}, seeds: true}
	schedules  = in("internal/sim/interleave", "TestInterleavings")
	simulation = in("internal/sim", "TestSeeds")
)

const (
	lakehouse = "sinks/lakehouse"
	localfs   = "objstore/localfs"
	kafka     = "sources/kafka"
	translog  = "table/translog"
	s3        = "objstore/s3"
	kafkaSink = "internal/sim/kafkamodel"
	pgSink    = "internal/sim/pgmodel"
	filesSink = "sinks/filestage"
)

// exhibits are all of them, by number.
var exhibits = []exhibit{
	{bugs.SkipTxn, "a batch that ran again after a crash is in the table twice", []catcher{
		in(lakehouse, "TestConformance", "TestACommitHoldsBatchDigestEpochAndOffsetsInOneVersion"), explorer, schedules, simulation}},
	{bugs.TxnCheckedOnce, "two drivers commit the same batch, one behind the other: its rows are there twice", []catcher{
		in(lakehouse, "TestConformance", "TestForeignCommitsInBetween"), in(translog, "TestScripts"), explorer, schedules}},
	{bugs.TakenIsAnothers, "after a lost answer of the object store the driver disowns its own commit: it stops, or commits again", []catcher{
		in(s3, "TestLostAnswerOfOurOwnPutIsSuccess")}},
	{bugs.DeleteUnknown, "files are deleted that a version of the table names: it cannot be read any more", []catcher{
		in(lakehouse, "TestLostAnswersAreSettledByIdentity"), schedules}},
	{bugs.NoDirectorySync, "a power failure takes back what was committed; a batch whose entry of offsets is gone is planned anew, with another range, and skipped by the table: rows are lost", []catcher{
		in(localfs, "TestPowerLossAtAnyWriteKeepsWhatWasAcknowledged", "TestPowerLossAtEachFaultPoint"), schedules}},
	{bugs.WriteInPlace, "a crash leaves half an entry in a log, and a reader may see one at any time", []catcher{
		in(localfs, "TestDiskFaultsHaveCodesAndLeaveNothingHalf", "TestSyncMakesDurableWhatAKilledProcessHasLinked")}},
	{bugs.RecordFirst, "a crash between the two loses the batch: it is recorded, and in no table", []catcher{
		in("engine", "TestCrashAtEveryStoreOperation", "TestOutcomesOfTheCommit"), explorer, schedules}},
	{bugs.Replan, "rows that arrived between crash and restart come twice: in the batch that ran again, and in the one after it", []catcher{
		in("engine", "TestAPendingBatchRunsAgainWithItsRangeWhateverCouldBeReadNow"), explorer}},
	{bugs.PurgeReopens, "a driver that slept for long commits old rows again where the sink cannot refuse it, and what it leaves in the log keeps the query from starting", []catcher{
		in("engine", "TestADriverThatSleptThroughAPurgeCommitsNothing", "TestPurgeKeepsTheRetainedBatchesAndTheQueryGoesOn"), explorer, schedules}},
	{bugs.ResetToEarliest, "rows that retention removed are missing, and nobody is told", []catcher{
		in(kafka, "TestRetentionLossStopsWithTheExactRange")}},
	{bugs.PlanToTheEnd, "a batch waits for a transaction that hangs, and fails; the query stands still", []catcher{
		in(kafka, "TestAHangingTransactionIsNamedAndNothingSpins")}},
	{bugs.StopAtHole, "the rows behind a transaction's marker or a compacted record are lost", []catcher{
		in(kafka, "TestHolesOfTransactionsAreCoveredAndTheirRecordsNeverSeen")}},
	{bugs.IgnoreShortRead, "rows that a broken connection or a lying broker held back are lost", []catcher{
		in("engine", "TestAShortReadIsNotCommitted")}},
	{bugs.ClockInTransform, "a batch that runs again gives other rows than the first time", []catcher{
		in("engine", "TestOperatorsGetTheTimeOfTheEntryAlsoWhenTheBatchRunsAgain")}},
	{bugs.ExpireTxn, "a query that pauses for long forgets that its last batch is visible: it comes twice", []catcher{
		in(translog, "TestScripts"), in("table", "TestATableIsReadFromItsCheckpointAlone")}},
	{bugs.VacuumYoung, "files of the batch that is being written are deleted; the commit then names files that are not there", []catcher{
		in("table/maintain", "TestVacuumKeepsWhatMayBeNeeded")}},
	{bugs.ConflictIsTaken, "two drivers at once, and both believe that the other has won: a batch is not committed and not tried again", []catcher{
		in(s3, "TestConflictNeverMeansExists")}},
	{bugs.PositionApart, "a crash between the two leaves rows that no position tells of: the batch runs again, and they are there twice", []catcher{
		in(pgSink, "TestEachOperationDiesOrLosesItsAnswer")}},
	{bugs.MarkerApart, "a crash between the two leaves records that no marker tells of: the batch runs again, and they are there twice", []catcher{
		in(kafkaSink, "TestEachRequestFailsOrArrivesLate")}},
	{bugs.ForgetPartitions, "a broker that restarts answers with half its partitions, and all rows of the others are read again", []catcher{
		in(kafka, "TestPartitionsThatVanishFromTheMetadataAreNeverNew")}},
	{bugs.UnescapedValue, "a value such as a/b or ../x puts files where no reader finds them, or outside the table", []catcher{
		in("table", "TestEveryTypeAndAwkwardPartitionsRoundTrip")}},
	{bugs.NaNSplit, "rows of one partition come in many small files", []catcher{
		in("table/datafile", "TestEveryNaNIsTheSamePartition")}},
	{bugs.ProgressFirst, "progress and metrics tell of rows that are in no table", []catcher{
		in("engine", "TestABatchThatWasNotCommittedIsNotReported")}},
	{bugs.NoEpoch, "a driver that was believed dead commits behind its successor: rows come twice", []catcher{
		in(lakehouse, "TestConformance", "TestACommitHoldsBatchDigestEpochAndOffsetsInOneVersion"), explorer, schedules}},
	{bugs.FenceNotAwaited, "a driver that was taken over hands one more batch to a sink that cannot refuse it", []catcher{
		in("engine", "TestANewerEpochStopsADriverBeforeItsCommitEvenWhereTheSinkCannotRefuseIt"), schedules}},
	{bugs.StartFromMemory, "two copies of a checkpoint, or a restored one: rows are lost or come twice from here on", []catcher{
		in("engine", "TestABatchStartsFromTheDurableEntryAndNotFromMemory")}},
	{bugs.RetryFsync, "the kernel has dropped the pages that it could not write and reports success: what was acknowledged is not on disk", []catcher{
		in(localfs, "TestFailedFsyncIsNeverTriedAgain")}},
	{bugs.NoSyncOfFound, "a kill, a restart, then a power failure: the table holds a batch that the checkpoint does not know, and the query does not start", []catcher{
		in("engine", "TestWhatAStartBuildsOnSurvivesAPowerLoss"), schedules}},
	{bugs.RejectedLate, "a crash between the two loses the rejected rows: the batch is visible, so it does not run again", []catcher{
		in("engine", "TestCrashAtEveryStoreOperationWithRejectedRows")}},
	{bugs.AnyDigest, "a copied or restored checkpoint plans a batch of the same number from other offsets; it is taken for done, and its rows are lost", []catcher{
		in(lakehouse, "TestConformance"), schedules}},
	{bugs.SweepUnseen, "files of a batch are deleted that is visible, or is about to be", []catcher{
		in(lakehouse, "TestSweepDeletesOtherAttemptsOfTheBatchOnly")}},
	{bugs.AheadIsAnyRange, "a batch that is prepared again holds the rows of the next one: those come twice, its own are lost", []catcher{
		in("engine", "TestWhatIsReadAheadNeverCounts", "TestOutcomesOfTheCommit")}},
	{bugs.ForgetRemoves, "vacuum takes replaced files at once: readers of the version before fail in the middle", []catcher{
		in(translog, "TestACheckpointKeepsRemovesUntilTheRetentionEnds")}},
	{bugs.CleanupFromTop, "a writer that slept is told that it has committed, in a hole below the versions that count: its rows are lost", []catcher{
		in(translog, "TestALogIsWholeAtEachPrefixOfItsCleanup")}},
	{bugs.ReleaseFirst, "a source lets go of rows that the batch still needs when it runs again; lag tools see them as done", []catcher{
		in("engine", "TestSourcesForgetOnlyWhatIsRecorded")}},
	{bugs.NoSyncOfForeign, "a power failure takes another writer's version from under ours: the log has a hole", []catcher{
		in(lakehouse, "TestAnEntryOfAnotherWriterIsMadeDurableBeforeItIsActedOn"), schedules}},
	{bugs.NoLookBack, "a driver that slept through a clean-up of the log is told that it has committed, and its rows are in no version", []catcher{
		in(lakehouse, "TestADriverThatSleptThroughALogCleanupIsFenced"), in(translog, "TestALogIsWholeAtEachPrefixOfItsCleanup"), explorer, schedules}},
	{bugs.SharedEpoch, "two drivers have the same epoch, and neither fences the other", []catcher{
		in("checkpointlog", "TestOfDriversThatClaimAtOnceEachHasAnEpochOfItsOwn"), schedules}},
	{bugs.BlindToRemoves, "two programs that join the same files both succeed: their rows are there twice", []catcher{
		in("table/maintain", "TestOptimizeYieldsToOtherWriters"), in(translog, "TestScripts")}},
	{bugs.ForgetTopicID, "a topic that was made anew is read from the old one's offset on: what comes before is lost", []catcher{
		in(kafka, "TestTopicCreatedAgainIsNoticedEvenWithLargerOffsets")}},
	{bugs.TrustTheListing, "a start beside a running driver sees the checkpoint before and the table after a commit, and refuses what is in order, or goes on from what is past", []catcher{
		in("engine", "TestACheckpointThatKeepsChangingIsGivenUp"), schedules}},
	{bugs.ChangedFileIsRead, "a batch that runs again holds other rows than the first time, and rows that a file grew by are lost or come twice", []catcher{
		in("sources/files", "TestAFileThatChangedSinceItsPlanIsAnError")}},
	{bugs.SweepIsNotDurable, "a power failure brings the files of a dead attempt back, and readers of a bare glob see its rows twice", []catcher{
		in(lakehouse, "TestSweptFilesStayAwayAfterPowerLoss")}},
	{bugs.BuildOnStray, "two drivers that slept through a clean-up of the log: one puts its batch behind the other's stray entry and takes it for committed; it is in no version", []catcher{
		in(translog, "TestAnEntryInACleanedSlotIsNoPartOfTheLog")}},
	{bugs.ClockOfTheMachine, "a machine whose clock is years ahead vacuums the files of a batch that is being written; the table then names files that are gone", []catcher{
		in("table/maintain", "TestAClockThatIsYearsAheadDeletesNothing"), in(translog, "TestAClockThatIsYearsAheadCleansNothing")}},
	{bugs.UpkeepGoesOn, "the next fsync vouches for a table checkpoint that is not on disk, and after a clean-up of the log a power failure takes the table's history", []catcher{
		in("engine", "TestAFailedFsyncAfterTheBatchStopsTheQuery")}},
	{bugs.CutLogIsReadOn, "an unclean election while a batch is read: it holds records that no longer exist, and lacks those in their place", []catcher{
		in(kafka, "TestALogThatIsCutWhileItIsReadStopsTheBatch")}},
	{bugs.TimeGoesBack, "after the clock was set back, what is computed from a batch's time runs backwards", []catcher{
		in("engine", "TestTheTimeOfABatchNeverGoesBack")}},
	{bugs.FightOn, "two drivers that were started by mistake take the query from each other for ever", []catcher{
		in("engine", "TestADriverThatMeetsWhatANewerOneHasDoneStopsAndClaimsNothing"), schedules}},
	{bugs.NoFenceAtChange, "a driver of the former pipeline commits the batch after the change was accepted: its rows are of the wrong pipeline", []catcher{
		in("engine", "TestAnAcceptedChangeFencesThePastBeforeItJudges"), schedules}},
	{bugs.TrustTheList, "a store whose listings lag shows an old table: the start refuses what is in order", []catcher{
		in(translog, "TestTheNewestVersionIsFoundThoughTheListingLags")}},
	{bugs.OwnIsForeign, "joining files takes its own entry for another's after a lost answer, and deletes the files that it has just made: the table cannot be read any more", []catcher{
		in("table/maintain", "TestOptimizeWhoseAnswerIsLostLeavesTheTableWhole")}},
	{bugs.ForgetSinkEpoch, "after a checkpoint was restored from a copy, the table refuses the new driver as an old one", []catcher{
		in("checkpointlog", "TestAnEpochIsAboveThatOfTheSink"), schedules}},
	{bugs.CountsUnchecked, "rows that a decoder, an operator or a writer dropped are lost in silence", []catcher{
		in("engine", "TestABatchOfWhichTheSinkHasStagedFewerRowsIsNotCommitted", "TestABatchThatIsWrongIsNotCommitted")}},
	{bugs.EndsUnchecked, "a topic that was made anew while the query stood still is read on in the middle", []catcher{
		in("engine", "TestAStartAsksTheSourceWhetherItIsStillTheOneThatWasRead")}},
	{bugs.MarkerFromMemory, "a batch whose commit was never answered is written again: its records are there twice", []catcher{
		in(kafkaSink, "TestASinkConformsOnTheModel", "TestEachRequestFailsOrArrivesLate")}},
	{bugs.ProducerIsKept, "records of an attempt that failed become visible with the next one: they are there twice, or what the broker has ended is committed", []catcher{
		in(kafkaSink, "TestEachRequestFailsOrArrivesLate")}},
	{bugs.PositionUnlocked, "a COMMIT that arrives late comes between look and lock: the batch is applied again, and its rows are there twice", []catcher{
		in(pgSink, "TestEachOperationDiesOrLosesItsAnswer")}},
	{bugs.FilesNotSynced, "after a power failure readers find a batch whose files are empty or cut off", []catcher{
		in(filesSink, "TestPowerIsLostAtEachChange")}},
	{bugs.GroundStays, "a driver that was believed dead makes its batch visible behind its successor", []catcher{
		in(filesSink, "TestFileStageConforms", "TestTwoClaimsAtOnce")}},
	{bugs.LedgerForgets, "a reader deletes the folder of the newest batch, and the next start makes it again", []catcher{
		in(filesSink, "TestALedgerLearnsWhatACrashHasLeftOut")}},
	{bugs.BlindToAdds, "two programs insert the same key at once: the table has it twice, and an upsert changes one of the two", []catcher{
		in(lakehouse, "TestMergeScripts")}},
	{bugs.LostRunsAgain, "a query that delivers at most once delivers twice", []catcher{
		in("engine", "TestAtMostOnceCrashAtEveryStoreOperation", "TestAtMostOnceOfASinkWithoutIDs")}},
	{bugs.KeyOfAttempt, "the service cannot know a request that it has served: what was not answered in time is done twice", []catcher{
		in("sinks/foreachbatch", "TestEachRowIsARequestWithItsKey")}},
}

// absent are bugs of the usual list that have no place here yet.
var absent = []struct {
	number    int
	what, why string
}{
	{14, "a local state cache is trusted", "no operator keeps state"},
	{15, "a state snapshot's name is used again", "no operator keeps state"},
}
