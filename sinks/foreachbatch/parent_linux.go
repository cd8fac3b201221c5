package foreachbatch

import "syscall"

// endWithParent lets the kernel kill the program when this process dies, so that a restarted query does not run beside its own past.
func endWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }
