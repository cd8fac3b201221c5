package translog

import (
	"github.com/apache/arrow-go/v18/arrow"

	"microbatch/schema"
)

// checkpointSchema is the schema of a Delta checkpoint (Delta protocol: Checkpoint Schema): a row is one action, in the column of its kind.
func checkpointSchema() *arrow.Schema {
	fields := append(lightFields(), addField(), removeField())
	return arrow.NewSchema(fields, nil)
}

// lightSchema leaves out the columns on files. readSchema has all, with the column of v2 checkpoints that names sidecars.
func lightSchema() *arrow.Schema { return arrow.NewSchema(lightFields(), nil) }

func readSchema() *arrow.Schema {
	sidecar := structField("sidecar", str("path"), long("sizeInBytes"), long("modificationTime"))
	return arrow.NewSchema(append(lightFields(), addField(), removeField(), sidecar), nil)
}

// pathSchema has the paths of added files alone.
func pathSchema() *arrow.Schema {
	return arrow.NewSchema([]arrow.Field{structField("add", str("path"))}, nil)
}

func lightFields() []arrow.Field {
	list := schema.List(arrow.BinaryTypes.String, true)
	return []arrow.Field{
		structField("txn", str("appId"), long("version"), long("lastUpdated")),
		structField("metaData", str("id"), str("name"), str("description"), structField("format", str("provider"), stringMap("options")), str("schemaString"),
			nullable("partitionColumns", list), stringMap("configuration"), long("createdTime")),
		structField("protocol", integer("minReaderVersion"), integer("minWriterVersion"), nullable("readerFeatures", list), nullable("writerFeatures", list)),
		structField("domainMetadata", str("domain"), str("configuration"), boolean("removed")),
	}
}

func addField() arrow.Field {
	return structField("add", str("path"), stringMap("partitionValues"), long("size"), long("modificationTime"), boolean("dataChange"), str("stats"), stringMap("tags"),
		vectorField(), long("baseRowId"), long("defaultRowCommitVersion"), str("clusteringProvider"))
}

func removeField() arrow.Field {
	return structField("remove", str("path"), long("deletionTimestamp"), boolean("dataChange"), boolean("extendedFileMetadata"), stringMap("partitionValues"), long("size"),
		vectorField(), long("baseRowId"), long("defaultRowCommitVersion"))
}

func vectorField() arrow.Field {
	return structField("deletionVector", str("storageType"), str("pathOrInlineDv"), integer("offset"), integer("sizeInBytes"), long("cardinality"))
}

func nullable(name string, t arrow.DataType) arrow.Field {
	return arrow.Field{Name: name, Type: t, Nullable: true}
}

func structField(name string, fields ...arrow.Field) arrow.Field {
	return nullable(name, arrow.StructOf(fields...))
}

func str(name string) arrow.Field     { return nullable(name, arrow.BinaryTypes.String) }
func long(name string) arrow.Field    { return nullable(name, arrow.PrimitiveTypes.Int64) }
func integer(name string) arrow.Field { return nullable(name, arrow.PrimitiveTypes.Int32) }
func boolean(name string) arrow.Field { return nullable(name, arrow.FixedWidthTypes.Boolean) }

func stringMap(name string) arrow.Field {
	return nullable(name, schema.Map(arrow.BinaryTypes.String, arrow.BinaryTypes.String, true))
}
