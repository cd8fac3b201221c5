// Package sourcecode reads the project's own sources, for tests that hold all of them to a rule, or that try what the sources name.
package sourcecode
