// Package secret keeps passwords and keys out of everything that is printed: a Secret shows itself as ***.
package secret
