package inbox

// Answer is an outcome as tests of the documents see it.
type Answer struct {
	Code   string
	Status int
	Title  string
	Todo   string
}

// Answers are all outcomes, in the order of docs/wire.md.
func Answers() []Answer {
	var list []Answer
	for _, o := range []*outcome{
		applied, duplicate, acknowledged,
		badMethod, badMedia, tooLarge, incomplete,
		badHeaders, badSignature, badTimestamp, badSource, badIdentity,
		unknownRetry, unknownReject, malformed,
		inProgress, keyReused, undecodable, rejected,
		handlerFailed, timedOut, storeFailed,
	} {
		list = append(list, Answer{o.code, o.status, o.title, o.todo})
	}
	return list
}
