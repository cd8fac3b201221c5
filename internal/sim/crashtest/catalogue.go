package crashtest

import "strings"

// known are the points of the matrix in the order of the page, each with the number of the crash point of a batch that it belongs to:
//
//	C01 before the end of the range is asked for    C02 planned, before offsets/<id>        C03 inside its put             C04 after it, before a row is read
//	C05 in the middle of reading                    C06 of transforming                     C07 between data files         C08 inside one
//	C11 files durable, before the commit            C12 inside the commit                   C13 after it, before commits/<id>   C14 inside and after its put
//	C15 purge                                       C17 log checkpoint                      C18 after it, before its hint  C19 vacuum
//	C20 log cleanup                                 C21 optimize                            C22 shutdown                   C23 recovery
//	C25 the user's code                             X03 rejected rows, before the others     (C23: repair too)
var known = []struct{ phase, name, id string }{
	{"start", "read the checkpoint", "C23"},
	{"start", "read the table", "C23"},
	{"start", "at start.before-claim", "C23"},
	{"start", "put metadata", "C23"},
	{"start", "put _engine/epoch/<e>", "C23"},
	{"start", "delete _engine/epoch/<e>", "C23"},
	{"start", "at start.claimed", "C23"},
	{"start", "put sources/0/0", "C23"},
	{"start", "at start.pinned", "C23"},
	{"start", "at create.put.before", "C23"},
	{"start", "put log entry 0 (the table)", "C23"},
	{"start", "at create.put.after", "C23"},
	{"start", "sync log entry", "C23"},
	{"start", "at start.recovered", "C23"},
	{"start", "sync offsets/<id>", "C23"},
	{"start", "sync commits/<id>", "C23"},
	{"start", "sync _engine/low-watermark/<id>", "C15"},

	{"plan", "at plan.before", "C01"},
	{"plan", "ask the source for the end", "C01"},
	{"plan", "at plan.after", "C02"},

	{"intend", "at intend.before", "C02"},
	{"intend", "put offsets/<id>", "C03"},
	{"intend", "at intend.after", "C04"},

	{"read", "at read.before", "C04"},
	{"read", "at read.after", "C04"},
	{"transform", "at transform.before", "C04"},
	{"transform", "at transform.after", "C04"},
	{"prepare", "at prepare.before", "C04"},
	{"read", "read a partition", "C05"},
	{"read", "at read.chunk", "C05"},
	{"transform", "transform a chunk", "C06"},
	{"transform", "at transform.chunk", "C06"},
	{"prepare", "read the checkpoint", "C05"},
	{"prepare", "read the table", "C05"},
	{"prepare", "at prepare.file.before", "C07"},
	{"prepare", "create and write data file", "C08"},
	{"prepare", "at prepare.file.written", "C08"},
	{"prepare", "at prepare.file.closed", "C08"},
	{"prepare", "end data file", "C08"},
	{"prepare", "at prepare.file.after", "C07"},
	{"prepare", "at prepare.after", "C11"},

	{"commit", "at commit.before", "C11"},
	{"commit", "read the table", "C11"},
	{"commit", "sync log entry", "C11"},
	{"commit", "at commit.put.before", "C12"},
	{"commit", "put log entry", "C12"},
	{"commit", "at commit.put.after", "C12"},
	{"commit", "at commit.rejected", "X03"},
	{"commit", "at foreachbatch.called", "C25"},
	{"commit", "call the user's code", "C25"},
	{"commit", "the user's code, half done", "C25"},
	{"commit", "at foreachbatch.returned", "C25"},
	{"commit", "delete data file (not needed)", "C13"},
	{"commit", "make the removal durable (not needed)", "C13"},
	{"commit", "at commit.after", "C13"},

	{"record", "at record.before", "C13"},
	{"record", "read the table", "C13"},
	{"record", "delete data file (sweep)", "C13"},
	{"record", "make the removal durable (sweep)", "C13"},
	{"record", "at record.swept", "C13"},
	{"record", "put commits/<id>", "C14"},
	{"record", "at record.after", "C14"},

	{"release", "at release.before", "C14"},
	{"release", "put _engine/low-watermark/<id>", "C15"},
	{"release", "at purge.watermark", "C15"},
	{"release", "delete commits/<id> (purge)", "C15"},
	{"release", "delete offsets/<id> (purge)", "C15"},
	{"release", "at purge.delete", "C15"},
	{"release", "delete _engine/low-watermark/<id> (purge)", "C15"},
	{"release", "read the checkpoint", "C15"},
	{"release", "read the table", "C17"},
	{"release", "at checkpoint.before", "C17"},
	{"release", "put log checkpoint", "C17"},
	{"release", "at checkpoint.after", "C18"},
	{"release", "put _last_checkpoint", "C18"},
	{"release", "put _maintained", "C17"},
	{"release", "create and write data file (optimize)", "C21"},
	{"release", "end data file (optimize)", "C21"},
	{"release", "sync log entry", "C21"},
	{"release", "at optimize.before", "C21"},
	{"release", "put log entry (optimize)", "C21"},
	{"release", "at optimize.after", "C21"},
	{"release", "at cleanup.delete", "C20"},
	{"release", "delete log entry (cleanup)", "C20"},
	{"release", "delete log checkpoint (cleanup)", "C20"},
	{"release", "put _clock", "C19"},
	{"release", "at vacuum.delete", "C19"},
	{"release", "delete data file (vacuum)", "C19"},
	{"release", "at release.after", "C14"},

	{"shutdown", "abort data file", "C22"},
	{"shutdown", "delete data file (abandoned)", "C22"},
	{"shutdown", "make the removal durable (abandoned)", "C22"},

	{"repair", "read the checkpoint", "C23"},
	{"repair", "read the table", "C23"},
	{"repair", "put metadata", "C23"},
	{"repair", "put _engine/epoch/<e>", "C23"},
	{"repair", "sync log entry", "C23"},
	{"repair", "at commit.put.before", "C23"},
	{"repair", "put log entry (the epoch alone)", "C23"},
	{"repair", "at commit.put.after", "C23"},
	{"repair", "put offsets/<id>", "C23"},
	{"repair", "put commits/<id>", "C23"},
}

