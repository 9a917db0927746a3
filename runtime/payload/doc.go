// Package payload is what generated event types are made of: it writes their
// canonical bytes and reads them back.
//
// A [Writer] writes a value as RFC 8785 text. Generated code visits the members
// of a type in canonical order and gives each value to the writer, which checks
// it on the way: the rules of the spec, and what JSON can hold. A value that
// breaks a rule does not stop it, so that the error at the end names every
// violation, each with the path of its field: items[2].sku.
//
// A [Value] reads JSON strictly: a required member that is missing, a null
// where none may be, a name that is there twice or that differs from a known
// one only by case, and a value of another kind are errors; all of them are
// reported. Unknown members are ignored, so that a type can grow. The rules of
// the spec are not checked when reading: the sender has kept them, and a
// receiver that knows an older spec must not refuse what a newer one allows.
//
// Programs do not call this package; generated code does. It does not use
// reflection. It knows nothing of tables or the network.
package payload
