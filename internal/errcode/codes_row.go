package errcode

// rowCodes are MB30xx: rows that do not decode.
var rowCodes = []Code{}