// rank is a point's place in the page, and its number; -1 if it is not known. What happens to the table of rejected rows stands before the same of the table.
func (p point) rank() (at int, id string) {
	name, rejected := strings.CutPrefix(p.name, "rejected: ")
	for i, k := range known {
		if k.phase == p.phase && k.name == name {
			if rejected {
				return 2 * i, k.id
			}
			return 2*i + 1, k.id
		}
	}
	return -1, ""
}

// faultTexts say what a fault point is, each with its number as above.
var faultTexts = map[string]struct{ id, text string }{
	"start.before-claim":      {"C23", "everything was checked, nothing is written yet"},
	"start.claimed":           {"C23", "the epoch is claimed"},
	"start.pinned":            {"C23", "the initial position of each source is durable"},
	"start.recovered":         {"C23", "the sinks know the epoch; the table is there"},
	"create.put.before":       {"C23", "version 0 of the table's log is about to be put"},
	"create.put.after":        {"C23", "it was put"},
	"plan.before":             {"C01", "the sources are about to be asked for the end"},
	"plan.after":              {"C02", "the range is planned"},
	"intend.before":           {"C02", "offsets/<id> is about to be put"},
	"intend.after":            {"C04", "the batch is fixed"},
	"read.before":             {"C04", "the splits are about to be opened"},
	"read.after":              {"C04", "they are open; nothing was pulled yet"},
	"read.chunk":              {"C05", "a piece of a split was read"},
	"transform.before":        {"C04", "the operators are about to be opened"},
	"transform.after":         {"C04", "they are open"},
	"transform.chunk":         {"C06", "a piece has passed all operators"},
	"prepare.before":          {"C04", "the sink is about to pull the rows"},
	"prepare.file.before":     {"C07", "a data file is about to be created"},
	"prepare.file.written":    {"C08", "rows were written to a data file"},
	"prepare.file.closed":     {"C08", "its footer is written; it is not durable yet"},
	"prepare.file.after":      {"C07", "it is durable"},
	"prepare.after":           {"C11", "everything is staged"},
	"commit.before":           {"C11", "the sink is about to commit"},
	"commit.rejected":         {"X03", "the rejected rows are visible, the others are not"},
	"commit.put.before":       {"C12", "the log entry is about to be put"},
	"commit.put.after":        {"C12", "it was put, or the put has failed"},
	"commit.after":            {"C13", "the batch is visible"},
	"foreachbatch.called":     {"C25", "the user's code is about to be called"},
	"foreachbatch.returned":   {"C25", "it has returned"},
	"filestage.claimed":       {"C23", "the files sink has made its epoch's ground"},
	"filestage.ground-taken":  {"C23", "it has taken that of older epochs"},
	"filestage.staged":        {"C11", "the files of a batch are durable, in a folder that nobody reads"},
	"filestage.before-rename": {"C12", "the folder is about to get its name"},
	"filestage.renamed":       {"C13", "it has it, perhaps not durable; the ledger does not know it"},
	"record.before":           {"C13", "what other attempts left is about to be deleted"},
	"record.swept":            {"C13", "commits/<id> is about to be put"},
	"record.after":            {"C14", "the batch is done"},
	"release.before":          {"C14", "sources are about to be told, and upkeep to be done"},
	"release.after":           {"C14", "that was done"},
	"purge.watermark":         {"C15", "the low watermark is durable, nothing is deleted yet"},
	"purge.delete":            {"C15", "an old entry of commits or offsets was deleted"},
	"checkpoint.before":       {"C17", "a log checkpoint is about to be put"},
	"checkpoint.after":        {"C18", "it is there; _last_checkpoint does not name it yet"},
	"optimize.before":         {"C21", "files are joined; the version that swaps them is about to be committed"},
	"optimize.after":          {"C21", "it is committed"},
	"cleanup.delete":          {"C20", "an old log entry is about to be deleted"},
	"vacuum.delete":           {"C19", "a data file is about to be deleted"},
	"files.append.before":     {"C02", "the seen-log of the files source is about to get an entry"},
	"files.append.after":      {"C02", "it has it"},
	"localfs.put.written":     {"C03", "the temporary file is durable, the name is not there yet"},
	"localfs.put.linked":      {"C03", "the name is there, perhaps not durable"},
	"localfs.put.synced":      {"C03", "the name is durable, the temporary one is still there"},
	"localfs.create.written":  {"C08", "a streamed file is written, not durable"},
	"localfs.create.renamed":  {"C08", "it has its name, perhaps not durable"},
	"s3.put.before":           {"C03", "a request that puts an object is about to be sent"},
	"s3.put.after":            {"C03", "it was answered, or was not"},
}
