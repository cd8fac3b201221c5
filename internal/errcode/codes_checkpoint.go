package errcode

// checkpointCodes are MB11xx: checkpoint and recovery.
var checkpointCodes = []Code{}
