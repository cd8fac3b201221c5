package checkpointlog

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"strings"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Seal writes v as a sealed file: "v1", its JSON on one line, and the CRC32C of that line.
func Seal(v any) ([]byte, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("seal: %w", err)
	}
	return fmt.Appendf(nil, "v1\n%s\n%08x", text, crc32.Checksum(text, castagnoli)), nil
}

// Unseal reads a sealed file into v. An error says what is damaged.
func Unseal(data []byte, v any) error {
	lines := strings.Split(string(data), "\n")
	switch {
	case len(lines) != 3:
		return fmt.Errorf("want 3 lines (v1, JSON, checksum), have %d", len(lines))
	case lines[0] != "v1":
		return fmt.Errorf("version %.20q: want v1", lines[0])
	case lines[2] != fmt.Sprintf("%08x", crc32.Checksum([]byte(lines[1]), castagnoli)):
		return fmt.Errorf("checksum does not match: the file is damaged")
	}
	d := json.NewDecoder(bytes.NewReader([]byte(lines[1])))
	return d.Decode(v)
}
