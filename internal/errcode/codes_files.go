package errcode

// filesCodes are MB21xx: files and generated sources.
var filesCodes = []Code{}
