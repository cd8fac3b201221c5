package errcode

// sinkCodes are MB50xx: sinks other than tables.
var sinkCodes = []Code{}
