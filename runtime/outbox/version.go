package outbox

// EnforceVersion1 is what generated code refers to, so that code made by a
// generator with other expectations than this runtime's does not compile:
// generate it again with the outboxgen of the module version in go.mod.
const EnforceVersion1 = 1
