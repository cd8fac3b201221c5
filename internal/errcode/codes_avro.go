package errcode

// Errors of Avro schemas, and of the registry that keeps them.
var (
	// AvroSchema is a text that is no schema, or none that rows can be of.
	AvroSchema = Code{ID: "MB3201", Title: "the Avro schema cannot be used", Class: Config, Safe: nothingBegun,
		Next: "Correct the schema: it is a file (.avsc), or text in the pipeline file, of an Avro record."}
	// AvroColumns is a schema that does not go with the columns.
	AvroColumns = Code{ID: "MB3202", Title: "the columns and the Avro schema do not fit", Class: Config, Safe: nothingBegun,
		Next: "Cast, rename or leave out the columns named by a select or sql step, or change the schema (docs/avro.md has the table of types)."}
	// RegistryUnreachable is a registry that does not answer, or has trouble of its own.
	RegistryUnreachable = Code{ID: "MB3211", Title: "the schema registry does not answer", Class: Retry,
		Safe: "Nothing of this batch is visible, and no row was refused for it; the batch runs again.",
		Next: "Check schema_registry.url, the network, and the registry's own log."}
	// RegistryLogin is a registry that wants another login.
	RegistryLogin = Code{ID: "MB3212", Title: "the schema registry refuses the login", Class: Config, Safe: "Nothing of this batch is visible.",
		Next: "Check user and password under schema_registry, and what that user may do with the subject named."}
	// RegistryUnknownID is a message whose schema the registry does not have.
	RegistryUnknownID = Code{ID: "MB3213", Title: "the schema registry does not know the schema of a message", Class: Config,
		Safe: "Nothing of this batch is visible; no row was refused or passed over.",
		Next: "Set schema_registry to the registry that the producer uses, or restore the schema there: ids are not given twice. A single message that is not of this format can only be passed over by beginning behind it (source.kafka.start of a new checkpoint)."}
	// RegistryUnregistered is a schema that is to be written and is not registered.
	RegistryUnregistered = Code{ID: "MB3214", Title: "the schema is not registered", Class: Config, Safe: nothingBegun,
		Next: "Register the schema that the message shows under the subject, give the registered one (avro.schema), or let this program register it (auto_register: true)."}
	// RegistryIncompatible is a schema that the registry refuses beside the earlier ones.
	RegistryIncompatible = Code{ID: "MB3215", Title: "the schema is not compatible with the one that is registered", Class: Config,
		Safe: "Nothing was registered, and nothing of this batch is visible: consumers of the topic are safe.",
		Next: "Keep the columns as they were (new ones nullable, types unchanged) by a select or sql step, write to a new topic, or change the subject's compatibility in the registry."}
	// RegistryAnswer is any other answer.
	RegistryAnswer = Code{ID: "MB3216", Title: "the schema registry's answer makes no sense", Class: Config, Safe: "Nothing of this batch is visible.",
		Next: "Check that schema_registry.url is the address of the Confluent API of a registry (for Apicurio it ends in /apis/ccompat/v7), and what the message says."}
)

// avroCodes are MB32xx: Avro and the schema registry.
var avroCodes = []Code{
	AvroSchema, AvroColumns, RegistryUnreachable, RegistryLogin, RegistryUnknownID, RegistryUnregistered, RegistryIncompatible, RegistryAnswer,
}
