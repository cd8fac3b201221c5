package translog

import (
	"slices"
	"strings"

	"microbatch/internal/errcode"
)

// What tables may need of a reader, and of a writer that only appends and rewrites files.
var (
	readable = []string{"timestampNtz", "deletionVectors", "v2Checkpoint", "vacuumProtocolCheck"}
	writable = []string{"appendOnly", "invariants", "timestampNtz", "deletionVectors", "v2Checkpoint", "changeDataFeed", "domainMetadata", "vacuumProtocolCheck"}
)

// CheckRead refuses a table that needs something of its readers which is not supported, by name (errcode.TableFeature).
func (l *Log) CheckRead(s *State) error {
	if mode := s.Property("delta.columnMapping.mode"); mode != "" && mode != "none" {
		return l.lacks("reading", "columnMapping (mode "+mode+")")
	}
	switch p := s.Protocol; {
	case p.MinReader == 1:
		return nil
	case p.MinReader == 2:
		return nil // column mapping is allowed, and not switched on
	case p.MinReader == 3:
		// columnMapping in the list alone changes nothing while its mode is none.
		return l.lacks("reading", missing(p.ReaderFeatures, append([]string{"columnMapping"}, readable...))...)
	}
	return l.lacks("reading", "a reader version above 3")
}

// CheckWrite refuses a table that needs something of its writers which is not supported, by name (errcode.TableFeature).
func (l *Log) CheckWrite(s *State) error {
	if err := l.CheckRead(s); err != nil {
		return err
	}
	if s.Protocol.MinWriter > 7 {
		return l.lacks("writing", "a writer version above 7")
	}
	var need []string
	if s.Protocol.MinWriter == 7 {
		need = missing(s.Protocol.WriterFeatures, writable)
		need = slices.DeleteFunc(need, func(f string) bool { return dormant(s, f) })
	} else {
		need = legacyNeeds(s)
	}
	if strings.Contains(s.Metadata.Schema, `"delta.invariants"`) {
		need = append(need, "invariants with an expression")
	}
	return l.lacks("writing", need...)
}

// dormant reports whether a listed feature is not in use, so that plain appends obey it by doing nothing.
func dormant(s *State, feature string) bool {
	switch feature {
	case "checkConstraints":
		return !hasConstraint(s)
	case "generatedColumns":
		return !strings.Contains(s.Metadata.Schema, `"delta.generationExpression"`)
	case "identityColumns":
		return !strings.Contains(s.Metadata.Schema, `"delta.identity.`)
	case "columnMapping":
		return true // CheckRead has looked at the mode
	}
	return false
}

// legacyNeeds are features in use that writer versions below 7 imply.
func legacyNeeds(s *State) (need []string) {
	if s.Protocol.MinWriter >= 3 && hasConstraint(s) {
		need = append(need, "checkConstraints")
	}
	for feature, mark := range map[string]string{"generatedColumns": `"delta.generationExpression"`, "identityColumns": `"delta.identity.`} {
		if strings.Contains(s.Metadata.Schema, mark) {
			need = append(need, feature)
		}
	}
	slices.Sort(need)
	return need
}

func hasConstraint(s *State) bool {
	for name := range s.Metadata.Configuration {
		if strings.HasPrefix(name, "delta.constraints.") {
			return true
		}
	}
	return false
}

func missing(listed, supported []string) (out []string) {
	for _, f := range listed {
		if !slices.Contains(supported, f) {
			out = append(out, f)
		}
	}
	return out
}

func (l *Log) lacks(doing string, features ...string) error {
	if len(features) == 0 {
		return nil
	}
	return errcode.TableFeature.New(l.store.URL(), "%s it needs %s, which is not supported", doing, strings.Join(features, ", "))
}
