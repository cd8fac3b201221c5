package errcode

// fileFormatCodes are MB31xx: files that do not decode.
var fileFormatCodes = []Code{}
