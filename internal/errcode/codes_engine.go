package errcode

// engineCodes are MB60xx: the engine.
var engineCodes = []Code{}
