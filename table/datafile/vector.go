package datafile

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"strings"

	"github.com/RoaringBitmap/roaring/v2/roaring64"
	"github.com/google/uuid"

	"microbatch/internal/errcode"
	"microbatch/objstore"
	"microbatch/table/action"
)

// vectorMagic begins a serialized deletion vector (Delta protocol: Deletion Vector Format).
const vectorMagic = 1681511377

// maxVectorBytes is how large a deletion vector may be.
const maxVectorBytes = 256 << 20

// readVector is the set of deleted rows that a deletion vector names.
func readVector(ctx context.Context, store objstore.Store, v *action.DeletionVector) (*roaring64.Bitmap, error) {
	if v.Size < 4 || v.Size > maxVectorBytes {
		return nil, fmt.Errorf("deletion vector of %d bytes", v.Size)
	}
	data, err := vectorBytes(ctx, store, v)
	if err != nil {
		return nil, err
	}
	if len(data) < 4 || binary.LittleEndian.Uint32(data) != vectorMagic {
		return nil, fmt.Errorf("deletion vector %s: wrong magic number", v.Path)
	}
	rows, err := parseVector(data[4:])
	if err != nil {
		return nil, fmt.Errorf("deletion vector %s: %w", v.Path, err)
	}
	if n := rows.GetCardinality(); n != uint64(v.Cardinality) {
		return nil, fmt.Errorf("deletion vector %s: it holds %d rows and should hold %d", v.Path, n, v.Cardinality)
	}
	return rows, nil
}

// parseVector reads the bitmaps of a vector. The library takes memory for as many as the first number claims and trusts what it has read, so both are checked.
func parseVector(data []byte) (*roaring64.Bitmap, error) {
	const least = 8 // bytes of a bitmap, with its key
	if len(data) < 8 || binary.LittleEndian.Uint64(data) > uint64(len(data)-8)/least {
		return nil, fmt.Errorf("%d bytes are too few for the bitmaps that they claim", len(data))
	}
	rows := roaring64.New()
	if _, err := rows.ReadFrom(bytes.NewReader(data)); err != nil {
		return nil, err
	}
	return rows, rows.Validate()
}

func vectorBytes(ctx context.Context, store objstore.Store, v *action.DeletionVector) ([]byte, error) {
	if v.Storage == "i" {
		data, err := decodeZ85(v.Path)
		return data[:min(len(data), int(v.Size))], err
	}
	key, err := VectorKey(v)
	if err != nil {
		return nil, err
	}
	object, err := store.Open(ctx, key)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", key, err)
	}
	defer object.Close()
	offset := int64(1) // behind the version
	if v.Offset != nil {
		offset = int64(*v.Offset)
	}
	if end := offset + 4 + int64(v.Size) + 4; offset < 0 || end > object.Size() {
		return nil, fmt.Errorf("%s ends at byte %d: it cannot hold %d bytes at %d", key, object.Size(), v.Size, offset)
	}
	framed := make([]byte, 4+int(v.Size)+4)
	if _, err := io.ReadFull(io.NewSectionReader(object, offset, int64(len(framed))), framed); err != nil {
		return nil, fmt.Errorf("read %s: %w", key, err)
	}
	data := framed[4 : 4+v.Size]
	if size := binary.BigEndian.Uint32(framed); size != uint32(v.Size) {
		return nil, fmt.Errorf("%s at %d: it says %d bytes and the log %d", key, offset, size, v.Size)
	}
	if crc32.ChecksumIEEE(data) != binary.BigEndian.Uint32(framed[4+v.Size:]) {
		return nil, fmt.Errorf("%s at %d: wrong checksum", key, offset)
	}
	return data, nil
}

// VectorKey is the key of the file that a deletion vector stands in; "" if it is inline.
func VectorKey(v *action.DeletionVector) (string, error) {
	switch v.Storage {
	case "i":
		return "", nil
	case "u":
		if len(v.Path) < 20 {
			return "", fmt.Errorf("deletion vector: %q is too short for a name", v.Path)
		}
		prefix := v.Path[:len(v.Path)-20]
		raw, err := decodeZ85(v.Path[len(prefix):])
		if err != nil {
			return "", err
		}
		id, err := uuid.FromBytes(raw)
		if err != nil {
			return "", fmt.Errorf("deletion vector: %w", err)
		}
		key := "deletion_vector_" + id.String() + ".bin"
		if prefix != "" {
			key = prefix + "/" + key
		}
		return key, objstore.ValidKey(key)
	}
	return "", errcode.TablePath.New("", "a deletion vector has the absolute path %q", v.Path)
}

// z85 are the digits of ZeroMQ's base 85.
const z85 = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"

// decodeZ85 decodes ZeroMQ's base 85: five digits are four bytes.
func decodeZ85(text string) ([]byte, error) {
	if len(text)%5 != 0 {
		return nil, fmt.Errorf("deletion vector: %d digits of base 85", len(text))
	}
	out := make([]byte, 0, len(text)/5*4)
	for i := 0; i < len(text); i += 5 {
		var n uint64
		for _, c := range []byte(text[i : i+5]) {
			digit := strings.IndexByte(z85, c)
			if digit < 0 {
				return nil, fmt.Errorf("deletion vector: %q is no digit of base 85", c)
			}
			n = n*85 + uint64(digit)
		}
		if n > 1<<32-1 {
			return nil, fmt.Errorf("deletion vector: digits %q are too large", text[i:i+5])
		}
		out = binary.BigEndian.AppendUint32(out, uint32(n))
	}
	return out, nil
}
