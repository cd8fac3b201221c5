package crashtest

import (
	"path"
	"strings"

	"microbatch/internal/sim/gate"
)

// pointOfTarget names an operation on a target that is no table. What a kind of operation is says which target it is.
func pointOfTarget(phase string, op gate.Op) point {
	switch op.Kind {
	case "call":
		return point{"commit", "call the user's code"}
	case "half":
		return point{"commit", "the user's code, half done"}
	case "mkdir", "create", "append", "rename", "remove", "sync", "syncdir", "open", "stat", "readdir":
		return pointOfFolder(phase, op)
	case "initproducerid", "addpartitionstotxn", "produce", "addoffsetstotxn", "txnoffsetcommit", "endtxn", "metadata", "describeconfigs", "offsetfetch", "describetransactions", "listgroups":
		return pointOfBrokers(phase, op)
	case "put":
		if op.Key != "tables" {
			return point{"commit", "send a row"}
		}
	}
	return pointOfDatabase(phase, op)
}

// pointOfBrokers names a request to Kafka.
func pointOfBrokers(phase string, op gate.Op) point {
	switch op.Kind {
	case "initproducerid":
		return point{beside(phase), "take the transactional id"}
	case "addpartitionstotxn", "produce":
		return point{"prepare", map[string]string{"addpartitionstotxn": "add partitions to the transaction", "produce": "produce records"}[op.Kind]}
	case "addoffsetstotxn", "txnoffsetcommit":
		return point{"commit", map[string]string{"addoffsetstotxn": "add a group to the transaction", "txnoffsetcommit": "put positions into the transaction"}[op.Kind]}
	case "endtxn":
		return point{phase, "end the transaction"}
	case "offsetfetch":
		return point{beside(phase), "read the marker"}
	}
	return point{beside(phase), "ask about topic, limits, groups"}
}

// pointOfDatabase names a request to PostgreSQL.
func pointOfDatabase(phase string, op gate.Op) point {
	switch op.Kind {
	case "stage", "copy", "settle":
		return point{"prepare", map[string]string{"stage": "make or empty the stage", "copy": "copy rows to the stage", "settle": "look for rows of one key"}[op.Kind]}
	case "clear":
		return point{"shutdown", "empty the stage (abandoned)"}
	case "look", "inspect":
		return point{beside(phase), map[string]string{"look": "read the position", "inspect": "look at the tables"}[op.Kind]}
	}
	name := map[string]string{
		"connect": "connect", "put": "make the tables", "begin": "begin", "lock": "lock the position", "apply": "apply the rows", "write": "write the position",
		"commit": "COMMIT", "abort": "ROLLBACK",
	}[op.Kind]
	if phase != "start" {
		phase = "commit"
	}
	return point{phase, name}
}

// beside is the phase of a look that runs beside the work.
func beside(phase string) string {
	switch phase {
	case "plan", "intend", "read", "transform":
		return "prepare"
	}
	return phase
}

// pointOfFolder names a change of a folder of files, or a look at it. Epochs and attempts have their folders below staging.
func pointOfFolder(phase string, op gate.Op) point {
	parts := strings.Split(op.Key, "/")
	staged := len(parts) > 4 && parts[2] == "staging" && !strings.HasSuffix(parts[4], ".json")
	switch {
	case op.Kind == "open", op.Kind == "stat", op.Kind == "readdir":
		return point{beside(phase), "read the folder"}
	case op.Kind == "remove" && len(parts) > 3 && strings.HasPrefix(parts[3], "gone-"):
		if len(parts) > 5 {
			return point{phase, "delete what older epochs have staged"}
		}
		return point{phase, "delete the ground of an older epoch"}
	case op.Kind == "remove" && staged:
		return point{"shutdown", "delete the attempt's files (abandoned)"}
	case op.Kind == "remove":
		return point{phase, "delete an old entry of the ledger, or an unfinished one"}
	case staged:
		phase = "prepare"
	}
	verb := map[string]string{"mkdir": "make", "create": "create", "append": "write", "rename": "rename", "sync": "sync", "syncdir": "sync the names in"}[op.Kind]
	return point{phase, verb + " " + inFolder(parts, staged)}
}

// inFolder says what a name in a folder of files is.
func inFolder(parts []string, staged bool) string {
	name := parts[len(parts)-1]
	switch {
	case name == ".":
		return "the folder"
	case strings.HasPrefix(name, "batch-"):
		return "the batch's folder"
	case staged && name == "_batch.json":
		return "the batch's record"
	case staged && path.Ext(name) != "":
		return "data file"
	case staged:
		return "the attempt's folder"
	case name == "query.json":
		return "query.json"
	case path.Ext(name) == ".json":
		return "the ledger's entry"
	case strings.HasPrefix(name, "gone-"):
		return "the ground of an older epoch"
	case len(parts) == 4:
		return "the epoch's ground"
	}
	return "the query's own folders"
}
