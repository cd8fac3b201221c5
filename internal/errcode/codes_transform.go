package errcode

// transformCodes are MB40xx: transforms.
var transformCodes = []Code{}
