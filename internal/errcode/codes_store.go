package errcode

// storeCodes are MB13xx: stores.
var storeCodes = []Code{}
