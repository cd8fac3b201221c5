// Package maintain looks after a table: it joins small files, deletes what is no longer needed, and checks that all is there.
//
//	(N1) Optimize changes no row. It commits only adds and removes with dataChange=false, so that it disturbs no stream, and gives way when another
//	     writer removed a file first.
//	(N2) Vacuum deletes a file only if no live add, no remove younger than the retention and no deletion vector in use names it, and if it is older than the
//	     retention itself. Files of a running batch are protected by their age, so the retention is at least 48 hours unless forced.
//	(N3) Check writes nothing.
//	(N4) Age is measured by the clock of the store, which also dates its files, and by this machine's: what is young by one of them is kept. A machine whose clock
//	     is years ahead deletes nothing of a running batch.
package maintain
