package errcode

// configCodes are MB10xx: pipeline file and command line.
var configCodes = []Code{}
