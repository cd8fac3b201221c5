package errcode

// tableCodes are MB12xx: table and its log.
var tableCodes = []Code{}
